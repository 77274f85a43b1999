"""What Docker's command is asked for when a gate is ended in the middle of it."""

import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path

import pytest

from ratiba_action.errors import ImageError
from ratiba_action.systems import docker_engine
from ratiba_action.systems.docker_engine import DockerEngine
from tests.support.eventually import eventually, eventually_async

pytestmark = pytest.mark.processes
NOBODY = 1 << 30
"""No process has this number."""
SLOW = """#!/bin/sh
cd {folder}
words="$*"
echo "${{words%% -I -S *}}" >> asked
case "$*" in
"image ls"*) echo 0123abcd "$*";;
"image inspect"*) cat left;;
"image rm"*) [ -e removing ] || {{ echo $$ > removing; exec sleep 600; }};;
rm*) kill $(cat running);;
"build "* | run*) echo $$ >> running; exec sleep 600;;
esac
"""
"""Never ends what it builds or runs, nor the first removal of an image; the names of every image stand in `left`.

The relay's source is left out: a text that needs several writes mixes with what another command writes.
"""


class Docker:
    """An engine with a command that writes down what it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._asked = folder / "asked"
        command = folder / "docker"
        command.write_text(SLOW.format(folder=folder))
        command.chmod(0o755)
        self.engine = DockerEngine({"PATH": f"{folder}:{os.environ['PATH']}"})

    def asked(self, word: str) -> list[str]:
        """Each time that it was asked for something, without the word for it."""
        lines = self._asked.read_text().splitlines() if self._asked.exists() else []
        return [line.removeprefix(word).strip() for line in lines if line.startswith(word)]

    async def cut_short(self, asking: Coroutine[object, object, object], word: str = "") -> None:
        """Begin something, and be cancelled once the command was asked for a word, or at once."""
        task = asyncio.create_task(asking)
        await asyncio.sleep(0)

        async def asked() -> bool:
            return not word or bool(self.asked(word))

        await eventually_async(asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    monkeypatch.setattr(docker_engine, "_REMOVAL_SECONDS", 30)
    return Docker(tmp_path)


def option(line: str, name: str) -> str:
    words = line.split()
    return words[words.index(name) + 1]


async def test_an_image_whose_build_is_cut_short_is_removed(docker: Docker, tmp_path: Path) -> None:
    await docker.cut_short(docker.engine.build(tmp_path, "Dockerfile", 600), "build ")
    name = option(docker.asked("build ")[0], "--tag")
    eventually(lambda: docker.asked("image rm"))
    assert f"--filter label=ratiba.image={name}" in docker.asked("image rm")[0]


async def test_a_removal_that_hangs_ends_all_the_same(
    docker: Docker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_engine, "_REMOVAL_SECONDS", 5)
    await docker.cut_short(docker.engine.build(tmp_path, "Dockerfile", 600), "build ")
    eventually(lambda: (tmp_path / "removing").exists() and (tmp_path / "removing").read_text().endswith("\n"))
    pid = int((tmp_path / "removing").read_text())
    # One that has ended and that nobody waited for has no words.
    words = Path(f"/proc/{pid}/cmdline")
    eventually(lambda: not words.exists() or not words.read_bytes())


async def test_an_image_whose_build_takes_too_long_is_removed(docker: Docker, tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"did not end within 0\.5 s"):
        await docker.engine.build(tmp_path, "Dockerfile", 0.5)
    name = option(docker.asked("build ")[0], "--tag")
    eventually(lambda: docker.asked("image rm"))
    assert f"--filter label=ratiba.image={name}" in docker.asked("image rm")[0]


async def test_the_next_gate_removes_an_image_that_a_killed_build_has_not_named(docker: Docker, tmp_path: Path) -> None:
    await docker.cut_short(docker.engine.build(tmp_path, "Dockerfile", 600), "build ")
    name = option(docker.asked("build ")[0], "--tag")
    (tmp_path / "removing").touch()
    gone = name.replace(f"-{os.getpid()}:", f"-{NOBODY}:")
    kept = ("", name, f"{gone} {gone} bot:kept")
    for names, removed in (*((names, False) for names in kept), (f"{gone} localhost/{gone}", True)):
        (tmp_path / "left").write_text(f"{names}\n")
        await docker.engine.prepare()
        assert ("--force 0123abcd" in docker.asked("image rm")) is removed


async def test_an_image_whose_removal_is_cut_short_is_removed_again(docker: Docker) -> None:
    await docker.cut_short(docker.engine.discard("bot"), "image rm")
    eventually(lambda: any("label=ratiba.image=bot" in line for line in docker.asked("image rm")))


async def test_containers_of_a_pod_whose_end_is_cut_short_are_removed(docker: Docker) -> None:
    pod = await docker.engine.open_pod([], [])
    await pod.run("bot", {})
    await docker.cut_short(pod.end())
    eventually(lambda: len(docker.asked("run")) == 2)
    names = [option(line, "--name") for line in docker.asked("run")]
    eventually(lambda: f"--force {' '.join(names)}" in docker.asked("rm"))
    await pod.end()


async def test_a_container_whose_start_is_cut_short_is_removed(docker: Docker) -> None:
    pod = await docker.engine.open_pod([], [])
    await docker.cut_short(pod.run("bot", {}))
    eventually(lambda: docker.asked("rm"))
    await pod.end()
