"""Reads the value of an assertion of promptfoo, as its type takes one."""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from ratiba_action.authoring.imports import NotImportedError
from ratiba_action.util.patterns import pattern_problem
from ratiba_action.util.strict_yaml import read_yaml
from ratiba_action.util.validation import shorten

Assert = Mapping[str, Any]
"""An assertion with its value rendered: ``type``, ``value``, ``threshold``."""


def texts_of(given: Assert, *, split: bool = False) -> list[str]:
    """The texts of a value.

    Args:
        split: a text is a comma-separated list.

    Raises:
        NotImportedError: there are none, or the value is something else.
    """
    value = given.get("value")
    value = split_values(value) if split and isinstance(value, str) else value
    listed = value if isinstance(value, list) else [value]
    texts = [plain_text(item) for item in listed if isinstance(item, str | int | float)]
    if not texts or len(texts) < len(listed) or not all(text.strip() for text in texts):
        raise NotImportedError("its value is not a text or a list of texts")
    return texts


def plain_text(value: str | float) -> str:
    """A scalar as promptfoo writes it: ``true``, ``4`` (also for ``4.0``, since JavaScript has one kind of number)."""
    if isinstance(value, str):
        return value
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{int(value) if isinstance(value, float) and value.is_integer() else value}"
    )


_FIELD = re.compile(r'[\s,]*(?:"(?P<quoted>(?:\\["\\]|""|[^"])*+)"\s*(?:,|\Z)|(?P<plain>[^\s,"][^,]*))')
_ESCAPED = re.compile(r'\\(["\\])|"(")')


def split_values(text: str) -> list[str]:
    r"""The values of a text that promptfoo reads as a comma-separated list: that of each type in ``-any`` or ``-all``.

    White space around a value, line feeds among it, and empty values are left out. A value in quotation marks keeps its
    commas; ``""`` or ``\"`` stands for a quotation mark in it, as in promptfoo's parseCommaSeparatedValues.

    Raises:
        NotImportedError: a quotation mark is not closed, or more text follows it.
    """
    values, at = list[str](), 0
    while found := _FIELD.match(text, at):
        quoted = found["quoted"]
        values.append(found["plain"].strip() if quoted is None else _ESCAPED.sub(r"\1\2", quoted))
        at = found.end()
    if text[at:].replace(",", "").strip():
        raise NotImportedError("its comma-separated list has a quotation mark that is not closed, or text after one")
    return values


def one_text(given: Assert) -> str:
    """The only text of a value.

    Raises:
        NotImportedError: there are several, or none.
    """
    texts = texts_of(given)
    if len(texts) > 1:
        raise NotImportedError("it has several values, of which one suffices")
    return texts[0]


def number_of(given: Assert, key: str, default: float | None = None) -> float:
    """A number of an assertion, from 0.

    Raises:
        NotImportedError: it is something else, or missing without a default.
    """
    value = given.get(key, default)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise NotImportedError(f"its {key} is not a number from 0")
    return float(value)


def threshold_of(given: Assert, default: float) -> float:
    """The threshold of an assertion.

    Raises:
        NotImportedError: it is not from 0 to 1.
    """
    threshold = number_of(given, "threshold", default)
    if threshold > 1:
        raise NotImportedError(f"its threshold {threshold:g} is not from 0 to 1")
    return threshold


def usable_pattern(text: str) -> str:
    """The text, if it can be used as a pattern.

    Raises:
        NotImportedError: it is none, or too slow.
    """
    problem = pattern_problem(text)
    if problem:
        raise NotImportedError(f"the pattern {problem}")
    return text


def _plain(given: Assert) -> Any:
    return one_text(given)


def _listed(given: Assert) -> list[str]:
    return texts_of(given, split=True)


def _several(given: Assert) -> Any:
    texts = texts_of(given)
    return texts[0] if len(texts) == 1 else texts


def _equal(given: Assert) -> Any:
    value = given.get("value")
    return value if isinstance(value, Mapping | list) else one_text(given)


def schema_of(given: Assert) -> Any:
    """The JSON Schema that a value is or spells out; None without one.

    Raises:
        NotImportedError: it is no JSON and no YAML, or no mapping.
    """
    value = given.get("value")
    if isinstance(value, str) and value.strip():
        document, problems = read_yaml("schema", value.encode(), aliases=True)
        if document is None or problems:
            raise NotImportedError(f"its schema is no JSON and no YAML: {problems[0].message}")
        value = document.data
    if value and not isinstance(value, Mapping):
        raise NotImportedError("its schema is not a mapping")
    return value or None


