"""What a run's journal says when it is read: what was spent, and which answers are paid for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from ratiba_action.errors import LedgerError
from ratiba_action.model.conversation import ModelCall, Reservation, SettledAnswer, Usage
from ratiba_action.model.values import Usd
from ratiba_action.money.journal_lines import Admitted, Begun, Kept, Line, Released, Reserved, Settled, decode

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Books:
    """The money and the answers of a run so far.

    Args:
        identity: digest of what must be equal for the run to go on.
        began: when its first process began, in nanoseconds of the epoch.
        calls: every call that may have been charged: settled, kept, and those whose outcome the journal does not
            hold, at their upper bound.
        open: reservations of the latter.
        answers: by ``KeptAnswer.key``; the last one where a key was asked again.
        last_number: of all reservations.
        admitted: trials that were let start.
    """

    identity: str
    began: int
    calls: tuple[ModelCall, ...] = ()
    open: tuple[Reservation, ...] = ()
    answers: Mapping[str, SettledAnswer] = field(default_factory=dict)
    last_number: int = 0
    admitted: frozenset[str] = frozenset()

    @property
    def total(self) -> Usd:
        """The most that the run can have been charged."""
        return sum((call.cost for call in self.calls), Decimal(0))


def whole_lines(content: bytes) -> bytes:
    """A journal's content up to its last whole line: what follows was being written when the process died."""
    return content[: content.rfind(b"\n") + 1]


def read_books(path: Path, content: bytes) -> Books:
    """Read a journal, except for a torn last line.

    Args:
        path: for messages.
        content: the file.

    Raises:
        LedgerError: any other line is malformed; names each.
    """
    reading = _Reading()
    for number, text in enumerate(whole_lines(content).split(b"\n")[:-1], 1):
        try:
            reading.take(decode(text))
        except ValueError as problem:
            reading.problems.append(f"{path}:{number}: {problem}")
    if reading.begun is None and not reading.problems:
        reading.problems.append(f"{path}:1: the line that names the run is not there")
    if reading.begun is None or reading.problems:
        listed = "; ".join(reading.problems[:_SHOWN])
        more = len(reading.problems) - _SHOWN
        raise LedgerError(
            f"The run's journal cannot be read: {listed}{f'; and {more} more' if more > 0 else ''}.",
            "Run without --resume; what was spent before is then not counted.",
        )
    return reading.books(reading.begun)


class _Reading:
    """Folds lines into books."""

    def __init__(self) -> None:
        self.begun: Begun | None = None
        self.problems: list[str] = []
        self._open: dict[int, Reservation] = {}
        self._calls: list[ModelCall] = []
        self._answers: dict[str, SettledAnswer] = {}
        self._last = 0
        self._admitted: set[str] = set()

    def take(self, line: Line) -> None:
        if isinstance(line, Begun) != (self.begun is None):
            raise ValueError("the line that names the run must be the first and the only one")
        match line:
            case Begun():
                self.begun = line
            case Admitted(trial):
                self._admitted.add(trial)
            case Reserved(reservation):
                self._reserve(reservation)
            case Settled(number, usage, cost, answer):
                self._calls.append(_call(self._close(number), usage, cost))
                if answer is not None:
                    self._answers[answer.key] = SettledAnswer(answer.body, usage)
            case Kept(number):
                kept = self._close(number)
                self._calls.append(_call(kept, Usage(), kept.upper))
            case Released(number):
                self._close(number)

    def _reserve(self, reservation: Reservation) -> None:
        if reservation.number <= self._last:
            raise ValueError(f"reservation {reservation.number} comes after {self._last}")
        self._last = reservation.number
        self._open[reservation.number] = reservation

    def _close(self, number: int) -> Reservation:
        if number not in self._open:
            raise ValueError(f"reservation {number} is not open")
        return self._open.pop(number)

    def books(self, begun: Begun) -> Books:
        unknown = tuple(self._open.values())
        calls: Iterable[ModelCall] = (*self._calls, *(_call(one, Usage(), one.upper) for one in unknown))
        admitted = frozenset(self._admitted)
        return Books(begun.identity, begun.began, tuple(calls), unknown, self._answers, self._last, admitted)


def _call(reservation: Reservation, usage: Usage, cost: Usd) -> ModelCall:
    return ModelCall(reservation.party, reservation.scenario_id, reservation.model, usage, cost, cost, replayed=False)
