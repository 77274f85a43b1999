"""Takes secrets, and what identifies a person, out of an event before it is written down."""

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from functools import lru_cache
from typing import Any

from ratiba_action.model.codec import field_names
from ratiba_action.model.event import Event, Place
from ratiba_action.privacy.masking import Redactor
from ratiba_action.privacy.own_names import is_own_name, is_own_tag

_DIGEST = re.compile(r"(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})(?:-dirty)?")
"""Ids, commits and checksums: some have ten digits in a row, and none is anybody's number."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OWN_FIELDS = frozenset(
    {
        *("gate", "commit", "base", "anchor", "repository", "workflow_run", "suite", "judge", "metric", "version"),
        *("model", "answered_by", "provider", "prompt_versions", "prompt_blobs", "stable", "canary", "role"),
    }
)
"""Fields that the gate fills with names and ids of its own."""
_RECEIPT = "receipt "
_AS_THEY_ARE = frozenset({int, float, bool, type(None)})
_REMEMBERED = 1_024


class EventMask:
    """Masks the events of one run.

    Names of the arm, the scenario and the variant stay, but for secrets: they name what was run.

    Args:
        redactors: by the scenario whose people they know; the secrets of all are the same.
        other: of events that are of none of these.
    """

    def __init__(self, redactors: Mapping[str, Redactor], other: Redactor) -> None:
        self._redactors = redactors
        self._other = other
        # Names of scenarios, metrics, tools and states come again with every event.
        self._text = lru_cache(maxsize=_REMEMBERED)(_text)
        self._secretless = lru_cache(maxsize=_REMEMBERED)(other.secretless)
        self._own_name = lru_cache(maxsize=_REMEMBERED)(self._secretless_own_name)

    def event(self, event: Event) -> Event:
        """The event without any secret or identifier."""
        redactor = self._redactors.get(event.place.scenario or "", self._other)
        place = event.place
        arm, scenario, variant = (
            None if name is None else self._secretless(name) for name in (place.arm, place.scenario, place.variant)
        )
        return Event(self._masked(event.data, redactor), Place(arm, scenario, place.trial, variant, place.turn))

    def _masked(self, value: Any, redactor: Redactor, field: str = "") -> Any:
        if isinstance(value, str):
            if isinstance(value, Enum):
                return value
            shown = self._own_name(value) if field in _OWN_FIELDS else None
            shown = self._text(value, redactor, field) if shown is None else shown
            return value if shown == value else shown  # the same object, so that its record needs no copy
        kind: Any = type(value)
        if kind in _AS_THEY_ARE:
            return value
        if isinstance(value, tuple):
            return tuple([self._masked(item, redactor, field) for item in value])
        masked: dict[str, Any] = {}
        for name in field_names(kind):
            plain = getattr(value, name)
            shown = self._masked(plain, redactor, name)
            if shown is not plain:
                masked[name] = shown
        return replace(value, **masked) if masked else value

    def _secretless_own_name(self, text: str) -> str | None:
        """The text without secrets, if it is a name or an id of the gate's own: no redactor takes more out of it."""
        without_secrets = self._secretless(text)
        return without_secrets if is_own_name(without_secrets) else None


def mask_for(redactor: Redactor, customers: Mapping[str, str]) -> EventMask:
    """The mask of a run whose customers are known.

    Args:
        customers: full name of the customer by scenario.
    """
    return EventMask(
        {scenario: redactor.knowing([name]) for scenario, name in customers.items()},
        # The verdict of a run may quote what any of its scenarios said.
        redactor.knowing(customers.values()),
    )


def _text(text: str, redactor: Redactor, name: str) -> str:
    if " " in text and name not in ("receipt", "tags"):  # no id has a space, and a message is masked once
        return redactor.text(text)
    without_secrets = redactor.secretless(text)
    if _DIGEST.fullmatch(without_secrets) or (name == "tenant_id" and _UUID.fullmatch(without_secrets)):
        return without_secrets
    if name == "tags" and is_own_tag(without_secrets):
        return without_secrets
    if name == "receipt":
        # A receipt of digits alone is known as one only where it is called so; a phone number stays none.
        return redactor.text(_RECEIPT + without_secrets).removeprefix(_RECEIPT)
    return redactor.text(without_secrets)
