"""Events of a run that never was: conversations with turns, tools, calls and scores; the same whenever made."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from ratiba_action.model.conversation import Usage
from ratiba_action.model.event import (
    ConversationEnded,
    ConversationStarted,
    Event,
    Happening,
    JudgeCalled,
    LoggedEvent,
    ModelCalled,
    Place,
    RunEnded,
    RunStarted,
    ScoreLogged,
    StateTransition,
    ToolCalled,
    TurnEnded,
    conversation_id,
)

RUN = "2026-11-22-a1b2c3"
BEGAN = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)
STARTED = RunStarted(
    gate="ratiba",
    mode="blocking",
    commit="0f" * 20,
    repository="ratiba/assistant",
    pull_request=7,
    judge="judge-1",
    prompt_versions=("booking@1a2b3c4",),
)

SPANS_EACH = 7
"""Spans of each conversation: the root, a turn and what happened in it, and a judge call."""

SCORES_EACH = 2
"""Scores of each conversation: its metric's, and whether it passed."""


def logged_run(conversations: int = 2, run: str = RUN, *, passed: bool = True) -> tuple[LoggedEvent, ...]:
    """The events of a whole run, a second apart.

    Args:
        conversations: how many were held.
        run: its id.
        passed: whether their metric reached its threshold.
    """
    happened = [(STARTED, Place()), *_held(conversations, run, passed=passed)]
    ended = RunEnded("passed", "everything passed", Decimal("0.02"), Decimal(20))
    return logged([*happened, (ended, Place())], run)


def logged(happened: list[tuple[Happening, Place]], run: str = RUN) -> tuple[LoggedEvent, ...]:
    """Things that happened one second after the other, as they stand in the log."""
    return tuple(
        LoggedEvent(run, number, BEGAN + timedelta(seconds=number), Event(data, place))
        for number, (data, place) in enumerate(happened, 1)
    )


def _held(conversations: int, run: str, *, passed: bool) -> Iterator[tuple[Happening, Place]]:
    for number in range(conversations):
        place = Place("head", f"spa_booking_{number}", 0)
        turn = Place("head", f"spa_booking_{number}", 0, turn=1)
        begun = ConversationStarted(
            conversation_id=conversation_id(run, place),
            tenant_id=f"tenant-{number}",
            prompt_versions=("booking@1a2b3c4",),
            layer="golden",
            system_type="chatbot",
            tags=("smoke",),
        )
        yield begun, place
        yield ModelCalled("system", "model-1", Usage(120, 30, 8), Decimal("0.0125")), turn
        yield ToolCalled("check_availability", "ab" * 32), turn
        yield StateTransition(None, "CONFIRMING_SLOT"), turn
        yield StateTransition("CONFIRMING_SLOT", "BOOKED"), turn
        yield TurnEnded("Nimekuhifadhia saa nane.", 0.5, user="Habari, naomba kuhifadhi"), turn
        yield (
            JudgeCalled("SwahiliFluencyMetric", "1", "judge-1", usage=Usage(300, 20), cost_usd=Decimal("0.004")),
            place,
        )
        score = 0.9 if passed else 0.4
        yield ScoreLogged("SwahiliFluencyMetric", "1", score, 0.8, passed, judged=True, reason="fluent"), place
        yield ConversationEnded("scored", passed=passed, seconds=3.5), place
