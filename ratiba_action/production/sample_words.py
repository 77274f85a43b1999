"""What came of a look at production, for people and as JSON."""

from collections.abc import Iterator
from typing import Any

from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.sample import Sample

SCHEMA = 1
_SHOWN = 20


def sample_json(looked: Sample, redactor: Redactor) -> dict[str, Any]:
    """The whole of it; texts are masked."""
    feedback, below = looked.feedback, [one for one in looked.scored if not one.passed]
    return {
        "schema": SCHEMA,
        "since": looked.since.isoformat(),
        "until": looked.until.isoformat(),
        "next_since": looked.next_since.isoformat(),
        "complete": looked.complete,
        "conversations": looked.traces,
        "chosen": dict(looked.chosen),
        "measured_before": looked.known,
        "measured": len(looked.scored),
        "below_a_threshold": [_below(one.trial.scenario.id, one, redactor) for one in below],
        "not_looked_at": [{"trace": name, "reason": redactor.text(why)} for name, why in looked.left],
        "blocked": [{"trace": name, "reason": redactor.text(why)} for name, why in looked.blocked.items()],
        "without_text": list(looked.empty),
        "without_metric": list(looked.unmeasured),
        "scores_not_written": redactor.text(looked.unsent),
        "feedback": {
            "positive": feedback.positive,
            "negative": feedback.negative,
            "other": feedback.other,
            "negative_share": feedback.negative_share,
        },
        "spent_usd": str(looked.spent),
        "budget_usd": str(looked.budget),
        "notes": [redactor.text(note) for note in looked.notes],
    }


def _below(trace: str, result: Any, redactor: Redactor) -> dict[str, Any]:
    scores = [one for one in result.scores if not one.passed]
    told = [
        {"metric": one.metric, "score": one.value, "threshold": one.threshold, "reason": redactor.text(one.reason)}
        for one in scores
    ]
    return {"trace": trace, "scores": told}


def sample_lines(looked: Sample, redactor: Redactor) -> Iterator[str]:
    """The same in lines, the longest lists cut."""
    told = sample_json(looked, redactor)
    chosen = ", ".join(f"{count} for {reason}" for reason, count in looked.chosen.items()) or "none"
    yield f"Production from {told['since']} to {told['until']}: {looked.traces} conversations began, chosen: {chosen}."
    share = looked.feedback.negative_share
    if share is not None:
        total = looked.feedback.positive + looked.feedback.negative
        yield f"Feedback: {looked.feedback.negative} of {total} negative ({share:.0%})."
    before = f", {looked.known} had been before" if looked.known else ""
    yield f"Measured: {told['measured']}{before}. Below a threshold: {len(told['below_a_threshold'])}."
    for one in told["below_a_threshold"][:_SHOWN]:
        scores = ", ".join(f"{each['metric']} {each['score']:.2f} < {each['threshold']:.2f}" for each in one["scores"])
        yield f"  {one['trace']}: {scores}"
    if looked.left:
        yield f"Not looked at: {len(looked.left)}; the next run begins with them."
        yield from (f"  {one['trace']}: {one['reason']}" for one in told["not_looked_at"][:_SHOWN])
    if looked.blocked:
        yield f"Blocked, since what has to be masked is not known: {len(looked.blocked)}."
        yield from dict.fromkeys(f"  {one['reason']}" for one in told["blocked"])
    if looked.empty:
        yield f"Without any text that can be read: {len(looked.empty)}."
    if looked.unmeasured:
        yield f"Without a metric that could measure them: {len(looked.unmeasured)}."
    if looked.unsent:
        yield f"Scores were not all written back: {told['scores_not_written']}. The next run writes them."
    yield f"Spent {looked.spent} of {looked.budget} US dollars."
    yield from (f"Note: {note}" for note in told["notes"])
