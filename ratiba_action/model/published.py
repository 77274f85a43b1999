"""What of a run may be published where more people read than those who see the pull request."""

from dataclasses import replace
from enum import StrEnum

from ratiba_action.model.conversation import Exchange, Reply, Transcript
from ratiba_action.model.measurement import Check, Errored, NotRun, ScenarioResult, Score, Scored
from ratiba_action.model.scenario import Scenario, Turn
from ratiba_action.model.verdict import Report


class Transcripts(StrEnum):
    """Which conversations are published, with what was measured in them in words."""

    NONE = "none"
    FAILING = "failing"
    ALL = "all"


def publishable(report: Report, transcripts: Transcripts) -> Report:
    """The report without the conversations that are not published, and without every text that may quote them.

    Outcomes, scores, times and costs stay, and so do names, titles and paths, and what an assertion expects.

    Args:
        report: with its secrets and identifiers masked already.
    """
    if transcripts is Transcripts.ALL:
        return report
    kept = transcripts is Transcripts.FAILING
    results = tuple(each if kept and _is_failing(each) else _without_words(each) for each in report.results)
    return replace(report, results=results, shard=None)


def _is_failing(result: ScenarioResult) -> bool:
    return isinstance(result, Errored) or (isinstance(result, Scored) and not result.passed)


def _without_words(result: ScenarioResult) -> ScenarioResult:
    trial = replace(result.trial, scenario=_scenario(result.trial.scenario))
    if isinstance(result, NotRun):
        return replace(result, trial=trial)
    retried = ("",) * len(result.retried)
    checks, scores = tuple(map(_check, result.checks)), tuple(map(_score, result.scores))
    if isinstance(result, Scored):
        transcript = _transcript(result.transcript)
        return replace(result, trial=trial, transcript=transcript, checks=checks, scores=scores, retried=retried)
    return replace(
        result,
        trial=trial,
        message="",
        transcript=None if result.transcript is None else _transcript(result.transcript),
        checks=checks,
        scores=scores,
        retried=retried,
        suspected=tuple(map(_check, result.suspected)),
    )


def _scenario(scenario: Scenario) -> Scenario:
    """Without what is said in it; the number of its turns stays, since outcomes follow from it."""
    return replace(
        scenario,
        turns=(Turn(user=""),) * len(scenario.turns),
        script=None if scenario.script is None else (),
        replies=("",) * len(scenario.replies),
        captured=("",) * len(scenario.captured),
        provenance={},
    )


def _transcript(transcript: Transcript) -> Transcript:
    return replace(transcript, exchanges=tuple(map(_exchange, transcript.exchanges)), rows={})


def _exchange(exchange: Exchange) -> Exchange:
    """Its figures alone."""
    return replace(exchange, turn=Turn(user=""), reply=Reply(text=""), cut="")


def _check(check: Check) -> Check:
    return replace(check, got="")


def _score(score: Score) -> Score:
    return replace(score, reason="", invariants=tuple(replace(each, detail="") for each in score.invariants))
