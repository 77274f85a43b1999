"""What a repository's scenarios and recordings hold that is allowed and probably not meant: the warnings."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from ratiba_action.errors import FileProblem
from ratiba_action.llm.recordings.lines import JudgeRecording, Recording
from ratiba_action.metrics.judging.cache_key import metric_version
from ratiba_action.metrics.registry import is_judged, made_for, metric_names
from ratiba_action.model.scenario import Assertion, Scenario
from ratiba_action.suite.scenario_advice import measuring_advice, quarantine_advice, touches_advice

_NOT_LOOKED_INTO = frozenset({".git", ".venv", "node_modules", "__pycache__", "ratiba-report"})
_MOST_FILES = 200_000


Attach = Callable[[Scenario], tuple[Assertion, ...]]
"""All that a scenario is measured by, with what it does not list itself."""


def scenario_advice(
    scenarios: Iterable[Scenario], attach: Attach, repository: Path, today: date
) -> tuple[FileProblem, ...]:
    """Warnings about scenarios, each once however many cases its file has.

    Args:
        scenarios: of a suite without mistakes.
        attach: what each is measured by.
        repository: the checkout.
        today: decides which quarantines are over.
    """
    listed = tuple(scenarios)
    paths = tuple(_files(repository)) if any(one.touches for one in listed) else ()
    told: dict[FileProblem, None] = {}
    for one in listed:
        found = [*quarantine_advice(one, today), *touches_advice(one, paths)]
        found += measuring_advice(replace(one, assertions=attach(one)))
        for name in (entry.metric for entry in one.assertions if entry.metric in metric_names()):
            if one.system_type not in made_for(name):
                types = ", ".join(made_for(name))
                found.append((one.line, f"{name} is made for {types}, and system_type is {one.system_type}"))
        told.update({FileProblem(one.path, line, message): None for line, message in found})
    return tuple(told)


def recording_advice(
    path: str, lines: Sequence[Recording], scenarios: Mapping[str, Sequence[Scenario]], attach: Attach
) -> Iterator[FileProblem]:
    """Warnings about one recording.

    Args:
        path: of the file; its stem is the id of its scenario.
        lines: in order.
        scenarios: by id, with those of a case file under the case file's own.
        attach: what each is measured by.
    """
    owners = scenarios.get(Path(path).stem, ())
    if not owners:
        yield FileProblem(path, 0, "no scenario has this id")
        return
    asked = {metric_version(entry.metric, "") for one in owners for entry in attach(one)}
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, JudgeRecording):
            if all(one.script is not None for one in owners):
                yield FileProblem(path, number, "it is never used: the scenario's script answers")
        elif _identity(line) not in asked:
            yield FileProblem(path, number, f"it is never used: the scenario does not ask for {line.metric!r:.80}")


def graded_metrics(lines: Iterable[Recording]) -> Iterator[str]:
    """Identities of the metrics that a recording has scores of, without their versions."""
    return (_identity(line) for line in lines if isinstance(line, JudgeRecording))


def _identity(line: JudgeRecording) -> str:
    return metric_version(line.metric.partition(":")[0], "")


def grade_advice(
    scenarios: Iterable[Scenario], graded: Mapping[str, Collection[str]], attach: Attach
) -> Iterator[FileProblem]:
    """Warnings about judged metrics of which no score is recorded: a run without a key cannot measure them.

    Args:
        scenarios: of a suite without mistakes, but for those whose recordings cannot be read.
        graded: identities of the metrics that each scenario has scores of, by its id.
        attach: what each is measured by.
    """
    lacking: dict[tuple[str, str, str], list[Scenario]] = {}
    for one in scenarios:
        for entry in attach(one):
            identity = metric_version(entry.metric, "")
            if _is_graded(entry.metric, one) and identity not in graded.get(one.id, ()):
                lacking.setdefault((one.path, one.data_set, entry.metric), []).append(one)
    for (path, data_set, metric), found in lacking.items():
        whom = f"{len(found)} of the cases of {data_set}" if data_set else found[0].id
        record = f"ratiba record --scenario {data_set or found[0].id} --accept"
        told = f"no score of {metric} is recorded for {whom}, so that a run without a key is incomplete: '{record}'"
        yield FileProblem(path, found[0].line, told)


def _is_graded(metric: str, scenario: Scenario) -> bool:
    """Whether a judge is called; a reply that refuses claims nothing, so no judge is called about its claims."""
    refuses = all(turn.expect.refusal for turn in scenario.turns)
    return is_judged(metric) and not (refuses and metric == "FaithfulnessByClaimMetric")


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
