"""Assertions of promptfoo in a scenario's own words."""

import json
import re
from collections.abc import Mapping
from functools import partial

from ratiba_action.authoring.imports import ImportedCase, NotImportedError
from ratiba_action.authoring.promptfoo.assertion_values import (
    Assert,
    number_of,
    one_text,
    schema_of,
    texts_of,
    threshold_of,
    usable_pattern,
)
from ratiba_action.authoring.promptfoo.rules import JUDGE, ONE_BEST, WRITTEN, Rule, by_a_person, near
from ratiba_action.authoring.promptfoo.written_checks import checked


def _caseless(text: str) -> bool:
    return text.casefold() == text.upper()


def _escaped(text: str) -> str:
    """A pattern of the text, with any white space where it has some, as texts are compared without patterns."""
    return r"\s+".join(map(re.escape, re.split(r"\s+", text)))


def _contains(case: ImportedCase, given: Assert, *, split: bool = False) -> None:
    for text in texts_of(given, split=split):
        case.extend("contains", [text]) if _caseless(text) else case.extend("matches", [usable_pattern(_escaped(text))])


def _icontains(case: ImportedCase, given: Assert, *, split: bool = False) -> None:
    case.extend("contains", texts_of(given, split=split))


def _contains_any(case: ImportedCase, given: Assert, *, ignore_case: bool) -> None:
    texts = texts_of(given, split=True)
    if "contains_any" not in case.expect and (ignore_case or all(map(_caseless, texts))):
        case.extend("contains_any", texts)
    else:
        either = "|".join(map(_escaped, texts))
        case.extend("matches", [usable_pattern(f"(?{'i' if ignore_case else ''}:{either})")])


def _contains_none(case: ImportedCase, given: Assert, *, split: bool = False) -> None:
    for text in texts_of(given, split=split):
        if _caseless(text):
            case.extend("not_contains", [text])
        else:
            _forbid(case, _escaped(text))


def _forbid(case: ImportedCase, pattern: str) -> None:
    case.rules.append({"type": "regex_must_not_match", "value": usable_pattern(pattern)})


def _icontains_none(case: ImportedCase, given: Assert, *, split: bool = False) -> None:
    case.extend("not_contains", texts_of(given, split=split))


def _starts(case: ImportedCase, given: Assert) -> None:
    case.extend("matches", [usable_pattern(rf"\A{re.escape(one_text(given))}")])


def _starts_not(case: ImportedCase, given: Assert) -> None:
    _forbid(case, rf"\A{re.escape(one_text(given))}")


def _regex(case: ImportedCase, given: Assert) -> None:
    case.extend("matches", [usable_pattern(one_text(given))])


def _regex_not(case: ImportedCase, given: Assert) -> None:
    _forbid(case, one_text(given))


def _equals(case: ImportedCase, given: Assert) -> None:
    value = given.get("value")
    if isinstance(value, Mapping | list):
        case.expect_once("json", {"@": value})
    else:
        case.expect_once("equals", one_text(given))


def _equals_not(case: ImportedCase, given: Assert) -> None:
    if isinstance(given.get("value"), Mapping | list):
        checked(case, given, kind="equals", negate=True)
        return
    _forbid(case, rf"\A\s*{re.escape(one_text(given).strip())}\s*\Z")


def _json(case: ImportedCase, given: Assert) -> None:
    if schema_of(given) is None:
        case.expect.setdefault("json", {})
    else:
        checked(case, given, kind="is-json")


def _rubric(case: ImportedCase, given: Assert, *, default: float) -> None:
    value = given.get("value")
    steps = [json.dumps(value, ensure_ascii=False)] if isinstance(value, Mapping) and value else texts_of(given)
    case.measure("GEval", threshold_of(given, default), criterion="Rubric", steps=steps)


def _with_answer(case: ImportedCase, given: Assert, *, metric: str, default: float) -> str | None:
    threshold, texts = threshold_of(given, default), texts_of(given)
    case.expect_once("answer", texts[0])
    case.measure(metric, threshold)
    return "only its first text is compared" if len(texts) > 1 else None


def _metric(case: ImportedCase, given: Assert, *, metric: str) -> None:
    case.measure(metric, threshold_of(given, 0.5))


def _limit(case: ImportedCase, given: Assert, *, key: str, unit: float) -> None:
    value = number_of(given, "threshold") * unit
    if not value:
        raise NotImportedError("its threshold is 0")
    case.limit(key, value)


def _words(case: ImportedCase, given: Assert) -> None:
    value = given.get("value")
    maximum = value.get("max") if isinstance(value, Mapping) and "min" not in value else None
    if isinstance(maximum, int) and not isinstance(maximum, bool):
        case.expect["max_words"] = min(maximum, case.expect.get("max_words", maximum))
    else:
        checked(case, given, kind="word-count")


def _tool_rule(case: ImportedCase, given: Assert, *, rule: str, negate: bool = False) -> None:
    value = given.get("value")
    names = value if isinstance(value, list) else [value]
    if all(isinstance(name, str) and not set("*?") & set(name) for name in names):
        case.rules.append({"type": rule, "value": texts_of(given)})
    else:
        checked(case, given, kind="trajectory:tool-used", negate=negate)


