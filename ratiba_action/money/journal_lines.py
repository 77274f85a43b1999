"""The lines of a run's write-ahead journal, and the state that they add up to: money spent, answers paid for."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from ratiba_action.errors import LedgerError
from ratiba_action.model.answering_model import answering_model, spelled_otherwise
from ratiba_action.model.conversation import JournaledAnswer, ModelCall, Party, Reservation, SettledAnswer, Usage
from ratiba_action.model.values import Usd
from ratiba_action.money.pricing import is_exact_usd

FORMAT = 2
"""Of the write-ahead journal; another one is refused."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The first line: which run the write-ahead journal is of, and when it began, in nanoseconds of the epoch."""

    identity: str
    began: int


@dataclass(frozen=True, slots=True)
class Admitted:
    """A trial was let start: a resumed run lets it go on, whatever else it may still afford."""

    trial: str


@dataclass(frozen=True, slots=True)
class Reserved:
    """A call may have been made after this line."""

    reservation: Reservation


@dataclass(frozen=True, slots=True)
class Settled:
    """A call was answered and booked; the answer stands in the same line, so that both or neither survive."""

    number: int
    usage: Usage
    cost: Usd
    answer: JournaledAnswer | None


@dataclass(frozen=True, slots=True)
class UnknownOutcome:
    """What became of a call is unknown: its whole reservation is spent."""

    number: int


@dataclass(frozen=True, slots=True)
class Released:
    """A call was certainly not charged."""

    number: int


Line = Begun | Admitted | Reserved | Settled | UnknownOutcome | Released


def encode(line: Line) -> bytes:
    """One line with its end. It is plain ASCII, so that no text in an answer can end it early."""
    return json.dumps(_fields(line), separators=(",", ":")).encode("ascii") + b"\n"


def _fields(line: Line) -> dict[str, Any]:
    match line:
        case Begun(identity, began):
            return {"event": "begin", "format": FORMAT, "identity": identity, "began": began}
        case Admitted(trial):
            return {"event": "admit", "trial": trial}
        case Reserved(reservation):
            return {
                "event": "reserve",
                "number": reservation.number,
                "party": reservation.party.value,
                "scenario": reservation.scenario_id,
                "model": reservation.model,
                "upper": str(reservation.upper),
            }
        case Settled(number, usage, cost, answer):
            fields = {"event": "settle", "number": number, "cost": str(cost), "usage": _tokens(usage)}
            return fields if answer is None else {**fields, "key": answer.key, "body": dict(answer.body)}
        case UnknownOutcome(number):
            return {"event": "keep", "number": number}
        case Released(number):
            return {"event": "release", "number": number}


def _tokens(usage: Usage) -> list[int]:
    return [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens]


def decode(text: bytes) -> Line:
    """Parse one line.

    Raises:
        ValueError: it is malformed; says how.
    """
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(fields, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - one exception for all that is malformed
    match fields.get("event"):
        case "begin":
            if fields.get("format") != FORMAT:
                raise ValueError(f"its format is {fields.get('format')!r}, not {FORMAT}")
            _only(fields, "event", "format", "identity", "began")
            return Begun(_text(fields, "identity"), _number(fields, "began"))
        case "admit":
            _only(fields, "event", "trial")
            return Admitted(_text(fields, "trial"))
        case "reserve":
            return _reserved(fields)
        case "settle":
            return _settled(fields)
        case "keep":
            _only(fields, "event", "number")
            return UnknownOutcome(_number(fields))
        case "release":
            _only(fields, "event", "number")
            return Released(_number(fields))
        case other:
            raise ValueError(f"its event is {other!r}")


def _reserved(fields: Mapping[str, Any]) -> Reserved:
    _only(fields, "event", "number", "party", "scenario", "model", "upper")
    try:
        party = Party(_text(fields, "party"))
    except ValueError:
        raise ValueError(f"its party is {fields.get('party')!r}") from None
    return Reserved(
        Reservation(_number(fields), party, _text(fields, "scenario"), _text(fields, "model"), _amount(fields, "upper"))
    )


def _settled(fields: Mapping[str, Any]) -> Settled:
    answer = None
    if "key" in fields or "body" in fields:
        body = fields.get("body")
        if not isinstance(body, dict):
            raise ValueError("its body is no object")
        answer = JournaledAnswer(_text(fields, "key"), body)
    _only(fields, "event", "number", "cost", "usage", "key", "body")
    tokens = fields.get("usage")
    counts = tokens if isinstance(tokens, list) and len(tokens) == len(_tokens(Usage())) else [None]
    if not all(type(count) is int and count >= 0 for count in counts):
        raise ValueError(f"its usage is {tokens!r}")
    return Settled(_number(fields), Usage(*counts), _amount(fields, "cost"), answer)


def _only(fields: Mapping[str, Any], *known: str) -> None:
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise ValueError(f"it has {unknown[0]!r}, which is not known")


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise ValueError(f"its {name} is {value!r}")  # noqa: TRY004 - as above
    return value


def _number(fields: Mapping[str, Any], name: str = "number") -> int:
    value = fields.get(name)
    if type(value) is not int or value < 1:
        raise ValueError(f"its {name} is {value!r}")
    return value


def _amount(fields: Mapping[str, Any], name: str) -> Usd:
    text = _text(fields, name)
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"its {name} is {text!r}") from None
    if not is_exact_usd(amount):
        raise ValueError(f"its {name} is {text!r}")
    return amount


