"""Turns the nouns of ``model`` into JSON and back, by their type hints."""

import marshal
import math
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from typing import Any, Protocol, Union, get_args, get_origin, get_type_hints

from ratiba_action.model.measurement import Check, Errored, NotRun, Scored, evaluation_failures
from ratiba_action.model.plan import Arm
from ratiba_action.model.renamed_keys import FORMER
from ratiba_action.model.scenario import Scenario, Turn

OUTCOMES: Mapping[type, str] = types.MappingProxyType({Scored: "scored", Errored: "errored", NotRun: "not_run"})
"""The types that appear side by side in one list, and the value of ``outcome`` that distinguishes them."""


_AMOUNT = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_LARGEST = 1e15  # no figure of a run is; infinity is not either
"""Whoever wrote the file may have wished for a number that takes a gigabyte to print."""


_AS_THEY_ARE = frozenset({str, int, bool, type(None)})


@cache
def field_names(kind: Any) -> tuple[str, ...]:
    """The names of a dataclass's fields; empty for any other type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


class CodecError(ValueError):
    """A value does not have the shape of its type; says where and what was found."""


def encode(value: Any) -> Any:
    """Plain JSON values: amounts as decimal strings, times as ISO 8601, sets sorted, no NaN (null instead)."""
    kind: Any = type(value)
    return value if kind in _AS_THEY_ARE else _writer_of(kind)(value)


@cache
def _writer_of(kind: Any) -> Callable[[Any], Any]:
    """What encodes a value of a type, which is looked at once: a report has hundreds of values per scenario."""
    names = field_names(kind)
    if names:
        if kind in OUTCOMES:
            return lambda value: encode_tag(value) | {name: encode(getattr(value, name)) for name in names}
        return lambda value: {name: encode(getattr(value, name)) for name in names}
    if issubclass(kind, (list, tuple)):
        return lambda value: [encode(item) for item in value]
    if issubclass(kind, Mapping):
        return lambda value: {str(key): encode(item) for key, item in value.items()}
    if issubclass(kind, (set, frozenset)):
        return lambda value: sorted(encode(item) for item in value)
    return _encode_atom


def encode_tag(value: Any) -> dict[str, Any]:
    """What distinguishes the outcomes of a trial, and flags those in which something that was evaluated failed."""
    if not isinstance(value, Scored | Errored | NotRun):
        return {}
    return {"outcome": OUTCOMES[type(value)], "eval_fail": any(True for _ in evaluation_failures(value))}


def _encode_atom(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, type(None))) else str(value)


class Demands(Protocol):
    """What else is asked of a value than its type; each raises ``CodecError``."""

    def value(self, value: Any, path: str) -> None:
        """Look at a plain value, or at a list or mapping before its items."""
        ...

    def anything(self, value: Any, path: str) -> None:
        """Look at JSON of any shape."""
        ...

    def record(self, found: Mapping[str, Any], made: Any, path: str) -> None:
        """Look at a dataclass and the JSON object that it was made of."""
        ...


class RepeatedRecords:
    """Scenarios, and what else runs of one suite repeat in full, that was decoded before."""

    def __init__(self) -> None:
        self._made: dict[tuple[type, bytes], Any] = {}

    def once(self, hint: type, value: Any, make: Callable[[], Any]) -> Any:
        """The record of a value; made where it is the first of its kind."""
        key = (hint, marshal.dumps(value, _WITHOUT_REFERENCES))
        if key not in self._made:
            if len(self._made) >= _MAX_REPEATED:
                self._made.clear()
            self._made[key] = make()
        return self._made[key]


_REPEATED = frozenset({Arm, Check, Scenario, Turn})
_MAX_REPEATED = 5_000
_WITHOUT_REFERENCES = 2
"""Version of marshal's format in which equal values have equal bytes."""


def decode(
    hint: Any,
    value: Any,
    path: str = "$",
    demands: Demands | None = None,
    repeated: RepeatedRecords | None = None,
) -> Any:
    """The inverse of ``encode`` for a type hint.

    Args:
        hint: a type of ``model`` or one of its fields' hints.
        value: decoded JSON.
        path: path of the value, for messages.
        demands: what else is asked of every value; None for nothing.
        repeated: of values that were decoded before, where nothing else is asked; None to decode each one.

    Raises:
        CodecError: the value does not fit the hint.
    """
    return _Decoder(demands, repeated).decode(hint, value, path)


