"""What a repository's scenarios and recordings hold that is allowed and probably not meant: the warnings."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from ratiba_action.core.cache_key import metric_version
from ratiba_action.core.language_metrics import attach_language_metrics
from ratiba_action.core.model.scenario import Scenario
from ratiba_action.core.scenario_advice import measuring_advice, quarantine_advice, touches_advice
from ratiba_action.errors import FileProblem
from ratiba_action.metrics.registry import made_for, metric_names
from ratiba_action.recordings.lines import JudgeRecording, Recording

_NOT_LOOKED_INTO = frozenset({".git", ".venv", "node_modules", "__pycache__", "ratiba-report"})
_MOST_FILES = 200_000


def scenario_advice(scenarios: Iterable[Scenario], repository: Path, today: date) -> tuple[FileProblem, ...]:
    """Warnings about scenarios, each once however many cases its file has.

    Args:
        scenarios: of a suite without mistakes.
        repository: the checkout.
        today: decides which quarantines are over.
    """
    listed = tuple(scenarios)
    paths = tuple(_files(repository)) if any(one.touches for one in listed) else ()
    told: dict[FileProblem, None] = {}
    for one in listed:
        found = [*quarantine_advice(one, today), *measuring_advice(one), *touches_advice(one, paths)]
        for name in (entry.metric for entry in one.assertions if entry.metric in metric_names()):
            if one.system_type not in made_for(name):
                types = ", ".join(made_for(name))
                found.append((one.line, f"{name} is made for {types}, and system_type is {one.system_type}"))
        told.update({FileProblem(one.path, line, message): None for line, message in found})
    return tuple(told)


def recording_advice(
    path: str, lines: Sequence[Recording], scenarios: Mapping[str, Sequence[Scenario]]
) -> Iterator[FileProblem]:
    """Warnings about one recording.

    Args:
        path: of the file; its stem is the id of its scenario.
        lines: in order.
        scenarios: by id, with those of a data set under the data set's own.
    """
    owners = scenarios.get(Path(path).stem, ())
    if not owners:
        yield FileProblem(path, 0, "no scenario has this id")
        return
    asked = {metric_version(entry.metric, "") for one in owners for entry in attach_language_metrics(one)}
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, JudgeRecording):
            if all(one.script is not None for one in owners):
                yield FileProblem(path, number, "it is never used: the scenario's script answers")
        elif metric_version(line.metric.partition(":")[0], "") not in asked:
            yield FileProblem(path, number, f"it is never used: the scenario does not ask for {line.metric!r:.80}")


def _files(repository: Path) -> Iterator[str]:
    """Every file by its path in the repository."""
    count = 0
    for folder, folders, names in os.walk(repository):
        folders[:] = [name for name in folders if name not in _NOT_LOOKED_INTO]
        top = Path(folder).relative_to(repository)
        for name in names:
            count += 1
            if count > _MOST_FILES:
                return
            yield (top / name).as_posix()
