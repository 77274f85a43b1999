"""What the history keeps of a report."""

from ratiba_action.model.history import ResultRecord, RunRecord, ScoreRecord
from ratiba_action.model.measurement import ScenarioResult, Score, Scored
from ratiba_action.model.verdict import Report
from ratiba_action.verdict.tally import status_of


def record_of(report: Report) -> RunRecord:
    """The record of a run.

    Args:
        report: with its secrets and identifiers masked already.
    """
    subject = report.subject
    return RunRecord(
        repository=subject.repository,
        gate=report.name,
        commit=report.commit or subject.head,
        run_id=subject.run_id,
        run_attempt=subject.run_attempt,
        started_at=report.started_at,
        event=subject.event,
        branch=subject.branch,
        pull_request=subject.pull_request,
        suite_version=report.suite_digest,
        mode=report.decision.mode.value,
        conclusion=report.verdict.conclusion.value,
        answers=report.llm,
        judge_model=report.judge_model,
        spent_usd=report.spending.spent,
        seconds=report.seconds,
        trials=len(report.results),
        results=tuple(map(_result, report.results)),
        scores=tuple(_score(one, score, report.judge_model) for one in report.results for score in _scores(one)),
    )


def _scores(result: ScenarioResult) -> tuple[Score, ...]:
    return result.scores if isinstance(result, Scored) else ()


def _result(result: ScenarioResult) -> ResultRecord:
    return ResultRecord(result.trial.scenario.id, result.trial.number, status_of(result))


def _score(result: ScenarioResult, score: Score, judge_model: str) -> ScoreRecord:
    return ScoreRecord(
        scenario=result.trial.scenario.id,
        trial=result.trial.number,
        metric=score.metric,
        version=score.version,
        judge_model=judge_model if score.judged else "",
        score=score.value,
        threshold=score.threshold,
        status="passed" if score.passed else "failed",
    )
