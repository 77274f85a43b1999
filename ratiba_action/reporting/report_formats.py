"""The allowed format of each field of a report, for a ``results.json`` that somebody else may have written.

Types alone would accept a text of a million lines as a digest. These formats accept only what the gate can have
written; free text, which the comment escapes, is only bounded in length.
"""

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from ratiba_action.model.case_file import CaseFile, CaseFileScores, CaseThreshold
from ratiba_action.model.change import DependencyChange, Subject
from ratiba_action.model.codec import CodecError, encode_tag
from ratiba_action.model.comparison import Agreement, BaselineFacts, CrossCheckStatus, ScorePair
from ratiba_action.model.conversation import ModelCall, Transcript
from ratiba_action.model.history import TrendPoint
from ratiba_action.model.measurement import Check, Score
from ratiba_action.model.plan import Arm
from ratiba_action.model.reads import FileReaders
from ratiba_action.model.scenario import Assertion, FailureRule, Scenario
from ratiba_action.model.shard import Shard
from ratiba_action.model.verdict import CrossChecking, Limits, Report, ShardReport, TraceDelivery, TraceLink

MAX_CHARACTERS = 1_000_000
MAX_ITEMS = 100_000
DEEPEST = 64
_LARGEST = 2**53  # what every reader of JSON keeps exact
_MAX_USD = Decimal(10) ** 12
_LONGEST_KEY = 1_000
_MAX_SHORT = 300
_MAX_SHARDS = 256

Fits = Callable[[Any], bool]
Format = tuple[str, Fits]
"""A description of the allowed values, and a function that checks one."""


def _like(pattern: str, what: str) -> Format:
    compiled = re.compile(pattern, re.ASCII)
    return what, lambda value: value is None or compiled.fullmatch(value) is not None


def _between(low: float, high: float) -> Format:
    """NaN means a missing number and is allowed: the code that counts a score refuses it."""
    return (
        f"a number from {low:g} to {high:g}",
        lambda value: value is None or math.isnan(value) or low <= value <= high,
    )


def _each(item_format: Format, of_keys: Format | None = None) -> Format:
    """A format of every item of a list, or of every value and key of a mapping."""

    def fits(value: Any) -> bool:
        if isinstance(value, Mapping):
            return all(map(item_format[1], value.values())) and (of_keys is None or all(map(of_keys[1], value)))
        return all(map(item_format[1], value))

    return f"a collection of {item_format[0]}", fits


_COMMIT = _like(r"([0-9a-f]{7,64})?", "a commit in hexadecimal digits")
_DIGEST = _like(r"([0-9a-f]{8,64})?", "a digest in hexadecimal digits")
_REPOSITORY = _like(r"([A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100})?", "owner/name")
_URL = _like(r"(https?://[A-Za-z0-9._:\[\]-]{1,300}(/[A-Za-z0-9._~!$&*+,;=:@%/?-]{0,2000})?)?", "an http or https URL")
_WORD = _like(r"[a-z_-]{0,40}", "a word")
_ID = _like(r"[a-z0-9_-]{0,300}", "an id of lower-case letters, digits, '_' and '-'")
_MODEL = _like(r"[A-Za-z0-9._:/@+-]{0,300}", "the name of a model")
_LOGIN = _like(r"([A-Za-z0-9-]{1,100}(\[bot\])?)?", "a login")
_LANGUAGE = _like(r"[A-Za-z-]{0,20}", "a language")
_SHORT = "at most 300 characters", lambda value: len(value) <= _MAX_SHORT
_ANSWERS = _like(r"replay|mixed|live|record", "'replay', 'mixed', 'live' or 'record'")
_SHARE = _between(0, 1)
_KAPPA = _between(-1, 1)
_SECONDS = _between(0, 1e8)
_AWARE: Format = ("a time with its time zone", lambda value: value.tzinfo is not None)

