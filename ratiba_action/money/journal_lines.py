"""The lines of a run's journal: one JSON object each, what was done with one reservation."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from ratiba_action.model.conversation import KeptAnswer, Party, Reservation, Usage
from ratiba_action.model.values import Usd
from ratiba_action.money.money import is_exact_usd

FORMAT = 2
"""Of the journal; another one is refused."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The first line: which run the journal is of, and when it began, in nanoseconds of the epoch."""

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
    answer: KeptAnswer | None


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a call is unknown: its whole reservation is spent."""

    number: int


@dataclass(frozen=True, slots=True)
class Released:
    """A call was certainly not charged."""

    number: int


Line = Begun | Admitted | Reserved | Settled | Kept | Released


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
        case Kept(number):
            return {"event": "keep", "number": number}
        case Released(number):
            return {"event": "release", "number": number}


def _tokens(usage: Usage) -> list[int]:
    return [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens]


def decode(text: bytes) -> Line:
    """What a line says.

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
            return Kept(_number(fields))
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
        answer = KeptAnswer(_text(fields, "key"), body)
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