NATIVE: Mapping[str, Rule] = {
    "contains": Rule(
        "`contains` if the text has no letter case, else `matches` with the text escaped", apply=_contains
    ),
    "contains-all": Rule("as `contains`, for each text", apply=partial(_contains, split=True)),
    "contains-any": Rule(
        "`contains_any` if the texts have no letter case, else `matches`",
        apply=partial(_contains_any, ignore_case=False),
    ),
    "icontains": Rule("`contains`", apply=_icontains),
    "icontains-all": Rule("`contains`", apply=partial(_icontains, split=True)),
    "icontains-any": Rule("`contains_any`", apply=partial(_contains_any, ignore_case=True)),
    "not-contains": Rule(
        "`not_contains` if the text has no letter case, else the rule `regex_must_not_match`", apply=_contains_none
    ),
    "not-contains-any": Rule("as `not-contains`, for each text", apply=partial(_contains_none, split=True)),
    "not-icontains": Rule("`not_contains`", apply=_icontains_none),
    "not-icontains-any": Rule("`not_contains`", apply=partial(_icontains_none, split=True)),
    "starts-with": Rule("`matches` from the start", apply=_starts),
    "not-starts-with": Rule("the rule `regex_must_not_match` from the start", apply=_starts_not),
    "regex": near(
        "`matches`, in Python's syntax: `\\d` and `\\w` also match beyond ASCII, `$` before a last line feed",
        apply=_regex,
    ),
    "not-regex": near("the rule `regex_must_not_match`, in Python's syntax", apply=_regex_not),
    "equals": near("`equals`, which ignores white space and Unicode forms; `json` for an object", apply=_equals),
    "not-equals": near(
        f"the rule `regex_must_not_match`; white space at the ends is ignored; for an object {WRITTEN}",
        apply=_equals_not,
    ),
    "is-json": Rule(f"`json: {{}}`; with a schema {WRITTEN}", apply=_json),
    "llm-rubric": near(
        f"GEval with the rubric as its step, its threshold or 0.5; {JUDGE}", apply=partial(_rubric, default=0.5)
    ),
    "model-graded-closedqa": near(
        f"GEval with the criterion as its step, its threshold or 0.5; {JUDGE}", apply=partial(_rubric, default=0.5)
    ),
    "g-eval": near(
        f"GEval with the criteria as its steps, its threshold or 0.7, in one call; {JUDGE}",
        apply=partial(_rubric, default=0.7),
    ),
    "factuality": near(
        f"AnswerCorrectnessMetric with `answer`, its threshold or 0.5; {JUDGE}",
        apply=partial(_with_answer, metric="AnswerCorrectnessMetric", default=0.5),
    ),
    "answer-relevance": near(
        f"AnswerRelevancyMetric, its threshold or 0.5; {JUDGE}", apply=partial(_metric, metric="AnswerRelevancyMetric")
    ),
    "context-faithfulness": near(
        "FaithfulnessMetric, its threshold or 0.5, on the documents that your system returns",
        apply=partial(_metric, metric="FaithfulnessMetric"),
    ),
    "context-relevance": near(
        "ContextualRelevancyMetric, its threshold or 0.5, on the documents that your system returns",
        apply=partial(_metric, metric="ContextualRelevancyMetric"),
    ),
    "context-recall": near(
        "ContextualRecallMetric with `answer`, its threshold or 0.5, on the documents that your system returns",
        apply=partial(_with_answer, metric="ContextualRecallMetric", default=0.5),
    ),
    "conversation-relevance": near(
        f"TurnRelevancyMetric, its threshold or 0.5; {JUDGE}", apply=partial(_metric, metric="TurnRelevancyMetric")
    ),
    "similar": near(
        "EmbeddingSimilarityMetric with `answer`, its threshold or 0.75: another model, so look at its scores",
        apply=partial(_with_answer, metric="EmbeddingSimilarityMetric", default=0.75),
    ),
    "cost": near(
        "`limits.usd`: the estimated cost of the turn's own model calls", apply=partial(_limit, key="usd", unit=1.0)
    ),
    "latency": near(
        "`limits.seconds` of the turn, measured only with live answers",
        apply=partial(_limit, key="seconds", unit=0.001),
    ),
    "word-count": Rule(f"`max_words`, or {WRITTEN}", apply=_words),
    "trajectory:tool-used": Rule(
        f"the rule `must_call_tool` for each tool, or {WRITTEN}", apply=partial(_tool_rule, rule="must_call_tool")
    ),
    "not-trajectory:tool-used": Rule(
        f"the rule `must_not_call_tool` for each tool, or {WRITTEN}",
        apply=partial(_tool_rule, rule="must_not_call_tool", negate=True),
    ),
    "max-score": near(f"left out: {ONE_BEST}, and passes by its other assertions"),
    "ruby": by_a_person("code in Ruby is not run: write it in Python into `promptfoo_left.py`"),
}
