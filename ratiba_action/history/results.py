"""Earlier results as one run of the base: read as what they are, a file that somebody else may have written."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from ratiba_action.errors import ConfigurationError, RatibaError
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.codec import RepeatedRecords
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.measurement import Scored
from ratiba_action.model.plan import BASE, HEAD
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_json import load_report, read_results
from ratiba_action.verdict.pairing import content_digest

RECORDED_BY = frozenset({AnswerOrigin.REPLAY, AnswerOrigin.MIXED, AnswerOrigin.LIVE})
"""Where answers come from that can be compared; a run that records does not decide."""

Read = TypeVar("Read")

_QUOTED = 120


def read_run(path: Path) -> MeasuredRun:
    """The run in a ``results.json``, of the system or of one of its variants, to be shown beside others.

    Raises:
        ConfigurationError: it cannot be read, or not be compared with; lists every problem.
    """
    report = _guarded(lambda: read_results(path))
    return _guarded(lambda: _measured_run(report, "", own=lambda arm: arm != BASE))


def load_baseline(content: bytes, maximum: int | None = None, repeated: RepeatedRecords | None = None) -> Report:
    """The report in the bytes of a ``results.json``.

    Args:
        maximum: bytes that it may have when it is unpacked; None for those of any ``results.json``.
        repeated: scenarios of other reports that are read too; None for a single report.

    Raises:
        ConfigurationError: it holds none.
    """
    return _guarded(lambda: load_report(content, maximum=maximum, repeated=repeated))


def _guarded(read: Callable[[], Read]) -> Read:
    try:
        return read()
    except RatibaError:
        raise
    except Exception as error:
        # Whatever somebody wrote into it, a file ends no run.
        raise ConfigurationError(f"results.json could not be read: {type(error).__name__}.") from error


def measured_run(report: Report, repository: str = "") -> MeasuredRun:
    """What a report's own arm measured.

    Args:
        repository: ``owner/name`` that it must be about; empty where that is not known.

    Raises:
        ConfigurationError: it cannot be compared with; lists every problem.
    """
    return _guarded(lambda: _measured_run(report, repository, own=lambda arm: arm == HEAD))


def _measured_run(report: Report, repository: str, *, own: Callable[[str], bool]) -> MeasuredRun:
    results = tuple(result for result in report.results if own(result.trial.arm.name))
    problems = [*_problems_of_the_run(report, repository), *_problems_of_scores(report)]
    if not any(isinstance(result, Scored) for result in results):
        problems.append(_nothing_of_its_own(report))
    if problems:
        raise ConfigurationError(f"The results cannot be compared with: {'; '.join(problems)}.")
    return MeasuredRun(
        commit=report.commit or report.subject.head or None,
        started_at=report.started_at,
        judge_model=report.judge_model,
        answers=report.llm,
        results=results,
        scenario_digests=_digests(report),
        data_sets=report.data_sets,
        mean_thresholds=report.limits.metric_thresholds,
        conclusion=report.verdict.conclusion.value,
    )


def _nothing_of_its_own(report: Report) -> str:
    variants = {result.trial.arm.name for result in report.results} - {HEAD, BASE}
    return f"it is a run of the variant {min(variants)[:_QUOTED]!r}" if variants else "it has no measured scenario"


def _problems_of_the_run(report: Report, repository: str) -> Iterator[str]:
    measured = report.subject.repository
    if repository and measured and measured.casefold() != repository.casefold():
        yield f"they are of the repository {measured[:_QUOTED]!r}, not of {repository!r}"
    if report.shard is not None:
        yield f"they are of shard {report.shard.shard} alone, and not of a whole run"
    if report.llm not in RECORDED_BY:
        yield f"their answers came from {report.llm[:_QUOTED]!r}, and must come from {', '.join(sorted(RECORDED_BY))}"
    if report.started_at.tzinfo is None:
        yield f"the time {report.started_at.isoformat()!r} has no time zone"


def _problems_of_scores(report: Report) -> Iterator[str]:
    for result in report.results:
        for score in result.scores if isinstance(result, Scored) else ():
            if not (math.isfinite(score.value) and 0 <= score.value <= 1):
                name = result.trial.scenario.id[:_QUOTED]
                yield f"the score {score.metric[:_QUOTED]!r} of {name!r} is {score.value!r}, not from 0 to 1"


def _digests(report: Report) -> dict[str, str]:
    """Of each scenario, the one that was written down before its identifiers were masked, else its own."""
    scenarios = {result.trial.scenario.id: result.trial.scenario for result in report.results}
    try:
        return {
            name: report.scenario_digests.get(name) or content_digest(scenario) for name, scenario in scenarios.items()
        }
    except RecursionError as error:
        raise ConfigurationError("The results cannot be compared with: a scenario is nested too deeply.") from error
