"""DeepEval in a process of its own: the same scores, and nothing in it that the gate holds."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ratiba_action.errors import InfrastructureError, JudgeError
from ratiba_action.metrics.judging.judging_processes import JudgingProcesses
from ratiba_action.metrics.registry import is_judged, load_judged_metric, metric_names, question_stride
from ratiba_action.model.measurement import Score
from ratiba_action.systems.judging_launch import open_judging_server
from ratiba_action.systems.separation import has_landlock
from ratiba_action.systems.workplace import Surroundings
from ratiba_action.worker import seccomp
from tests.support.judges import ObligingJudge
from tests.support.metric_samples import PARAMETERS, full_case

pytestmark = pytest.mark.usefixtures("quiet_deepeval")

KEY = "sk-planted-0123456789abcdef"
ENVIRONMENT = {**os.environ, "OPENAI_API_KEY": KEY, "GITHUB_TOKEN": KEY, "RATIBA_X": KEY}


@asynccontextmanager
async def opened(
    folder: Path,
    environment: Mapping[str, str] = ENVIRONMENT,
    *,
    maximum: int = 1,
    note: Callable[[str], None] = print,
) -> AsyncIterator[JudgingProcesses]:
    around = Surroundings(folder / "checkout", environment, scratch=folder)
    async with open_judging_server(lambda: around, note=note) as server:
        processes = JudgingProcesses(server.connect, maximum)
        await processes.start()
        yield processes
        await processes.close()


async def score(processes: JudgingProcesses, name: str, judge: ObligingJudge) -> Score:
    parameters = PARAMETERS.get(name) or {}
    metric = load_judged_metric(name, judge, parameters)
    return await processes.metric(metric, parameters, judge, question_stride(name)).measure(full_case(), 0.8)


@pytest.fixture
def tmp_path(scratch: Path) -> Path:
    """Where root runs the tests, what judges is another user's, who cannot enter pytest's own folder."""
    return scratch


def processes_of(folder: Path) -> list[Path]:
    """Folders in ``/proc`` of the processes that work below a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(folder):
                found.append(entry)
        except OSError:
            continue
    return found


async def test_every_judged_metric_has_the_score_that_it_has_in_one_process(tmp_path: Path) -> None:
    async with opened(tmp_path) as processes:
        for name in filter(is_judged, metric_names()):
            near, far = ObligingJudge(), ObligingJudge()
            here = await load_judged_metric(name, near, PARAMETERS.get(name)).measure(full_case(), 0.8)
            assert await score(processes, name, far) == here
            assert [(asked, asked.prompt) for asked in far.asked] == [(asked, asked.prompt) for asked in near.asked]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="Linux shows the memory of a process")
async def test_no_key_is_in_its_memory_environment_or_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = (tmp_path / "held.txt").open("w+")
    with held:
        held.write(KEY)
        held.flush()
        os.set_inheritable(held.fileno(), True)  # noqa: FBT003 - its only form
        async with opened(tmp_path, maximum=2) as processes:
            monkeypatch.setenv("LANGFUSE_SECRET_KEY", KEY)  # what comes later stays with the gate, too
            judges = [ObligingJudge(), ObligingJudge()]
            await asyncio.gather(*(score(processes, "ToxicityMetric", judge) for judge in judges))
            before = processes_of(tmp_path)
            assert len(before) >= 3, "the server and the processes that it forked"
            assert_no_key(before)
            os.kill(max(int(process.name) for process in before), signal.SIGKILL)
            await asyncio.gather(
                *(score(processes, "ToxicityMetric", judge) for judge in judges), return_exceptions=True
            )
            await asyncio.gather(*(score(processes, "ToxicityMetric", judge) for judge in judges))
            after = processes_of(tmp_path)
            assert set(after) - set(before), "one that came instead of another"
            assert_no_key(after)


def assert_no_key(processes: list[Path]) -> None:
    for process in processes:
        assert KEY not in (process / "environ").read_text()
        assert KEY not in (process / "cmdline").read_text()
        assert not [link for link in (process / "fd").iterdir() if "held.txt" in str(link.readlink())]
        assert KEY.encode() not in memory_of(process)


def memory_of(process: Path) -> bytes:
    """What a process can read of its memory, as a core dump would have it."""
    read = bytearray()
    with (process / "mem").open("rb") as memory:
        for line in (process / "maps").read_text().splitlines():
            place, rights, *_ = line.split()
            if not rights.startswith("r") or "[v" in line:
                continue
            begin, end = (int(part, 16) for part in place.split("-"))
            memory.seek(begin)
            with contextlib.suppress(OSError):  # a page of a mapped file beyond its end
                read += memory.read(end - begin)
    return bytes(read)


async def test_a_server_that_was_killed_is_started_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as processes:
        judge = ObligingJudge()
        before = await score(processes, "ToxicityMetric", judge)
        for process in processes_of(tmp_path):
            with contextlib.suppress(ProcessLookupError):  # it ended with the one that started it
                os.kill(int(process.name), signal.SIGKILL)
        errors: list[str] = []
        while len(errors) < 20:
            try:
                assert await score(processes, "ToxicityMetric", judge) == before
            except JudgeError as error:  # what was forked before has ended with it
                errors.append(str(error))
            else:
                break
        assert errors == [message for message in errors if "measures ended" in message]
        assert len(errors) < 20


