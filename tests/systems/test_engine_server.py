"""The runner's program for containers: who may ask, and what it refuses; on containers that are processes."""

import asyncio
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import ImageError, WorkerError
from ratiba_action.systems.engine_server import EngineServer
from ratiba_action.systems.remote_engine import RemoteEngine
from tests.support.containers import ProcessEngine, dockerfile
from tests.support.eventually import eventually

pytestmark = pytest.mark.processes
KEY = "key-of-the-run"
LONG = "é" * 120
DIGEST = f"@sha256:{'0' * 64}"


class Socket:
    """The program's socket, and what one says to it that is no gate of ours."""

    def __init__(self, folder: Path) -> None:
        self.path, self.folder = folder / "socket", folder
        self.engine = ProcessEngine(folder / "images")
        self.server = EngineServer(self.engine, KEY, folder)

    async def ask(self, content: bytes) -> bytes:
        """All that it answers."""
        reader, writer = await asyncio.open_unix_connection(self.path)
        writer.write(content)
        writer.write_eof()
        try:
            return await asyncio.wait_for(reader.read(), 30)
        finally:
            writer.close()

    async def request(self, word: str, asked: Mapping[str, Any], more: bytes = b"") -> dict[str, Any]:
        """Its answer to a request with the key."""
        line = json.dumps({"key": KEY, "word": word, **asked}).encode() + b"\n"
        found: dict[str, Any] = json.loads((await self.ask(line + more)).splitlines()[0])
        return found


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
async def channel(tmp_path: Path) -> AsyncIterator[Socket]:
    made = Socket(tmp_path)
    async with await asyncio.start_unix_server(made.server.serve, made.path):
        yield made
        await made.server.close()


@pytest.mark.parametrize(
    "line",
    [
        b'{"word": "prepare"}\n',
        b'{"key": "", "word": "prepare"}\n',
        b'{"key": "key-of-the-ruN", "word": "prepare"}\n',
        b'{"key": ["key-of-the-run"], "word": "prepare"}\n',
        '{"key": "clé", "word": "prepare"}\n'.encode(),
        b"key-of-the-run\n",
        b"\n",
        b"\xff\xfe\n",
        b"x" * 100_000,
        b"[" * 60_000 + b"\n",
    ],
)
async def test_who_does_not_show_the_key_gets_no_answer(
    channel: Socket, line: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert await channel.ask(line) == b""
    assert caplog.text == "", "nothing of it is an error of the program"


@pytest.mark.parametrize(
    ("word", "asked"),
    [
        ("exec", {"command": ["id"]}),
        ("pull", {"image": "bot:latest"}),
        ("pull", {"image": f"--privileged{DIGEST}"}),
        ("pull", {"image": f"bot --privileged{DIGEST}"}),
        ("pull", {"image": 7}),
        ("build", {"dockerfile": "/etc/passwd", "seconds": 60}),
        ("build", {"dockerfile": "../Dockerfile", "seconds": 60}),
        ("build", {"dockerfile": "a/../../Dockerfile", "seconds": 60}),
        ("build", {"dockerfile": "--output=/", "seconds": 60}),
        ("build", {"dockerfile": "Dockerfile\n", "seconds": 60}),
        ("build", {"dockerfile": "Dockerfile", "seconds": 1e9}),
        ("build", {"dockerfile": "Dockerfile", "seconds": True}),
        ("pod", {"listening": [0], "targets": [8000]}),
        ("pod", {"listening": ["8000"], "targets": []}),
        ("pod", {"listening": [True], "targets": []}),
        ("pod", {"listening": 8000, "targets": []}),
        ("run", {"pod": 1, "image": "python:3.13-slim", "environment": {}, "command": [], "secrets": []}),
        ("printed", {"of": "engine", "number": 1}),
        ("end", {"pod": None}),
    ],
)
async def test_what_no_gate_asks_is_refused(channel: Socket, word: str, asked: dict[str, Any]) -> None:
    answer = await channel.request(word, asked)
    assert answer["error"] == "worker"
    assert "refused" in answer["problem"]
    assert channel.engine.built == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"image": "python:3.13-slim"},
        {"image": f"redis{DIGEST}"},
        {"environment": {"A=B": ""}},
        {"environment": {"A": 1}},
        {"environment": {"A": "nul\0"}},
        {"environment": {"A": "two\nlines"}, "secrets": ["A"]},
        {"command": ["nul\0"]},
        {"command": "id"},
        {"pod": 99},
    ],
)
async def test_a_pod_runs_only_images_of_this_run_with_plain_variables(
    channel: Socket, changed: dict[str, Any], tmp_path: Path
) -> None:
    engine = RemoteEngine(str(channel.path), KEY)
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "Dockerfile").write_text(dockerfile("python3", "-c", "print('ran')"))
    image = await engine.build(tmp_path / "bot", "Dockerfile", 60)
    pod = await engine.open_pod([], [8000])
    asked = {"pod": 2, "image": image, "environment": {}, "command": [], "secrets": []}
    for number in range(1, 3):
        asked["pod"] = number
        if (await channel.request("printed", {"of": "pod", "number": number})).get("printed") is not None:
            break
    answer = await channel.request("run", {**asked, **changed})
    assert "refused" in answer.get("problem", ""), answer
    container = await pod.run(image, {})
    assert (await container.wait(30), await container.output()) == (0, "ran")
    await pod.end()


