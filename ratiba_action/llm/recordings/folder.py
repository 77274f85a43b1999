"""The recordings of several scenarios, read together."""

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.llm.recordings.lines import ModelRecording, Recording
from ratiba_action.llm.recordings.reader import read_recordings
from ratiba_action.model.reads import Reads, parse_reads
from ratiba_action.model.scenario import Scenario
from ratiba_action.util.locked_folder import read_plain_file


def require_recorded_trials(
    scenarios: Sequence[Scenario], recordings: Mapping[str, Sequence[Recording]], folder: str
) -> None:
    """Check before a replay that no trial would lack its answers.

    Args:
        scenarios: to be held, each as often as its strategy says.
        recordings: by scenario id.

    Raises:
        SuiteError: some scenarios have fewer trials recorded; names all of them.
    """
    problems = list(_problems(scenarios, recordings, folder))
    if problems:
        raise SuiteError(problems)


def _problems(
    scenarios: Sequence[Scenario], recordings: Mapping[str, Sequence[Recording]], folder: str
) -> Iterator[FileProblem]:
    for scenario in scenarios:
        wanted = scenario.strategy.trials
        lines = [line for line in recordings.get(scenario.id, ()) if isinstance(line, ModelRecording)]
        recorded = len({line.trial for line in lines if line.trial < wanted})
        # A scenario without any answers calls no model, or says so itself when it does.
        if 0 < recorded < wanted:
            problem = f"{recorded} {'trial is' if recorded == 1 else 'trials are'} recorded, and {wanted} are asked for"
            remedy = f"record them with 'ratiba record --scenario {scenario.id} --accept'"
            yield FileProblem(f"{folder}/{scenario.id}.jsonl", 0, f"{problem}; {remedy}")


def recording_path(folder: Path, scenario_id: str) -> Path:
    """The recording file of a scenario."""
    return folder / f"{scenario_id}.jsonl"


def read_folder(folder: Path, scenario_ids: Iterable[str]) -> dict[str, tuple[Recording, ...]]:
    """The recordings of each scenario; none for one without a file.

    Raises:
        SuiteError: files cannot be read or have mistakes; the mistakes of all files together.
    """
    if folder.is_symlink():
        raise SuiteError([FileProblem(str(folder), 0, "cannot be read: it is a symbolic link")])
    problems: list[FileProblem] = []
    recordings: dict[str, tuple[Recording, ...]] = {}
    present = _names(folder)
    for scenario_id in scenario_ids:
        path = recording_path(folder, scenario_id)
        try:
            recordings[scenario_id] = read_recordings(path) if present is None or path.name in present else ()
        except SuiteError as error:
            problems.extend(error.problems)
    if problems:
        raise SuiteError(problems)
    return recordings


def read_reads(folder: Path, scenario_ids: Iterable[str]) -> dict[str, Reads]:
    """What the recordings say that each scenario reads; nothing of one that cannot be read or says nothing."""
    found: dict[str, Reads] = {}
    for scenario_id in scenario_ids:
        with contextlib.suppress(OSError, ValueError):
            content = read_plain_file(folder, recording_path(folder, scenario_id).name)
            reads = parse_reads(content.partition(b"\n")[0])
            if reads is not None:
                found[scenario_id] = reads
    return found


def _names(folder: Path) -> Collection[str] | None:
    """The names in a folder, read once for thousands of scenarios; None where they cannot be listed."""
    try:
        return {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return ()
    except OSError:
        return None


def model_recordings(recordings: Mapping[str, Sequence[Recording]]) -> dict[str, tuple[ModelRecording, ...]]:
    """Only the answers to the system under test, by scenario."""
    return {
        scenario_id: tuple(line for line in lines if isinstance(line, ModelRecording))
        for scenario_id, lines in recordings.items()
    }


def recorded_trials(recordings: Mapping[str, Sequence[Recording]]) -> dict[str, int]:
    """How many trials of each scenario are recorded without a gap; 1 for one whose system calls no model."""
    counts: dict[str, int] = {}
    for scenario_id, lines in model_recordings(recordings).items():
        numbers = {line.trial for line in lines}
        counts[scenario_id] = next(number for number in range(len(numbers) + 1) if number not in numbers) or 1
    return counts


def recorded_models(recordings: Mapping[str, Sequence[Recording]]) -> frozenset[tuple[str, str]]:
    """Each (model, provider) that answered the system under test: all of them need a price."""
    lines = (line for lines in model_recordings(recordings).values() for line in lines)
    return frozenset((line.model, line.provider) for line in lines)