async def test_its_processes_and_its_folder_end_with_it(tmp_path: Path) -> None:
    async with opened(tmp_path):
        assert processes_of(tmp_path)
    assert not processes_of(tmp_path)
    assert not [*tmp_path.iterdir()]  # noqa: ASYNC240 - nothing else runs


async def test_a_server_that_cannot_start_says_what_it_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken" / "deepeval"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('half installed')\n")
    monkeypatch.syspath_prepend(broken.parent)
    (tmp_path / "scratch").mkdir()
    with pytest.raises(InfrastructureError, match=r"It printed: .*half installed. Run: pip install"):
        await opened(tmp_path / "scratch").__aenter__()


IMPORTED = """
sys.path.remove({folder!r})
del sys.modules[__name__]
importlib.import_module(__name__)
"""
PLANTED = """
import importlib, pathlib, socket, sys
found = []
for family, address in ((socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_UNIX, {path!r})):
    try:
        with socket.socket(family) as connection:
            connection.connect(address)
        found.append("connected")
    except OSError as error:
        found.append(type(error).__name__)
(pathlib.Path.home() / "found").write_text(" ".join(found))
"""
READING = """
import importlib, os, pathlib, sys
found = []
for path in {paths!r}:
    try:
        found.append(pathlib.Path(path).read_text())
    except OSError as error:
        found.append(type(error).__name__)
(pathlib.Path.home() / "found").write_text(" ".join(found))
"""


@pytest.mark.skipif(not seccomp.machine(), reason="this machine filters no system calls")
async def test_a_module_planted_among_its_own_reaches_no_host_and_no_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, scratch, path = tmp_path / "planted", tmp_path / "scratch", tmp_path / "service"
    folder.mkdir()
    scratch.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as host, socket.socket(socket.AF_UNIX) as service:
        service.bind(str(path))
        service.listen()
        planted = (PLANTED + IMPORTED).format(port=host.getsockname()[1], path=str(path), folder=str(folder))
        (folder / "tenacity.py").write_text(planted)  # which DeepEval imports
        script = f"import sys; sys.path.insert(0, {str(folder)!r}); import tenacity"
        outside = [sys.executable, "-c", script]
        await asyncio.to_thread(subprocess.run, outside, env={"HOME": str(tmp_path)}, check=True)
        assert (tmp_path / "found").read_text() == "connected connected"
        monkeypatch.syspath_prepend(folder)
        async with opened(scratch) as processes:
            await score(processes, "ToxicityMetric", ObligingJudge())
            (found,) = scratch.glob("*/home/found")
            assert found.read_text() == "PermissionError PermissionError"


@pytest.mark.skipif(not has_landlock(), reason="this kernel closes no files")
async def test_a_module_planted_among_its_own_reads_no_key_in_the_users_folder_and_none_in_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, home, scratch = tmp_path / "planted", tmp_path / "home", tmp_path / "scratch"
    paths = [home / ".netrc", scratch / "checkout" / ".env"]
    for path in (folder / "tenacity.py", *paths):  # which DeepEval imports
        path.parent.mkdir(parents=True)
        path.write_text(KEY)
    reading = READING.format(paths=[str(path) for path in paths])
    outside = [sys.executable, "-c", reading]
    await asyncio.to_thread(subprocess.run, outside, env={"HOME": str(tmp_path)}, check=True)
    assert (tmp_path / "found").read_text() == f"{KEY} {KEY}"
    (folder / "tenacity.py").write_text(reading + IMPORTED.format(folder=str(folder)))
    monkeypatch.syspath_prepend(folder)
    async with opened(scratch, {**ENVIRONMENT, "HOME": str(home)}) as processes:
        await score(processes, "ToxicityMetric", ObligingJudge())
        (found,) = scratch.glob("*/home/found")
        assert found.read_text() == "PermissionError PermissionError"


async def test_a_machine_without_a_layer_of_the_sandbox_is_noted_once_and_scores_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as processes:
        whole = await score(processes, "ToxicityMetric", ObligingJudge())
    monkeypatch.setattr(seccomp, "missing", lambda **_: seccomp.MissingFilter.FILTER)
    notes: list[str] = []
    async with opened(tmp_path, maximum=2, note=notes.append) as processes:
        judges = [ObligingJudge(), ObligingJudge()]
        scores = await asyncio.gather(*(score(processes, "ToxicityMetric", judge) for judge in judges))
        users = {process.stat().st_uid for process in processes_of(tmp_path)}
    assert scores == [whole, whole]
    as_root = [note for note in notes if "as the gate's own user, without capabilities" in note]
    assert len(as_root) == (users == {os.geteuid()} == {0})
    (note,) = (note for note in notes if note not in as_root)
    assert "it can reach the machine's network" in note