FORMATS: Mapping[type, Mapping[str, Format]] = MappingProxyType(
    {
        Report: {
            "commit": _COMMIT,
            "judge_model": _MODEL,
            "left_out": _each(_ID),
            "llm": _ANSWERS,
            "scenario_digests": _each(_DIGEST, _ID),
            "self_reported": _each(_ID),
            "seconds": _SECONDS,
            "site": _URL,
            "started_at": _AWARE,
            "suite_digest": _DIGEST,
            "unfit": _each(_ID),
        },
        FileReaders: {"scenarios": _each(_ID)},
        Shard: {
            "number": ("at most 256", lambda number: number <= _MAX_SHARDS),
            "count": ("at most 256", lambda count: count <= _MAX_SHARDS),
        },
        ShardReport: {"identity": _each(_SHORT, _WORD)},
        ModelCall: {"scenario_id": _ID, "model": _MODEL, "answered_by": _MODEL},
        Subject: {
            "author": _LOGIN,
            "base": _COMMIT,
            "event": _WORD,
            "head": _COMMIT,
            "repository": _REPOSITORY,
            "run_url": _URL,
        },
        DependencyChange: {"change": _WORD},
        Limits: {"metric_thresholds": _each(_SHARE), "pass_rate": _SHARE},
        CrossChecking: {"model": _MODEL},
        CrossCheckStatus: {"share": _SHARE},
        Agreement: {"quadratic": _KAPPA, "same_side": _SHARE, "unweighted": _KAPPA},
        ScorePair: {"first": _SHARE, "scenario_id": _ID, "second": _SHARE, "threshold": _SHARE, "transcript": _DIGEST},
        BaselineFacts: {"commit": _COMMIT, "started_at": _AWARE},
        TrendPoint: {
            "answers": _ANSWERS,
            "commit": _COMMIT,
            "judge_model": _MODEL,
            "mean": _SHARE,
            "started_at": _AWARE,
            "suite_version": _DIGEST,
            "threshold": _SHARE,
        },
        CaseFile: {"digest": _DIGEST, "id": _ID},
        CaseFileScores: {"digest": _DIGEST, "id": _ID},
        CaseThreshold: {"at_least": _SHARE},
        Arm: {"commit": _COMMIT, "name": _WORD},
        Scenario: {
            "data_set": _ID,
            "family": _SHORT,
            "id": _ID,
            "language": _LANGUAGE,
            "layer": _WORD,
            "now": _AWARE,
            "system_type": _WORD,
            "title": _SHORT,
        },
        Assertion: {"threshold": _SHARE},
        FailureRule: {"type": _WORD},
        Transcript: {"models": _each(_MODEL), "scenario_id": _ID},
        Score: {"answered_by": _each(_MODEL), "threshold": _SHARE, "value": _SHARE, "votes": _each(_SHARE)},
        Check: {"kind": _WORD},
        TraceDelivery: {"host": _URL, "run_url": _URL},
        TraceLink: {"url": _URL},
    }
)


class ExactFormats:
    """Refuses values that the gate cannot have written; see ``codec.Demands``."""

    def value(self, value: Any, where: str) -> None:
        """Refuse a plain value or a collection beyond every bound.

        Raises:
            CodecError: says what it may be.
        """
        if isinstance(value, str):
            if len(value) > MAX_CHARACTERS:
                raise _not_allowed(where, f"a text of at most {MAX_CHARACTERS:,} characters")
        elif isinstance(value, list):
            if len(value) > MAX_ITEMS:
                raise _not_allowed(where, f"at most {MAX_ITEMS:,} items")
        elif isinstance(value, dict):
            if len(value) > MAX_ITEMS:
                raise _not_allowed(where, f"at most {MAX_ITEMS:,} entries")
            if max(map(len, value), default=0) > _LONGEST_KEY:
                raise _not_allowed(where, f"entries of names of at most {_LONGEST_KEY:,} characters")
        elif type(value) is int and not 0 <= value <= _LARGEST:
            raise _not_allowed(where, f"a whole number from 0 to {_LARGEST}")
        elif isinstance(value, Decimal) and not 0 <= value <= _MAX_USD:
            raise _not_allowed(where, "an amount from 0 to 10^12")

    def anything(self, value: Any, where: str, depth: int = 0) -> None:
        """Refuse JSON of any shape that is too deep or too large.

        Raises:
            CodecError: says what it may be.
        """
        if depth > DEEPEST:
            raise _not_allowed(where, f"nested at most {DEEPEST} deep")
        if isinstance(value, float) or type(value) is int:
            if not (math.isfinite(value) and abs(value) <= 10**300):
                raise _not_allowed(where, "a number")
            return
        self.value(value, where)
        items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
        for key, item in items:
            self.anything(item, f"{where}[{key!r:.80}]", depth + 1)

    def record(self, found: Mapping[str, Any], made: Any, where: str) -> None:
        """Refuse a field that is not known, or does not have its format.

        Args:
            found: decoded JSON.
            made: the value that was made of it.
            where: path of the value.

        Raises:
            CodecError: says which field.
        """
        tag = encode_tag(made)
        for name in found:
            if not hasattr(made, name) and name not in tag:
                raise CodecError(f"{where} has the unknown field {name!r:.80}.")
        for name, value in tag.items():
            if found.get(name) != value:
                raise _not_allowed(f"{where}.{name}", repr(value))
        for name, (what, fits) in FORMATS.get(type(made), {}).items():
            if not fits(getattr(made, name)):
                raise _not_allowed(f"{where}.{name}", what)


def _not_allowed(where: str, what: str) -> CodecError:
    return CodecError(f"{where} must be {what}.")
