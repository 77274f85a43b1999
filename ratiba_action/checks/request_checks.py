"""Deterministic assertions on what the system sends to models: ``must_send_to_model`` and ``must_not_send_to_model``.

A request is searched as it passes the gateway and is never kept: of one that has the text only its place is known.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ratiba_action.model.measurement import Check
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.scenario import FailureRule
from ratiba_action.privacy.plain_text import read_plainly
from ratiba_action.util.comparable import comparable, unicode_form
from ratiba_action.util.text import clip

MUST_SEND, MUST_NOT_SEND = "must_send_to_model", "must_not_send_to_model"
REQUEST_RULES = (MUST_SEND, MUST_NOT_SEND)

_ESCAPED = re.compile(r"\\+([\"/])")
_NAME = re.compile(r"[A-Za-z_][\w-]{0,60}")
_GROUPED = re.compile(r"(?<=\d)[\s().+/-]+(?=\d)")
_LONG_NUMBER = re.compile(r"\D*(?:\d[\s().+/-]*){7,}")
"""A phone, an account, a receipt: people and programs write its digits in groups. Shorter ones are taken as they are,
or two prices in a row would be a third number."""


@dataclass(frozen=True, slots=True, eq=False)
class _Sought:
    """A text that a rule looks for; equal to itself alone, since a rule may hold a list."""

    rule: FailureRule
    text: str
    spelled: str
    grouped: bool

    def is_in(self, text: str) -> bool:
        """Whether a text in one spelling has it."""
        return self.spelled in (_GROUPED.sub("", text) if self.grouped else text)


@dataclass(frozen=True, slots=True)
class _Hit:
    """The first request that has a text."""

    where: str
    turn: int
    stand_in: bool


class RequestSearch:
    """Looks for the texts of a scenario's rules in every request of one trial.

    Args:
        rules: of the scenario; those about requests are looked at.

    Attributes:
        turn: number of the turn that is going on, from 1; 0 before the first one.
    """

    def __init__(self, rules: Sequence[FailureRule]) -> None:
        self._sought = [_sought(rule, text) for rule in rules for text in _texts(rule)]
        self._hits: dict[_Sought, _Hit] = {}
        self._requests = 0
        self.turn = 0

    @property
    def requests(self) -> int:
        """How many requests were seen."""
        return self._requests

    @property
    def undecided(self) -> tuple[str, ...]:
        """Types of the rules that no request has decided so far, each once."""
        return tuple(dict.fromkeys(sought.rule.type for sought in self._sought if sought not in self._hits))

    def look(self, request: ModelRequest, *, stand_in: bool) -> None:
        """Look at a request, whatever is answered to it.

        Args:
            stand_in: recorded answers to other requests stood in before it.
        """
        self._requests += 1
        missing = [sought for sought in self._sought if sought not in self._hits]
        parts = [(place, text, _spelled(text)) for place, text in _parts(request.body)] if missing else []
        for sought in missing:
            found = next(((place, text) for place, text, spelled in parts if sought.is_in(spelled)), None)
            if found is not None:
                place = _inside(*found, sought)
                self._hits[sought] = _Hit(f"sent to {request.model} in {place}", self.turn, stand_in)

    def checks(self, *, whole: bool) -> tuple[Check, ...]:
        """What is decided without answers that stand in; every rule where the conversation is whole."""
        known = {sought: hit for sought, hit in self._hits.items() if not hit.stand_in}
        return tuple(self._check(sought, known.get(sought)) for sought in self._sought if whole or sought in known)

    def suspected(self, *, ended: bool) -> tuple[Check, ...]:
        """What fails with answers that stand in.

        Args:
            ended: the conversation came to its end with them.
        """
        late = [sought for sought in self._sought if sought not in self._hits or self._hits[sought].stand_in]
        decided = [sought for sought in late if sought in self._hits or ended]
        checks = [self._check(sought, self._hits.get(sought)) for sought in decided]
        return tuple(check for check in checks if not check.passed)

    def _check(self, sought: _Sought, hit: _Hit | None) -> Check:
        wanted = sought.rule.type == MUST_SEND
        when = f"turn {hit.turn}" if hit and hit.turn else "before the first turn"
        got = f"{when}: {hit.where}" if hit else f"in none of {self._requests} requests"
        return Check(
            "rule",
            hit.turn if hit and not wanted else 0,
            sought.rule.type,
            clip(f"{'some' if wanted else 'no'} request to a model with {sought.text!r}"),
            clip(got),
            passed=(hit is not None) == wanted,
            line=sought.rule.line,
        )


def _texts(rule: FailureRule) -> list[str]:
    if rule.type not in REQUEST_RULES:
        return []
    return [str(text) for text in (rule.value if isinstance(rule.value, list | tuple) else [rule.value])]


def _sought(rule: FailureRule, text: str) -> _Sought:
    spelled = _spelled(text)
    grouped = _LONG_NUMBER.fullmatch(spelled) is not None
    return _Sought(rule, text, _GROUPED.sub("", spelled) if grouped else spelled, grouped)


def _spelled(text: str) -> str:
    """A text in one spelling: as texts are compared, and without escapes of JSON and URLs."""
    return comparable(_ESCAPED.sub(r"\1", read_plainly(unicode_form(text)))).strip()


def _parts(value: object) -> Iterator[tuple[str, str]]:
    """Every text, number and name of a field in JSON, with its place; without recursion, whatever its depth."""
    waiting = [("", value)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Mapping):
            yield from ((place, str(name)) for name in value)
            waiting += reversed([(f"{place}.{_field_name(name)}", part) for name, part in value.items()])
        elif isinstance(value, list | tuple):
            waiting += reversed([(f"{place}[{index}]", part) for index, part in enumerate(value)])
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield place, str(value)


def _field_name(name: object) -> str:
    """The name of a field; one that is no plain name may be what nobody should read."""
    return name if isinstance(name, str) and _NAME.fullmatch(name) else "…"


def _inside(place: str, text: str, sought: _Sought) -> str:
    """The place of what is sought, also in JSON that stands in a text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict | list):
        for inner, part in _parts(value):
            if sought.is_in(_spelled(part)):
                return f"{place.lstrip('.')} → {_inside(inner, part, sought)}"
    return place.lstrip(".") or "the name of a field"
