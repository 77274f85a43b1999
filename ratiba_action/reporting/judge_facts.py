"""How far a run's judges can be trusted, in plain words that every form of the report shows."""

from collections.abc import Iterator

from ratiba_action.model.comparison import Agreement, CrossCheckStatus
from ratiba_action.model.measurement import NotRun, Score
from ratiba_action.model.verdict import CrossChecking, Report
from ratiba_action.reporting.money_facts import Fact, has_paid
from ratiba_action.reporting.wording import label, number, plural
from ratiba_action.verdict.agreement import interpret_kappa

_NAMED = 5


def judge_facts(report: Report) -> tuple[Fact, ...]:
    """Judges, cross-check, agreement and votes of a run that paid; empty for any other, and when nothing is judged."""
    judged = [(name, score) for name, score in _scores(report) if score.judged]
    if not has_paid(report) or not judged:
        return ()
    facts = [Fact("judge", report.judge_model)] if report.judge_model else []
    if report.cross_checking is not None:
        facts += _cross_check(report.cross_checking)
    return (*facts, _votes(judged))


def _cross_check(checking: CrossChecking) -> list[Fact]:
    if not checking.model:
        return [Fact("cross-check", f"off: {checking.off}" if checking.off else "off")]
    facts = [Fact("cross-check", f"{checking.model}, {_status(checking.status)}")]
    agreement = checking.agreement
    return [*facts, Fact("agreement", _agreement(agreement))] if agreement.pairs else facts


def _status(status: CrossCheckStatus) -> str:
    """What became of the cross-check."""
    cached = f", {status.cached} by a score from the cache" if status.cached else ""
    compared = f"{status.compared} of {status.sampled} compared{cached}"
    if status.stopped:
        return f"reduced from {status.share:.0%} to 0% because {_clause(status.stopped)}; {compared}"
    sampled = compared if status.sampled else "none fell into the sample"
    return f"{status.share:.0%} of the scores: {sampled}"


def _agreement(agreement: Agreement) -> str:
    """How many were compared, the share on one side of the threshold, both kappas with words (Landis and Koch 1977)."""
    kappas = f"kappa {_kappa(agreement.unweighted)}, quadratic {_kappa(agreement.quadratic)}"
    same = "" if agreement.same_side is None else f"{agreement.same_side:.0%} on the same side; "
    return f"n = {agreement.pairs}: {same}{kappas}"


def _kappa(value: float | None) -> str:
    word = interpret_kappa(value)
    return word if value is None else f"{value + 0:.2f} ({word})"


def _votes(judged: list[tuple[str, Score]]) -> Fact:
    voted = [(name, score) for name, score in judged if len(score.votes) > 1]
    if not voted:
        return Fact("votes", f"none of {plural(len(judged), 'judged score')} was measured again near its threshold")
    shown = [
        f"{name} {score.metric} {number(score.value)} ({', '.join(map(number, score.votes))})"
        for name, score in voted[:_NAMED]
    ]
    more = f"; and {len(voted) - _NAMED} more" if len(voted) > _NAMED else ""
    return Fact("votes", f"{len(voted)} of {plural(len(judged), 'judged score')}: {'; '.join(shown)}{more}")


def _scores(report: Report) -> Iterator[tuple[str, Score]]:
    for result in report.results:
        if not isinstance(result, NotRun):
            yield from ((label(result), score) for score in result.scores)


def _clause(sentence: str) -> str:
    """A sentence within another one: one sign at the end is enough."""
    return sentence.rstrip(" .")
