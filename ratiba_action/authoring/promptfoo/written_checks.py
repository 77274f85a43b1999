"""Assertions of promptfoo that a module measures, which the import writes."""

import re
from collections.abc import Mapping
from typing import Any

from ratiba_action.authoring.imports import ImportedCase
from ratiba_action.authoring.promptfoo.assertion_values import VALUES, Assert, number_of

CHECKS = "promptfoo_checks"
"""The module, written by an import, that runs code of assertions and all that scenarios have no word for."""


def entry_of(kind: str, given: Assert, *, negate: bool = False) -> dict[str, Any]:
    """What the written module is given for one assertion.

    Args:
        kind: without ``not-``.
        given: with ``test``, ``transform``, ``tools`` and ``as_json`` of the test and its provider, where they matter.

    Raises:
        NotImportedError: its value or threshold is none that promptfoo takes.
    """
    value = VALUES[kind](given)
    entry: dict[str, Any] = {"kind": kind, **({"negate": True} if negate else {})}
    if kind in {"javascript", "python"}:
        entry["code"] = value
        entry |= {"config": given["config"]} if isinstance(given.get("config"), Mapping) else {}
        entry |= {"test": given["test"]} if given.get("test") and re.search(r"\btest\b|file://", value) else {}
    elif value is not None:
        entry["value"] = value
    if given.get("threshold") is not None and kind not in _WITHOUT_THRESHOLD:
        entry["minimum"] = number_of(given, "threshold")
    entry |= {key: given[key] for key in ("transform", "alpha", "beta", "gamma") if given.get(key)}
    if given.get("as_json") and kind in {"javascript", "python"}:
        entry["as_json"] = True
    if kind.startswith("is-valid"):
        entry["tools"] = given.get("tools", [])
    return entry


def checked(case: ImportedCase, given: Assert, *, kind: str, negate: bool = False) -> str | None:
    """Add an assertion of the written module to a case; returns what differs."""
    entry = entry_of(kind, given, negate=negate)
    if kind in JUDGED:
        case.measure(f"{CHECKS}:Judged", 1.0, **entry, judge_calls=1)
        return None
    name = {"javascript": "JavaScript", "python": "Python"}.get(kind, "Text")
    if name != "Text":
        del entry["kind"]
    case.measure(f"{CHECKS}:{name}", 1.0, **entry)
    is_prompt = name != "Text" and "prompt" in entry["code"]
    return "`context.prompt` is the user's message here" if is_prompt else None


def measure_set(case: ImportedCase, entry: Mapping[str, Any]) -> None:
    """Add a set of assertions with a threshold to a case."""
    calls = judge_calls(entry)
    parameters = {key: value for key, value in entry.items() if key != "kind"}
    name = "JudgedSet" if calls else "Set"
    case.measure(f"{CHECKS}:{name}", 1.0, **parameters, **({"judge_calls": calls} if calls else {}))


def judge_calls(entry: Mapping[str, Any]) -> int:
    """How many judge calls an assertion or a set has."""
    if entry["kind"] == "set":
        return sum(map(judge_calls, entry["assertions"]))
    return int(entry["kind"] in JUDGED)


JUDGED = frozenset(
    {
        *("llm-rubric", "g-eval", "search-rubric", "agent-rubric", "pi", "select-best", "moderation"),
        *("model-graded-closedqa", "factuality", "trajectory:goal-success"),
    }
)
"""Those that a judge scores."""
_WITHOUT_THRESHOLD = frozenset({"model-graded-closedqa", "factuality", "select-best", "moderation"})