_SHOWN = 20


@dataclass(frozen=True, slots=True)
class JournalState:
    """Spending and paid answers of a run so far.

    Args:
        identity: digest of what must be equal for the run to go on.
        began: when its first process began, in nanoseconds of the epoch.
        calls: every call that may have been charged: settled, kept, and those without an outcome in the
            write-ahead journal, at their upper bound.
        answers: by ``JournaledAnswer.key``; the last one where a key was called again.
        admitted: trials that were let start.
        overruns: reservations that were settled above their upper bound, and at what.
    """

    identity: str
    began: int
    calls: tuple[ModelCall, ...] = ()
    open: tuple[Reservation, ...] = ()
    answers: Mapping[str, SettledAnswer] = field(default_factory=dict)
    last_number: int = 0
    admitted: frozenset[str] = frozenset()
    overruns: tuple[tuple[Reservation, Usd], ...] = ()

    @property
    def total(self) -> Usd:
        """The most that the run can have been charged."""
        return sum((call.cost for call in self.calls), Decimal(0))


def whole_lines(content: bytes) -> bytes:
    """A write-ahead journal up to its last whole line: what follows was being written when the process died."""
    return content[: content.rfind(b"\n") + 1]


def parse_journal(path: Path, content: bytes) -> JournalState:
    """Read a write-ahead journal, except for a torn last line.

    Raises:
        LedgerError: any other line is malformed; names each.
    """
    reading = _JournalState()
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
            f"The run's write-ahead journal cannot be read: {listed}{f'; and {more} more' if more > 0 else ''}.",
            "Run without --resume; what was spent before is then not counted.",
        )
    return reading.state(reading.begun)


class _JournalState:
    """Folds lines into the state of the write-ahead journal."""

    def __init__(self) -> None:
        self.begun: Begun | None = None
        self.problems: list[str] = []
        self._open: dict[int, Reservation] = {}
        self._calls: list[ModelCall] = []
        self._answers: dict[str, SettledAnswer] = {}
        self._last = 0
        self._admitted: set[str] = set()
        self._overruns: list[tuple[Reservation, Usd]] = []

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
                reservation = self._close(number)
                if reservation.upper and cost > reservation.upper:  # nothing is reserved for what is spent already
                    self._overruns.append((reservation, cost))
                answered_by = "" if answer is None else answering_model(answer.body)
                self._calls.append(_call(reservation, usage, cost, spelled_otherwise(reservation.model, answered_by)))
                if answer is not None:
                    self._answers[answer.key] = SettledAnswer(answer.body, usage)
            case UnknownOutcome(number):
                reservation = self._close(number)
                self._calls.append(_call(reservation, Usage(), reservation.upper))
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

    def state(self, begun: Begun) -> JournalState:
        unknown = tuple(self._open.values())
        calls: Iterable[ModelCall] = (
            *self._calls,
            *(_call(reservation, Usage(), reservation.upper) for reservation in unknown),
        )
        admitted = frozenset(self._admitted)
        return JournalState(
            begun.identity,
            begun.began,
            tuple(calls),
            unknown,
            self._answers,
            self._last,
            admitted,
            tuple(self._overruns),
        )


def _call(reservation: Reservation, usage: Usage, cost: Usd, answered_by: str = "") -> ModelCall:
    party, scenario_id, model = reservation.party, reservation.scenario_id, reservation.model
    return ModelCall(party, scenario_id, model, usage, cost, cost, replayed=False, answered_by=answered_by)
