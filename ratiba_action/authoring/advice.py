"""Warnings about scenarios and recordings that are valid but probably unintended."""

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
"""All assertions of a scenario, including those that it does not list."""


def scenario_advice(
    scenarios: Iterable[Scenario], attach: Attach, repository: Path, today: date
) -> tuple[FileProblem, ...]:
    """Warnings about scenarios, each once however many cases its file has.

    Args:
        scenarios: of a suite without mistakes.
        attach: gives the assertions of a scenario.
        repository: the checkout.
        today: decides which quarantines have expired.
    """
    listed = tuple(scenarios)
    paths = tuple(_files(repository)) if any(scenario.touches for scenario in listed) else ()
    warnings: dict[FileProblem, None] = {}
    for scenario in listed:
        found = [*quarantine_advice(scenario, today), *touches_advice(scenario, paths)]
        found += measuring_advice(replace(scenario, assertions=attach(scenario)))
        for name in (entry.metric for entry in scenario.assertions if entry.metric in metric_names()):
            if scenario.system_type not in made_for(name):
                types = ", ".join(made_for(name))
                found.append((scenario.line, f"{name} is made for {types}, and system_type is {scenario.system_type}"))
        warnings.update({FileProblem(scenario.path, line, message): None for line, message in found})
    return tuple(warnings)


def recording_advice(
    path: str, lines: Sequence[Recording], scenarios: Mapping[str, Sequence[Scenario]], attach: Attach
) -> Iterator[FileProblem]:
    """Warnings about one recording.

    Args:
        path: of the file; its stem is the id of its scenario.
        lines: in order.
        scenarios: by id, with those of a case file under the case file's own.
        attach: gives the assertions of a scenario.
    """
    owners = scenarios.get(Path(path).stem, ())
    if not owners:
        yield FileProblem(path, 0, "no scenario has this id")
        return
    measured = {metric_version(entry.metric, "") for owner in owners for entry in attach(owner)}
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, JudgeRecording):
            if all(owner.script is not None for owner in owners):
                yield FileProblem(path, number, "it is never used: the scenario has a mocked model")
        elif _identity(line) not in measured:
            yield FileProblem(path, number, f"it is never used: the scenario does not use {line.metric!r:.80}")


def scored_metrics(lines: Iterable[Recording]) -> Iterator[str]:
    """Names of the metrics with recorded scores, without versions."""
    return (_identity(line) for line in lines if isinstance(line, JudgeRecording))


def _identity(line: JudgeRecording) -> str:
    return metric_version(line.metric.partition(":")[0], "")


def missing_score_advice(
    scenarios: Iterable[Scenario], scored: Mapping[str, Collection[str]], attach: Attach
) -> Iterator[FileProblem]:
    """Warnings about judged metrics without a recorded score: a run without an API key cannot measure them.

    Args:
        scenarios: of a suite without mistakes, except those with unreadable recordings.
        scored: names of the metrics with recorded scores, by scenario id.
        attach: gives the assertions of a scenario.
    """
    missing: dict[tuple[str, str, str], list[Scenario]] = {}
    for scenario in scenarios:
        for entry in attach(scenario):
            identity = metric_version(entry.metric, "")
            if _calls_judge(entry.metric, scenario) and identity not in scored.get(scenario.id, ()):
                missing.setdefault((scenario.path, scenario.data_set, entry.metric), []).append(scenario)
    for (path, cases_id, metric), found in missing.items():
        whom = f"{len(found)} of the cases of {cases_id}" if cases_id else found[0].id
        record = f"ratiba record --scenario {cases_id or found[0].id} --accept"
        message = (
            f"no score of {metric} is recorded for {whom}, so a run without an API key is incomplete. Run: {record}"
        )
        yield FileProblem(path, found[0].line, message)


def _calls_judge(metric: str, scenario: Scenario) -> bool:
    """Whether the metric calls a judge; a refusal makes no claims, so faithfulness calls none for it."""
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