def _elements(given: Assert) -> Any:
    value = given.get("value")
    if isinstance(value, Mapping) and value:
        value = value.get("requiredElements")
        if not isinstance(value, list):
            raise NotImportedError("it has no list `requiredElements`")
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return [str(part) for part in value] if isinstance(value, list) and value else None


def _mapping(given: Assert) -> Any:
    value = given.get("value")
    if value is not None and not isinstance(value, Mapping):
        raise NotImportedError("its value is not a mapping")
    return value


def _count(given: Assert) -> Any:
    value = given.get("value")
    if isinstance(value, Mapping):
        bounds = {key: _amount(value[key]) for key in ("min", "max") if key in value}
        if not bounds:
            raise NotImportedError("it has neither `min` nor `max`")
        return bounds
    return _amount(value)


def _amount(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise NotImportedError(f"{shorten(value)} is not a number of words") from None


def _tool_names(given: Assert) -> list[str]:
    return [part.strip() for text in texts_of(given) for part in text.split(",")]


def _calls(given: Assert) -> Any:
    value = given.get("value")
    steps = value.get("steps") if isinstance(value, Mapping) and "steps" in value else value
    steps = steps if isinstance(steps, list) else [steps]
    if not steps or not all(isinstance(step, str) or (isinstance(step, Mapping) and step) for step in steps):
        raise NotImportedError("its value names no tool")
    return value


def _called(given: Assert) -> Any:
    value = given.get("value")
    args = value.get("args", value.get("arguments")) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping) and isinstance(args, Mapping) and {"name", "pattern"} & set(value):
        return value
    raise NotImportedError("it has no tool's name with `args`")


def _steps(given: Assert) -> Any:
    value = given.get("value")
    types = value.get("type", ()) if isinstance(value, Mapping) else ()
    if not isinstance(value, Mapping) or not {"min", "max"} & set(value):
        raise NotImportedError("it has neither `min` nor `max`")
    if types != "tool" and list(types) != ["tool"]:
        raise NotImportedError("only calls of tools are known here, `type: tool`")
    return value


def _criterion(given: Assert) -> Any:
    value = given.get("value")
    if isinstance(value, Mapping) and isinstance(value.get("goal"), str):
        return [value["goal"]]
    return [json.dumps(value, ensure_ascii=False)] if isinstance(value, Mapping) and value else texts_of(given)


def _categories(given: Assert) -> Any:
    return texts_of(given) if given.get("value") else None


def _nothing(_: Assert) -> None:
    return None


VALUES: Mapping[str, Callable[[Assert], Any]] = {
    **dict.fromkeys(("contains", "icontains", "starts-with", "levenshtein", "rouge-n", "webhook"), _plain),
    **dict.fromkeys(("javascript", "python", "finish-reason"), _plain),
    "regex": lambda given: usable_pattern(one_text(given)),
    **dict.fromkeys(("contains-all", "contains-any", "icontains-all", "icontains-any"), _listed),
    **dict.fromkeys(("bleu", "gleu", "meteor"), _several),
    "equals": _equal,
    **dict.fromkeys(("is-json", "contains-json"), schema_of),
    **dict.fromkeys(("is-xml", "contains-xml"), _elements),
    **dict.fromkeys(("is-sql", "contains-sql"), _mapping),
    **dict.fromkeys(("is-html", "contains-html", "is-refusal", "guardrails", "is-valid-openai-tools-call"), _nothing),
    "word-count": _count,
    "tool-call-f1": _tool_names,
    "trajectory:tool-used": _calls,
    "trajectory:tool-sequence": _calls,
    "trajectory:tool-args-match": _called,
    "trajectory:step-count": _steps,
    **dict.fromkeys(("llm-rubric", "g-eval", "search-rubric", "agent-rubric", "pi", "select-best"), _criterion),
    **dict.fromkeys(("model-graded-closedqa", "factuality", "trajectory:goal-success"), _criterion),
    "moderation": _categories,
}
"""Reads the value of each type that the written module knows, the type without ``not-``."""