@cache
def _fields_of(kind: type) -> tuple["_Field", ...]:
    hints = get_type_hints(kind)
    return tuple(
        (
            field.name,
            _reader_of(hints[field.name]),
            _plain_types(hints[field.name]),
            _collection(hints[field.name]),
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(kind)
    )


def _plain_types(hint: Any) -> frozenset[type]:
    """Types of decoded JSON that are a value of the hint as they are."""
    if get_origin(hint) in (Union, types.UnionType):
        arguments = get_args(hint)
        inner = next(each for each in arguments if each is not type(None))
        return _plain_types(inner) | ({type(None)} if type(None) in arguments else frozenset())
    return frozenset({hint}) if hint in _AS_THEY_ARE or hint is float else frozenset()


def _collection(hint: Any) -> tuple[type, type] | None:
    """For a hint of many values, the type that JSON has for it, and the type of the value; None for any other."""
    origin = get_origin(hint)
    if origin is tuple or origin is frozenset:
        return list, origin
    return (dict, dict) if isinstance(origin, type) and issubclass(origin, Mapping) else None


class _Decoder:
    def __init__(self, demands: Demands | None, repeated: RepeatedRecords | None) -> None:
        self._demands = demands
        self._repeated = repeated if demands is None else None

    def decode(self, hint: Any, value: Any, path: str) -> Any:
        return _reader_of(hint)(self, value, path)

    def anything(self, value: Any, path: str) -> Any:
        if self._demands is not None:
            self._demands.anything(value, path)
        return value

    def plain(self, hint: Any, value: Any, path: str) -> Any:
        plain = _decode_plain(hint, value, path)
        if self._demands is not None:
            self._demands.value(plain, path)
        return plain

    def outcome(self, hints: tuple[Any, ...], value: Any, path: str) -> Any:
        outcome = self.expect(dict, value, path).get("outcome")
        for hint in hints:
            if OUTCOMES[hint] == outcome:
                return self.decode(hint, value, path)
        raise CodecError(f"{path}.outcome is {outcome!r:.80}, and must be one of {', '.join(OUTCOMES.values())}.")

    def record(self, hint: Any, value: Any, path: str) -> Any:
        if self._repeated is None or hint not in _REPEATED:
            return self._record(hint, value, path)
        return self._repeated.once(hint, value, lambda: self._record(hint, value, path))

    def _record(self, hint: Any, value: Any, path: str) -> Any:
        found = self.expect(dict, value, path)
        values: dict[str, Any] = {}
        undemanding = self._demands is None
        for name, read, plain, collection, required in _fields_of(hint):
            value = found.get(name, MISSING)
            # Most values are plain or empty; a path is made for the others alone.
            if undemanding and type(value) in plain and (type(value) is not float or abs(value) < _LARGEST):
                values[name] = value
            elif undemanding and collection and not value and type(value) is collection[0]:
                values[name] = collection[1]()
            elif value is not MISSING:
                values[name] = read(self, value, f"{path}.{name}")
            elif (former := FORMER.get(name)) in found:
                values[name] = read(self, found[former], f"{path}.{former}")
            elif required:
                raise CodecError(f"{path}.{name} is missing.")
        try:
            made = hint(**values)
        except ValueError as error:
            raise CodecError(f"{path} is not possible: {error}.") from error
        if self._demands is not None:
            self._demands.record(found, made, path)
        return made

    def expect(self, kind: type, value: Any, path: str) -> Any:
        if not isinstance(value, kind):
            raise CodecError(f"{path} is {value!r:.80}, and must be a {'list' if kind is list else 'JSON object'}.")
        if self._demands is not None:
            self._demands.value(value, path)
        return value


_Reader = Callable[[_Decoder, Any, str], Any]
_Field = tuple[str, _Reader, frozenset[type], tuple[type, type] | None, bool]
"""Name, what reads it, types that need no reading, ``_collection``, and whether it is required."""


@cache
def _reader_of(hint: Any) -> _Reader:
    """What reads a value of a type. A report has hundreds of values per scenario, and their types are looked at once.

    The fields of a dataclass are looked at when one is read, so that a type may hold itself.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return _Decoder.anything
    if origin in (Union, types.UnionType):
        return _union_reader(arguments)
    if origin is tuple or origin is frozenset:
        item = _reader_of(arguments[0])
        return lambda decoder, value, path: origin(
            [item(decoder, each, f"{path}[{index}]") for index, each in enumerate(decoder.expect(list, value, path))]
        )
    if origin is not None and issubclass(origin, Mapping):
        entry = _reader_of(arguments[1])
        return lambda decoder, value, path: {
            key: entry(decoder, each, f"{path}.{key}") for key, each in decoder.expect(dict, value, path).items()
        }
    if field_names(hint):
        return lambda decoder, value, path: decoder.record(hint, value, path)
    return lambda decoder, value, path: decoder.plain(hint, value, path)


def _union_reader(hints: tuple[Any, ...]) -> _Reader:
    optional = type(None) in hints
    if any(hint in OUTCOMES for hint in hints):
        inner: _Reader = lambda decoder, value, path: decoder.outcome(hints, value, path)  # noqa: E731
    else:
        inner = _reader_of(next(hint for hint in hints if hint is not type(None)))
    return lambda decoder, value, path: None if value is None and optional else inner(decoder, value, path)


def _decode_plain(hint: Any, value: Any, path: str) -> Any:
    if type(value) is hint and hint in _AS_THEY_ARE:
        return value
    if hint is float and value is None:
        return math.nan
    if hint is float and type(value) in (int, float) and abs(value) < _LARGEST:
        return float(value)
    if hint is Decimal and not _AMOUNT.fullmatch(str(value)):
        raise CodecError(f"{path} is {value!r:.80}, and must be an amount such as '1.25'.")
    if isinstance(value, str) and (hint in (Decimal, date, datetime) or issubclass(hint, Enum)):
        try:
            return hint.fromisoformat(value) if hint in (date, datetime) else hint(value)
        except (ValueError, InvalidOperation):
            pass
    raise CodecError(f"{path} is {value!r:.80}, and must be a value of type {hint.__name__}.")
