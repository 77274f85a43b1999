"""Reports of shards, read here or by a second process: the same is read, masked and refused."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from ratiba_action.errors import UsageError
from ratiba_action.model.event import Event, LoggedEvent, Place, RunEnded
from ratiba_action.model.shard import Shard
from ratiba_action.model.verdict import Report, ShardReport
from ratiba_action.observability.event_lines import event_line, read_events
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.run.shard_folders import MAX_FOLDERS, ShardFolders, report_folders
from tests.support.eventually import eventually
from tests.support.sample_report import sample_report, sample_scored

SECRET = "planted-secret-1"
REDACTOR = Redactor([SECRET])
CUSTOMERS = {"spa_1": "Zawadi Achieng"}
REASON = f"Zawadi Achieng rang from +254 712 345 432 with {SECRET}"
ENOUGH = 9 << 20
"""Bytes of reports that are read by a second process."""


def of_shard(number: int) -> Report:
    scored = sample_scored("spa_1")
    return sample_report(results=(scored,), notes=(), shard=ShardReport(Shard(number, 2), identity={"commit": "a1"}))


@pytest.fixture
def written(tmp_path: Path) -> Sequence[Path]:
    """The report folders of two shards, each with an event that says what must not be shown."""
    folders = [tmp_path / f"shard-{number}" for number in (1, 2)]
    for number, folder in enumerate(folders, 1):
        folder.mkdir()
        (folder / "results.json").write_text(render_results(summarise(REDACTOR.report(of_shard(number)))))
        event = Event(RunEnded("failed", REASON, None, Decimal(20)), Place(scenario="spa_1"))
        line = event_line(LoggedEvent(f"run-{number}", 1, datetime(2026, 5, 4, tzinfo=UTC), event))
        (folder / "events.jsonl").write_text(f"{line}\n")
    return folders


def enlarge(folders: Sequence[Path]) -> None:
    """Have the reports read by a second process: a torn line is left out of the events, however long it is."""
    with (folders[0] / "events.jsonl").open("a") as file:
        file.write("torn" * (ENOUGH // 4))


def second_processes() -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command, status = ((process / part).read_text() for part in ("cmdline", "status"))
            if "shard_folders" in command and f"\nPPid:\t{os.getpid()}\n" in status:
                yield int(process.name)


def second_process() -> int:
    """The one that was started; its command line can be read a moment after that."""
    (process,) = eventually(lambda: [*second_processes()])
    return process


def merged(folders: Sequence[Path], target: Path, between: Callable[[], None] = lambda: None) -> Sequence[str]:
    """The events in a file after those of the shards were added to it, and what was wrong."""
    with ShardFolders(folders) as shards:
        found = shards.read()
        assert [shard.report for shard in found] == [REDACTOR.report(of_shard(number)) for number in (1, 2)]
        between()
        shards.begin_events(REDACTOR, CUSTOMERS)
        return shards.add_events(target)


@pytest.fixture(params=["here", pytest.param("by a second process", marks=pytest.mark.processes)])
def folders(written: Sequence[Path], request: pytest.FixtureRequest) -> Sequence[Path]:
    if request.param != "here":
        enlarge(written)
    return written


def test_events_are_added_masked_after_those_of_the_merge(folders: Sequence[Path], tmp_path: Path) -> None:
    target = tmp_path / "events.jsonl"
    target.write_text("own\n")
    assert merged(folders, target) == ()
    text = target.read_text()
    assert text.startswith("own\n")
    events = read_events(target).events
    assert [each.run for each in events] == ["run-1", "run-2"]
    reasons = {each.event.data.reason for each in events if isinstance(each.event.data, RunEnded)}
    assert reasons == {"<name> rang from +254***432 with ***"}


def test_events_that_are_no_plain_file_are_said_and_end_nothing(folders: Sequence[Path], tmp_path: Path) -> None:
    (folders[1] / "events.jsonl").unlink()
    (folders[1] / "events.jsonl").symlink_to(tmp_path / "elsewhere")
    (problem,) = merged(folders, tmp_path / "events.jsonl")
    assert problem.startswith(f"The events '{folders[1] / 'events.jsonl'}' were not added: they are no file")
    assert [each.run for each in read_events(tmp_path / "events.jsonl").events] == ["run-1"]


def test_events_that_cannot_be_added_are_said(folders: Sequence[Path], tmp_path: Path) -> None:
    text = f"Not all events of the shards could be added to '{tmp_path}': Is a directory."
    assert merged(folders, tmp_path) == (text,)


def test_without_a_folder_for_temporary_files_the_shards_are_merged_without_their_events(
    folders: Sequence[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    (problem,) = merged(folders, tmp_path / "events.jsonl")
    assert problem.startswith("Not all events of the shards could be added: the folder for temporary files cannot be")
    assert not (tmp_path / "events.jsonl").exists()


@pytest.mark.processes
@pytest.mark.parametrize("when", ["at once", "before the events"])
def test_what_a_lost_process_was_asked_for_is_done_here(written: Sequence[Path], tmp_path: Path, when: str) -> None:
    enlarge(written)

    def kill() -> None:
        os.kill(second_process(), signal.SIGKILL)

    if when == "at once":
        with ShardFolders(written) as shards:
            kill()
            assert [shard.of.shard.number for shard in shards.read()] == [1, 2]
            shards.begin_events(REDACTOR, CUSTOMERS)
            assert shards.add_events(tmp_path / "events.jsonl") == ()
    else:
        assert merged(written, tmp_path / "events.jsonl", kill) == ()
    assert [each.run for each in read_events(tmp_path / "events.jsonl").events] == ["run-1", "run-2"]


@pytest.mark.processes
def test_a_second_process_has_no_environment_writes_no_core_and_ends_with_the_merge(
    written: Sequence[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RATIBA_PLANTED", SECRET)
    seen: dict[str, str] = {}

    def look() -> None:
        process = second_process()
        for name in ("environ", "limits"):
            seen[name] = Path(f"/proc/{process}/{name}").read_text()
        seen["input"] = str(Path(f"/proc/{process}/fd/0").readlink())

    enlarge(written)
    merged(written, tmp_path / "events.jsonl", look)
    assert seen["environ"] == "LC_ALL=C.UTF-8\0"
    assert next(line for line in seen["limits"].splitlines() if "core" in line).split()[4] == "0"
    assert seen["input"].startswith("socket:"), "others of the same user can open a pipe while a process starts"
    assert list(second_processes()) == []


def test_small_reports_need_no_second_process(written: Sequence[Path], tmp_path: Path) -> None:
    def look() -> None:
        assert list(second_processes()) == []

    merged(written, tmp_path / "events.jsonl", look)


def test_a_report_that_cannot_be_read_is_a_problem_of_its_shard(folders: Sequence[Path]) -> None:
    (folders[0] / "results.json").write_text("{")
    with ShardFolders(folders) as shards:
        first, second = shards.read()
    assert (first.report, second.problem) == (None, "")
    assert "could not be read as JSON" in first.problem


def test_a_folder_that_nobody_can_look_into_is_a_problem_of_its_shard(folders: Sequence[Path], tmp_path: Path) -> None:
    named = [*map(str, folders), str(tmp_path / ("long" * 1_000))]
    with ShardFolders(report_folders(named)) as shards:
        *read, beyond = shards.read()
    assert [each.problem for each in read] == ["", ""]
    assert (beyond.report, bool(beyond.problem)) == (None, True)


def test_where_no_report_can_be_read_no_events_are_added(folders: Sequence[Path], tmp_path: Path) -> None:
    for folder in folders:
        (folder / "results.json").write_text("{")
    with ShardFolders(folders) as shards:
        shards.read()
        shards.begin_events(REDACTOR, CUSTOMERS)
        assert shards.add_events(tmp_path / "events.jsonl") == ()
    assert not (tmp_path / "events.jsonl").exists()


@pytest.mark.processes
def test_a_second_process_that_was_stopped_is_ended_and_its_work_done_here(
    written: Sequence[Path], tmp_path: Path
) -> None:
    enlarge(written)
    with ShardFolders(written, seconds=0.5) as shards:
        os.kill(second_process(), signal.SIGSTOP)
        assert [shard.of.shard.number for shard in shards.read()] == [1, 2]
        assert list(second_processes()) == []
        shards.begin_events(REDACTOR, CUSTOMERS)
        assert shards.add_events(tmp_path / "events.jsonl") == ()
    assert [each.run for each in read_events(tmp_path / "events.jsonl").events] == ["run-1", "run-2"]


@pytest.mark.processes
def test_a_second_process_whose_gate_is_killed_in_the_middle_of_a_request_ends_at_once(
    written: Sequence[Path],
) -> None:
    enlarge(written)
    script = (
        "import os, pickle, signal, sys, time\nfrom pathlib import Path\n"
        "from ratiba_action.run.shard_folders import ShardFolders\n"
        "shards = ShardFolders([Path(name) for name in sys.argv[1:]])\nshards.read()\n"
        "beside = shards._beside\nbeside.begin(time.sleep, 60)\nbeside.begin(time.sleep, 60)\n"
        "beside._requests.write(pickle.dumps((time.sleep, (60,)))[:-1])\nbeside._requests.flush()\n"
        "print(beside._process.pid, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    gate = subprocess.run([sys.executable, "-c", script, *map(str, written)], stdout=subprocess.PIPE, check=False)
    process = int(gate.stdout)
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(process)
        ended, _, _ = select.select([descriptor], [], [], 20)
        os.close(descriptor)
        if not ended:
            os.kill(process, signal.SIGKILL)
        assert ended


def test_more_reports_than_any_run_has_are_refused_before_one_is_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There are more than 2,000 reports\."):
        report_folders([str(tmp_path / "none")] * (MAX_FOLDERS + 1))
