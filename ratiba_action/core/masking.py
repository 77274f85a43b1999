"""Removes secrets, and what identifies a person, from everything that leaves the process."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import partial
from typing import Any
from urllib.parse import quote, quote_plus

from ratiba_action.core.identifiers import mask_identifiers
from ratiba_action.core.model.measurement import ScenarioResult
from ratiba_action.core.model.verdict import Report
from ratiba_action.core.numbers_of_persons import mask_number
from ratiba_action.core.redaction.name_table import NameTable

MASK = "***"
_SHORTEST = 4
_SHORTEST_INSIDE = 12
_DEEPEST = 100
_NAMES = frozenset({"arm", "data_set", "id", "scenario_id", "metric", "version", "models", "prompt_versions"})
"""Fields that name what was run: a commit may well be all digits."""


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text with each secret replaced by ``***``.

    A secret is also found as JSON writes it, as a URL writes it, in Base64, and line by line. Secrets of fewer than
    four characters are left alone: masking them would only tear holes into words.

    Args:
        text: what is to be published.
        secrets: values to hide; empty ones are ignored.
    """
    for spelling in _spellings(secrets):
        text = text.replace(spelling, MASK)
    return text


class Redactor:
    """Takes out of everything that leaves the process what must not: secrets, and what identifies a person.

    A run makes one, and all of its printing, writing and posting goes through it. Reports are kept and shown to more
    people than a customer talks to, and what a model says of a customer is not known beforehand (masking floor,
    ``seeds/000`` §4). It is applied before a text is rendered, since escaping splits words.

    Args:
        secrets: values to hide; a text may hold them anywhere.
        names: the identity table: full names of people whom a text may name.
    """

    def __init__(self, secrets: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._spellings = _spellings(self._secrets)
        self._names = NameTable(names)
        self._spoken = _Mask(partial(mask_identifiers, names=self._names), mask_number, _NAMES)

    def knowing(self, names: Iterable[str]) -> "Redactor":
        """The same for texts about these people."""
        return Redactor(self._secrets, names)

    def text(self, text: str) -> str:
        """The text without any secret or identifier."""
        return mask_identifiers(self._hide(text), self._names)

    def secretless(self, text: str) -> str:
        """The text without any secret; what identifies a person stays."""
        return self._hide(text)

    def value(self, value: Any, name: str = "") -> Any:
        """A JSON value, keys and all, without any secret or identifier, such as what a tool was given.

        Args:
            value: of JSON, however deep.
            name: of the field that holds it: it tells an amount from a person's number.
        """
        return _Mask(self.text, partial(mask_number, strict=True)).apply(value, name)

    def result(self, result: ScenarioResult) -> ScenarioResult:
        """The result with every text and number in it masked."""
        masked: ScenarioResult = self._spoken.apply(_Mask(self._hide).apply(result))
        return masked

    def report(self, report: Report) -> Report:
        """The report without secrets anywhere, and without identifiers in all that was said and measured."""
        hidden: Report = _Mask(self._hide).apply(report)
        spoken = {"results": hidden.results, "verdict": hidden.verdict, "notes": hidden.notes}
        return replace(hidden, **{name: self._spoken.apply(value) for name, value in spoken.items()})

    def _hide(self, text: str) -> str:
        for spelling in self._spellings:
            text = text.replace(spelling, MASK)
        return text


def _unchanged(_: str, number: float) -> float | str:
    return number


@dataclass(frozen=True, slots=True)
class _Mask:
    """Masks a value of the model, down to its texts and the numbers of its JSON.

    Args:
        text: masks a text.
        number: masks a number, given the name of the JSON field that holds it.
        skipped: names of dataclass fields that stay as they are.
    """

    text: Callable[[str], str]
    number: Callable[[str, float], float | str] = _unchanged
    skipped: frozenset[str] = frozenset()

    def apply(self, value: Any, name: str | None = None, depth: int = 0) -> Any:
        """The value, masked; ``name`` is that of its JSON field, None outside JSON. What lies too deep is its text."""
        if isinstance(value, str | int | float):
            return self._scalar(value, name)
        if depth > _DEEPEST:
            return self.text(_text_of(value))
        if is_dataclass(value) and not isinstance(value, type):
            names = [item.name for item in fields(value) if item.name not in self.skipped]
            return replace(value, **{each: self.apply(getattr(value, each), None, depth + 1) for each in names})
        if isinstance(value, Mapping):
            return self._mapping(value, depth + 1)
        if isinstance(value, (list, tuple, frozenset)):
            return type(value)(self.apply(item, name, depth + 1) for item in value)
        return value

    def _scalar(self, value: float | str, name: str | None) -> float | str:
        if isinstance(value, str):
            return value if isinstance(value, Enum) else self.text(value)
        return value if name is None else self.number(name, value)

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[Any, Any]:
        masked: dict[Any, Any] = {}
        for key, item in value.items():
            shown = plain = self.apply(key)
            number = 2
            while shown in masked:
                # Two numbers may look alike once they are masked; neither's value may be lost.
                shown, number = f"{plain} ({number})", number + 1
            masked[shown] = self.apply(item, str(key), depth)
        return masked


def _text_of(value: Any) -> str:
    try:
        return json.dumps(value, default=repr)
    except (RecursionError, ValueError, TypeError):
        return MASK


def _spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    found: set[str] = set()
    for secret in secrets:
        for value in (secret, secret.strip(), *secret.splitlines()):
            found |= {value, json.dumps(value)[1:-1], quote(value, safe="", errors="replace")}
            found |= {quote_plus(value, errors="replace"), b64encode(value.encode("utf-8", "replace")).decode("ascii")}
            found |= set(_inside_base64(value.encode("utf-8", "replace")))
    # The longest first: a secret that contains another must not leave its rest behind.
    return tuple(sorted((text for text in found if len(text) >= _SHORTEST), key=lambda text: (-len(text), text)))


def _inside_base64(value: bytes) -> Iterable[str]:
    """What Base64 shows of a value wherever it begins, such as of a password in a header of HTTP's Basic scheme."""
    for before in range(3):
        whole = b64encode(bytes(before) + value)[: (before + len(value)) // 3 * 4].decode("ascii")
        shown = whole[4:] if before else whole
        if len(shown) >= _SHORTEST_INSIDE:
            yield shown
