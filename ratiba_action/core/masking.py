"""Removes planted secrets from everything that is published."""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any
from urllib.parse import quote, quote_plus

from ratiba_action.core.identifiers import mask_identifiers
from ratiba_action.core.model.verdict import Report

MASK = "***"
_SHORTEST = 4
_NAMES = frozenset({"arm", "id", "scenario_id", "metric", "version", "models", "prompt_versions"})
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


def mask_report(report: Report, secrets: Iterable[str]) -> Report:
    """The report with secrets masked in every text; to be applied before it is rendered, since escaping splits words.

    Args:
        report: may hold secrets anywhere: a reply, a tool's output, an error's message.
        secrets: values to hide.
    """
    spellings = _spellings(secrets)
    masked: Report = _walk(report, spellings)
    return masked


def mask_persons(report: Report) -> Report:
    """The report with phone numbers, mail addresses and other identifiers masked in all that was said and measured.

    Reports are kept and shown to more people than a customer talks to, and what a model says of a customer is not
    known beforehand (masking floor, ``seeds/000`` §4).
    """
    spoken = {"results": report.results, "verdict": report.verdict, "notes": report.notes}
    return replace(report, **{name: _without_persons(value) for name, value in spoken.items()})


def _without_persons(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Enum):
        return mask_identifiers(value)
    if is_dataclass(value) and not isinstance(value, type):
        kept = {item.name: getattr(value, item.name) for item in fields(value) if item.name not in _NAMES}
        return replace(value, **{name: _without_persons(item) for name, item in kept.items()})
    if isinstance(value, Mapping):
        return {_without_persons(key): _without_persons(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, frozenset)):
        return type(value)(_without_persons(item) for item in value)
    return value


def _walk(value: Any, spellings: tuple[str, ...]) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        for spelling in spellings:
            value = value.replace(spelling, MASK)
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{item.name: _walk(getattr(value, item.name), spellings) for item in fields(value)})
    if isinstance(value, Mapping):
        return {_walk(key, spellings): _walk(item, spellings) for key, item in value.items()}
    if isinstance(value, (list, tuple, frozenset)):
        return type(value)(_walk(item, spellings) for item in value)
    return value


def _spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    found: set[str] = set()
    for secret in secrets:
        for value in (secret, secret.strip(), *secret.splitlines()):
            found |= {value, json.dumps(value)[1:-1], quote(value, safe="", errors="replace")}
            found |= {quote_plus(value, errors="replace"), b64encode(value.encode("utf-8", "replace")).decode("ascii")}
    # The longest first: a secret that contains another must not leave its rest behind.
    return tuple(sorted((text for text in found if len(text) >= _SHORTEST), key=lambda text: (-len(text), text)))
