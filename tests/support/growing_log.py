"""An ``events.jsonl`` that a run writes while it is read."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from ratiba_action.model.event import (
    BudgetAction,
    BudgetMoved,
    ConversationEnded,
    ConversationStarted,
    EvaluationFailed,
    Event,
    Happening,
    LoggedEvent,
    Place,
    RunEnded,
    RunStarted,
    TurnEnded,
)
from ratiba_action.observability.event_lines import event_line

NOWHERE = Place()
BEGAN = datetime(2026, 11, 29, 8, 0, tzinfo=UTC)


class GrowingLog:
    """One run after the other in the log of a report directory, each in a file of its own as the gate makes it.

    Args:
        report: the report directory.
    """

    def __init__(self, report: Path) -> None:
        self.path = report / "events.jsonl"
        self._runs = 0
        self._sequence = 0

    def begin(self, scenarios: int = 2) -> None:
        """Begin a run: the log of the one before goes."""
        self._runs += 1
        self._sequence = 0
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        self.add(RunStarted("ratiba", "blocking", "0f" * 20, llm="replay", scenarios=scenarios))

    def add(self, data: Happening, place: Place = NOWHERE) -> LoggedEvent:
        """Write one event down."""
        self._sequence += 1
        at = BEGAN + timedelta(hours=self._runs, seconds=self._sequence)
        logged = LoggedEvent(f"run-{self._runs}", self._sequence, at, Event(data, place))
        with self.path.open("a") as file:
            file.write(f"{event_line(logged)}\n")
        return logged

    @contextmanager
    def conversation(self, scenario: str, *, passed: bool = True, arm: str = "head", trial: int = 0) -> Iterator[Place]:
        """A conversation that ends with the context."""
        place = Place(arm, scenario, trial)
        self.add(ConversationStarted("c" * 32, "t"), place)
        yield place
        if not passed:
            self.add(EvaluationFailed("check", "state after the turn", "BOOKED", "ASKING"), place)
        self.add(ConversationEnded("scored", passed, seconds=1.25), place)

    def say(self, place: Place, user: str, reply: str) -> None:
        """A turn of a conversation."""
        self.add(TurnEnded(reply, 0.5, user), place)

    def spend(self, usd: str) -> None:
        """What was spent in all, of USD 5."""
        amount = Decimal(usd)
        self.add(BudgetMoved(BudgetAction.SETTLED, "system", "m", amount, amount, Decimal(0), Decimal(5)))

    def end(self, conclusion: str = "passed", reason: str = "All scenarios passed.") -> None:
        """End the run with its verdict."""
        self.add(RunEnded(conclusion, reason, Decimal("0.25"), Decimal(5)))
