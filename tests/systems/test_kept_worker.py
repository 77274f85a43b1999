"""A fork server that is kept for the runs of a watch: each of them finds what it would find with one of its own."""

import asyncio
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import WorkerError
from ratiba_action.model.scenario import Turn
from ratiba_action.systems.worker_system import WorkerSystem
from ratiba_action.systems.workplace import Use
from tests.systems.workers import open_session, worker_system

ADAPTER = """
    import os
    from pathlib import Path
    import words

    class Adapter:
        def open(self, context):
            return self
        def send(self, message):
            places = [Path.cwd(), Path(os.environ["HOME"]), Path(os.environ["TMPDIR"])]
            found = [place.name for place in places if (place / "left").exists()]
            for place in places:
                (place / "left" / "deep").mkdir(parents=True, exist_ok=True)
                (place / "left" / "closed").mkdir(mode=0, exist_ok=True)
                (place / f"link-{os.getpid()}").symlink_to("/")
            exec(message)
            return {"text": f"{words.TEXT} {found} {Path('gone.txt').exists()}"}
"""


class Stage:
    """A system's folder, and workers of it that end with the test."""

    def __init__(self, root: Path, scratch: Path) -> None:
        self.root, self._scratch = root, scratch
        self.systems: list[WorkerSystem] = []

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(textwrap.dedent(text))

    def worker(self, **options: Any) -> WorkerSystem:
        self.systems.append(worker_system(self.root, **{"scratch": self._scratch, **options}))
        return self.systems[-1]

    async def kept(self, **options: Any) -> WorkerSystem:
        system = self.worker(**options)
        await system.start()
        return system

    async def answer(self, system: WorkerSystem, message: str = "") -> str:
        session = await open_session(system)
        return (await session.send(Turn(user=message))).text


@pytest.fixture
async def stage(tmp_path: Path, scratch: Path) -> AsyncIterator[Stage]:
    root = tmp_path / "system"
    root.mkdir()
    stage = Stage(root, scratch)
    stage.write("assistant.py", ADAPTER)
    stage.write("words.py", "TEXT = 'first'\n")
    stage.write("gone.txt", "")
    yield stage
    for system in reversed(stage.systems):
        await system.close()


async def test_each_run_has_the_files_as_they_are_now_and_nothing_of_the_run_before(stage: Stage) -> None:
    kept = await stage.kept()
    for text, gone in (("first", True), ("second", True), ("third", False)):
        stage.write("words.py", f"TEXT = {text!r}\n")
        if not gone:
            (stage.root / "gone.txt").unlink()
        system = stage.worker()
        assert system.borrow(kept)
        await system.start()
        assert await stage.answer(system) == f"{text} [] {gone}"
        await system.close()
        assert system.warnings == kept.warnings


async def test_a_run_that_ends_leaves_the_fork_server_and_ends_its_own_conversations(stage: Stage) -> None:
    kept = await stage.kept()
    first = stage.worker()
    assert first.borrow(kept)
    await first.start()
    await stage.answer(first, "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True)")
    await first.close()
    second = stage.worker()
    assert second.borrow(kept)
    await second.start()
    assert await stage.answer(second) == "first [] True"


@pytest.mark.parametrize(
    "other",
    [
        {"preload": ["json"]},
        {"environment": {"TONE": "brief"}},
        {"private": ["/nowhere/private-*"]},
        {"secrets": True},
        {"use": Use.JUDGING},
        {"setup": ["true"]},
        {"python": sys.executable},
        {"inherited": {"PATH": "/usr/bin"}},
        {"options": {"prompt": "Be brief."}},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_what_would_be_started_otherwise_starts_its_own(stage: Stage, other: dict[str, Any]) -> None:
    assert not stage.worker(**other).borrow(await stage.kept())


async def test_a_set_up_of_its_own_is_never_kept(stage: Stage) -> None:
    kept = await stage.kept(setup=["true"])
    assert not stage.worker(setup=["true"]).borrow(kept)


async def test_packages_that_were_installed_meanwhile_are_not_missed(stage: Stage, scratch: Path) -> None:
    packages = scratch / "packages"  # the scratch folder itself can only be entered, and Python lists where it looks
    packages.mkdir()
    (packages / "a_library.py").write_text("NUMBER = 1\n")
    options = {"environment": {"PYTHONPATH": str(packages)}, "preload": ["a_library"]}
    kept = await stage.kept(**options)
    assert stage.worker(**options).borrow(kept)
    (packages / "a_library.py").write_text("NUMBER = 2\n")
    assert not stage.worker(**options).borrow(kept)


async def test_a_fork_server_that_has_ended_is_started_anew(stage: Stage) -> None:
    kept = await stage.kept()
    first = stage.worker()
    assert first.borrow(kept)
    await first.start()
    server = "Path(f'/proc/{os.getppid()}/stat').read_text().split()[3]"
    with pytest.raises(WorkerError):
        await stage.answer(first, f"os.kill(int({server}), 9); import time; time.sleep(60)")
    assert await stage.answer(first) == "first ['copy', 'home', 'tmp'] True"
    await first.close()
    assert not stage.worker().borrow(kept)


async def test_a_link_in_the_place_of_a_folder_is_not_followed(stage: Stage, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "letter.txt").write_text("kept")
    kept = await stage.kept()
    first = stage.worker()
    assert first.borrow(kept)
    await first.start()
    move = "import shutil; home = Path(os.environ['HOME']); home.rename(home.with_name('moved')); "
    move += f"home.symlink_to({str(precious)!r})"
    with_error = await asyncio.gather(stage.answer(first, move), return_exceptions=True)
    await first.close()
    moved = not isinstance(with_error[0], BaseException)
    assert stage.worker().borrow(kept) is not moved
    assert (precious / "letter.txt").read_text() == "kept"
