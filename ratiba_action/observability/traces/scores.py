"""What was measured of a conversation, as scores of its trace."""

from collections.abc import Iterator, Sequence

from ratiba_action.model.event import ConversationEnded, LoggedEvent, ScoreLogged
from ratiba_action.observability.traces.model import TraceScore, score_id
from ratiba_action.util.text import clip

PASSED = "ratiba_passed"
"""Name of the score that says whether a conversation passed."""

_COMMENT = 1000


def scores_of(trace_id: str, events: Sequence[LoggedEvent]) -> Iterator[TraceScore]:
    """A score per metric and turn, and one that says whether the conversation passed.

    A conversation that was run again has those of its last attempt only: the ids are the same.
    """
    latest: dict[str, TraceScore] = {}
    for logged in events:
        data, turn = logged.event.data, logged.event.place.turn
        if isinstance(data, ScoreLogged):
            score = _metric(trace_id, data, logged, f"{data.metric}\n{'' if turn is None else turn}")
            latest[score.score_id] = score
        elif isinstance(data, ConversationEnded) and data.passed is not None:
            score = TraceScore(
                score_id=score_id(trace_id, PASSED),
                trace_id=trace_id,
                name=PASSED,
                value=float(data.passed),
                kind="BOOLEAN",
                at=logged.at,
                comment=clip(data.reason, _COMMENT),
            )
            latest[score.score_id] = score
    yield from latest.values()


def _metric(trace_id: str, data: ScoreLogged, logged: LoggedEvent, key: str) -> TraceScore:
    turn = logged.event.place.turn
    return TraceScore(
        score_id=score_id(trace_id, key),
        trace_id=trace_id,
        name=data.metric,
        value=data.score,
        kind="NUMERIC",
        at=logged.at,
        comment=clip(data.reason, _COMMENT),
        metadata={
            "version": data.version,
            "threshold": f"{data.threshold:g}",
            "passed": str(data.passed).lower(),
            "judged": str(data.judged).lower(),
            "cached": str(data.cached).lower(),
            **({"turn": str(turn)} if turn is not None else {}),
        },
    )