@pytest.mark.parametrize(
    "members",
    [
        [(tarfile.REGTYPE, "../escaped", "")],
        [(tarfile.REGTYPE, "{place}/escaped", "")],
        [(tarfile.REGTYPE, "a/../../escaped", "")],
        [(tarfile.SYMTYPE, "out", "{place}"), (tarfile.REGTYPE, "out/escaped", "")],
        [(tarfile.SYMTYPE, "out", "{place}"), (tarfile.SYMTYPE, "out/escaped", "secret")],
        [(tarfile.SYMTYPE, "out", "{place}"), (tarfile.SYMTYPE, "out/escaped/link", "secret")],
        [
            (tarfile.SYMTYPE, "a/out", "{place}"),
            (tarfile.SYMTYPE, "in", "a"),
            (tarfile.SYMTYPE, "in/out/escaped", "secret"),
        ],
        [(tarfile.LNKTYPE, "escaped", "{place}/secret")],
        [(tarfile.FIFOTYPE, "pipe", "")],
        [(tarfile.REGTYPE, "twice", ""), (tarfile.REGTYPE, "twice", "")],
    ],
    ids=[
        *("above", "absolute", "through above", "a file through a link", "a link through a link"),
        *("a folder through a link", "through two links", "hard link", "pipe", "twice"),
    ],
)
async def test_no_archive_writes_outside_its_folder(
    channel: Socket, members: list[tuple[bytes, str, str]], tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("planted")
    before = names(tmp_path)
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for kind, name, leads_to in members:
            member = tarfile.TarInfo(name.format(place=tmp_path))
            member.type, member.linkname = kind, leads_to.format(place=tmp_path)
            archive.addfile(member)
    pieces = [content.getvalue()[at : at + 60_000] for at in range(0, len(content.getvalue()), 60_000)]
    sent = b"".join(len(piece).to_bytes(4) + piece for piece in pieces) + bytes(4)
    answer = await channel.request("build", {"dockerfile": "Dockerfile", "seconds": 60}, sent)
    assert answer["error"] in ("worker", "image")
    assert channel.engine.built == 0
    assert names(tmp_path) == before


@pytest.mark.parametrize("name", ["Dockerfile", ".dockerignore", "Dockerfile.dockerignore"])
async def test_a_link_in_the_place_of_what_docker_s_command_reads_is_refused(
    channel: Socket, name: str, tmp_path: Path
) -> None:
    folder = tmp_path / "bot"
    folder.mkdir()
    (folder / "Dockerfile").write_text(dockerfile("true"))
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to("/etc/hostname")
    with pytest.raises(ImageError, match=f"'{name}' is no file of its own"):
        await RemoteEngine(str(channel.path), KEY).build(folder, "Dockerfile", 60)
    assert channel.engine.built == 0


async def test_files_folders_links_and_modes_arrive_as_they_are(channel: Socket, tmp_path: Path) -> None:
    folder = tmp_path / "bot"
    (folder / "a" / "empty").mkdir(parents=True)
    (folder / "Dockerfile").write_text(dockerfile("true"))
    (folder / "a" / "run.sh").write_bytes(b"#!/bin/sh\n" + b"#" * 200_000)
    (folder / "a" / "run.sh").chmod(0o755)
    (folder / "a" / "same").hardlink_to(folder / "a" / "run.sh")
    (folder / LONG).write_text("")
    (folder / "out").symlink_to("/etc")
    engine = RemoteEngine(str(channel.path), KEY)
    built = channel.engine.images[await engine.build(folder, "Dockerfile", 60)]
    assert (built / "a" / "run.sh").read_bytes() == (folder / "a" / "run.sh").read_bytes()
    assert (built / "a" / "same").stat().st_mode & 0o777 == 0o755
    assert (built / "a" / "empty").is_dir()
    assert (built / LONG).is_file()
    assert (built / "out").readlink() == Path("/etc")


async def test_what_was_started_ends_with_the_connection_and_with_the_program(channel: Socket, tmp_path: Path) -> None:
    engine = RemoteEngine(str(channel.path), KEY)
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "Dockerfile").write_text(dockerfile("python3", "-c", "import time; time.sleep(600)"))
    image = await engine.build(tmp_path / "bot", "Dockerfile", 60)
    first, second = [await engine.open_pod([], [8000]) for _ in range(2)]
    containers = [await pod.run(image, {}) for pod in (first, second)]
    first.writer.close()
    assert await containers[0].wait(30) is not None
    assert containers[1].exit_code is None
    await channel.server.close()
    assert await containers[1].wait(30) is not None
    assert not channel.engine.images
    for pod in (first, second):
        await pod.end()


async def test_what_is_being_built_when_the_program_ends_is_no_image_afterwards(
    channel: Socket, tmp_path: Path
) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "Dockerfile").write_text(
        dockerfile("true", run=f"touch {began}; until [ -e {go} ]; do sleep 0.05; done")
    )
    building = asyncio.create_task(RemoteEngine(str(channel.path), KEY).build(tmp_path / "bot", "Dockerfile", 60))
    await asyncio.to_thread(eventually, began.exists)
    await channel.server.close()
    go.touch()
    with pytest.raises(WorkerError, match="has ended"):
        await asyncio.wait_for(building, 30)
    assert not channel.engine.images


def test_it_needs_nothing_installed_and_starts_for_no_shell_that_is_gone(tmp_path: Path) -> None:
    engine = Path(__file__).parents[2] / "action" / "engine.py"
    words = [sys.executable, "-I", "-S", str(engine), "image", "volume", "1:1", str(tmp_path), "1"]
    done = subprocess.run(words, input=f"{KEY}\n", capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


async def test_without_the_program_the_message_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="is gone") as caught:
        await RemoteEngine(str(tmp_path / "socket"), KEY).pull(f"redis{DIGEST}")
    assert "Start the job again" in caught.value.remedy
