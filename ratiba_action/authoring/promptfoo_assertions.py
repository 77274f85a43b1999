"""What each type of promptfoo's assertions becomes. ``docs/import.md`` has this table."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ratiba_action.authoring.imports import ImportedCase, ImportOutcome, NotImportedError
from ratiba_action.util.patterns import pattern_problem

Assert = Mapping[str, Any]
"""An assertion with its value rendered: ``type``, ``value``, ``threshold``."""


def _texts(given: Assert, *, split: bool = False) -> list[str]:
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


def _one(given: Assert) -> str:
    texts = _texts(given)
    if len(texts) > 1:
        raise NotImportedError("it has several values, of which one suffices")
    return texts[0]


def _number(given: Assert, key: str, default: float | None = None) -> float:
    value = given.get(key, default)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise NotImportedError(f"its {key} is not a number from 0")
    return float(value)


def _threshold(given: Assert, default: float) -> float:
    threshold = _number(given, "threshold", default)
    if threshold > 1:
        raise NotImportedError(f"its threshold {threshold:g} is not from 0 to 1")
    return threshold


def _caseless(text: str) -> bool:
    return text.casefold() == text.upper()


def _pattern(text: str) -> str:
    problem = pattern_problem(text)
    if problem:
        raise NotImportedError(f"the pattern {problem}")
    return text


def _escaped(text: str) -> str:
    """A pattern of the text, with any white space where it has some, as texts are compared without patterns."""
    return r"\s+".join(map(re.escape, re.split(r"\s+", text)))


def _contains(case: ImportedCase, given: Assert, *, split: bool = False) -> None:
    for text in _texts(given, split=split):
        case.extend("contains", [text]) if _caseless(text) else case.extend("matches", [_pattern(_escaped(text))])


def _icontains(case: ImportedCase, given: Assert, *, split: bool = False) -> None:
    case.extend("contains", _texts(given, split=split))


def _contains_any(case: ImportedCase, given: Assert, *, ignore_case: bool) -> None:
    texts = _texts(given, split=True)
    if "contains_any" not in case.expect and (ignore_case or all(map(_caseless, texts))):
        case.extend("contains_any", texts)
    else:
        either = "|".join(map(_escaped, texts))
        case.extend("matches", [_pattern(f"(?{'i' if ignore_case else ''}:{either})")])


def _contains_none(case: ImportedCase, given: Assert, *, split: bool = False) -> None:
    for text in _texts(given, split=split):
        if _caseless(text):
            case.extend("not_contains", [text])
        else:
            _forbid(case, _escaped(text))


def _forbid(case: ImportedCase, pattern: str) -> None:
    case.rules.append({"type": "regex_must_not_match", "value": _pattern(pattern)})


def _icontains_none(case: ImportedCase, given: Assert, *, split: bool = False) -> None:
    case.extend("not_contains", _texts(given, split=split))


def _starts(case: ImportedCase, given: Assert) -> None:
    case.extend("matches", [_pattern(rf"\A{re.escape(_one(given))}")])


def _starts_not(case: ImportedCase, given: Assert) -> None:
    _forbid(case, rf"\A{re.escape(_one(given))}")


def _regex(case: ImportedCase, given: Assert) -> None:
    case.extend("matches", [_pattern(_one(given))])


def _regex_not(case: ImportedCase, given: Assert) -> None:
    _forbid(case, _one(given))


def _equals(case: ImportedCase, given: Assert) -> None:
    value = given.get("value")
    if isinstance(value, Mapping | list):
        case.expect_once("json", {"@": value})
    else:
        case.expect_once("equals", _one(given))


def _equals_not(case: ImportedCase, given: Assert) -> None:
    _forbid(case, rf"\A\s*{re.escape(_one(given).strip())}\s*\Z")


def _json(case: ImportedCase, given: Assert) -> str | None:
    case.expect.setdefault("json", {})
    return "the JSON schema is not checked; assert values with `json`" if given.get("value") is not None else None


def _rubric(case: ImportedCase, given: Assert, *, default: float) -> None:
    case.measure("GEval", _threshold(given, default), criterion="Rubric", steps=_texts(given))


def _with_answer(case: ImportedCase, given: Assert, *, metric: str, default: float) -> None:
    threshold = _threshold(given, default)
    case.expect_once("answer", _one(given))
    case.measure(metric, threshold)


def _metric(case: ImportedCase, given: Assert, *, metric: str) -> None:
    case.measure(metric, _threshold(given, 0.5))


def _limit(case: ImportedCase, given: Assert, *, key: str, unit: float) -> None:
    value = _number(given, "threshold") * unit
    if not value:
        raise NotImportedError("its threshold is 0")
    case.limit(key, value)


def _refusal(case: ImportedCase, _: Assert) -> None:
    case.rules.append({"type": "must_refuse", "value": {"judge": True}})


def _words(case: ImportedCase, given: Assert) -> str | None:
    value = given.get("value")
    maximum = value.get("max") if isinstance(value, Mapping) else value
    if not isinstance(maximum, int) or isinstance(maximum, bool):
        raise NotImportedError("it has no `max`; only the most words of a reply can be asserted")
    case.expect["max_words"] = min(maximum, case.expect.get("max_words", maximum))
    return None if isinstance(value, Mapping) and "min" not in value else "the fewest words are not asserted"


def _tools(case: ImportedCase, given: Assert) -> None:
    if _number(given, "threshold", 1.0) < 1:
        raise NotImportedError("part of the tools suffices; use ToolCallF1Metric with `expect.tools`")
    names = [part.strip() for text in _texts(given) for part in text.split(",")]
    case.expect_once("tools", [{"name": name} for name in names])


def _tool_rule(case: ImportedCase, given: Assert, *, rule: str) -> None:
    case.rules.append({"type": rule, "value": _texts(given)})


CHECKS = "promptfoo_checks"
"""The module, written by an import, that runs code of assertions."""


def _code(case: ImportedCase, given: Assert, *, language: str, negate: bool = False) -> str | None:
    minimum = {} if given.get("threshold") is None else {"minimum": _number(given, "threshold")}
    config = {"config": given["config"]} if isinstance(given.get("config"), Mapping) else {}
    more = {**minimum, **config, **({"negate": True} if negate else {})}
    code = _one(given)
    case.measure(f"{CHECKS}:{language}", 1.0, code=code, **more)
    return "`context.prompt` is the user's message here" if "prompt" in code else None


def _text(case: ImportedCase, given: Assert, *, kind: str, negate: bool = False) -> None:
    value: dict[str, Any] = {}
    if kind.endswith("-all"):
        value = {"value": _texts(given, split=True)}
    elif kind == "levenshtein":
        value = {"value": _one(given), "minimum": _number(given, "threshold", 5.0)}
    elif given.get("value") is not None:
        raise NotImportedError("the JSON schema is not checked; assert values with `expect.json`")
    case.measure(f"{CHECKS}:Text", 1.0, kind=kind, **value, **({"negate": True} if negate else {}))


@dataclass(frozen=True, slots=True)
class Rule:
    """What a type of assertion becomes.

    Args:
        becomes: in words, for report and documentation.
        outcome: whether it means the same here.
        apply: adds it to a case, and returns what else differs; None if a person must do it.
        is_code: its value is code, or names a file of code, which stays where it is.
    """

    becomes: str
    outcome: ImportOutcome = ImportOutcome.MAPPED
    apply: Callable[[ImportedCase, Assert], str | None] | None = None
    is_code: bool = False


_TEXT = f"a metric of `{CHECKS}.py`, which the import writes"
_JUDGE = "a judge of the configuration scores it"
_RUNS = f"a metric of `{CHECKS}.py`, which the import writes: the gate runs the code in its sandbox, by {{}}"
_near = partial(Rule, outcome=ImportOutcome.APPROXIMATED)
_person = partial(Rule, outcome=ImportOutcome.MANUAL)

ASSERTIONS: Mapping[str, Rule] = {
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
    "regex": _near(
        "`matches`, in Python's syntax: `\\d` and `\\w` also match beyond ASCII, `$` before a last line feed",
        apply=_regex,
    ),
    "not-regex": _near("the rule `regex_must_not_match`, in Python's syntax", apply=_regex_not),
    "equals": _near("`equals`, which ignores white space and Unicode forms; `json` for an object", apply=_equals),
    "not-equals": _near("the rule `regex_must_not_match`; white space at the ends is ignored", apply=_equals_not),
    "is-json": Rule("`json: {}`", apply=_json),
    "llm-rubric": _near(
        f"GEval with the rubric as its step, its threshold or 0.5; {_JUDGE}", apply=partial(_rubric, default=0.5)
    ),
    "model-graded-closedqa": _near(
        f"GEval with the criterion as its step, its threshold or 0.5; {_JUDGE}", apply=partial(_rubric, default=0.5)
    ),
    "g-eval": _near(
        f"GEval with the criteria as its steps, its threshold or 0.7, in one call; {_JUDGE}",
        apply=partial(_rubric, default=0.7),
    ),
    "factuality": _near(
        f"AnswerCorrectnessMetric with `answer`, its threshold or 0.5; {_JUDGE}",
        apply=partial(_with_answer, metric="AnswerCorrectnessMetric", default=0.5),
    ),
    "answer-relevance": _near(
        f"AnswerRelevancyMetric, its threshold or 0.5; {_JUDGE}", apply=partial(_metric, metric="AnswerRelevancyMetric")
    ),
    "context-faithfulness": _near(
        "FaithfulnessMetric, its threshold or 0.5, on the documents that your system returns",
        apply=partial(_metric, metric="FaithfulnessMetric"),
    ),
    "context-relevance": _near(
        "ContextualRelevancyMetric, its threshold or 0.5, on the documents that your system returns",
        apply=partial(_metric, metric="ContextualRelevancyMetric"),
    ),
    "context-recall": _near(
        "ContextualRecallMetric with `answer`, its threshold or 0.5, on the documents that your system returns",
        apply=partial(_with_answer, metric="ContextualRecallMetric", default=0.5),
    ),
    "conversation-relevance": _near(
        f"TurnRelevancyMetric, its threshold or 0.5; {_JUDGE}", apply=partial(_metric, metric="TurnRelevancyMetric")
    ),
    "similar": _near(
        "EmbeddingSimilarityMetric with `answer`, its threshold or 0.75: another model, so look at its scores",
        apply=partial(_with_answer, metric="EmbeddingSimilarityMetric", default=0.75),
    ),
    "rouge-n": _near(
        "RougeLMetric with `answer`, its threshold or 0.75: the longest common sequence instead of n-grams",
        apply=partial(_with_answer, metric="RougeLMetric", default=0.75),
    ),
    "bleu": _near(
        "BleuMetric with `answer`, its threshold or 0.5", apply=partial(_with_answer, metric="BleuMetric", default=0.5)
    ),
    "cost": _near(
        "`limits.usd`: the estimated cost of the turn's own model calls", apply=partial(_limit, key="usd", unit=1.0)
    ),
    "latency": _near(
        "`limits.seconds` of the turn, measured only with live answers",
        apply=partial(_limit, key="seconds", unit=0.001),
    ),
    "is-refusal": _near(f"the rule `must_refuse` with a judge; {_JUDGE}", apply=_refusal),
    "word-count": _near("`max_words`", apply=_words),
    "tool-call-f1": _near("`tools`: exactly these calls, in this order", apply=_tools),
    "trajectory:tool-used": Rule(
        "the rule `must_call_tool` for each tool", apply=partial(_tool_rule, rule="must_call_tool")
    ),
    "not-trajectory:tool-used": Rule(
        "the rule `must_not_call_tool` for each tool", apply=partial(_tool_rule, rule="must_not_call_tool")
    ),
    "javascript": _near(_RUNS.format("Node"), apply=partial(_code, language="JavaScript"), is_code=True),
    "not-javascript": _near(
        _RUNS.format("Node"), apply=partial(_code, language="JavaScript", negate=True), is_code=True
    ),
    "python": _near(_RUNS.format("Python"), apply=partial(_code, language="Python"), is_code=True),
    "not-python": _near(_RUNS.format("Python"), apply=partial(_code, language="Python", negate=True), is_code=True),
    "contains-json": Rule(_TEXT, apply=partial(_text, kind="contains-json")),
    "not-contains-json": Rule(_TEXT, apply=partial(_text, kind="contains-json", negate=True)),
    "not-is-json": Rule(_TEXT, apply=partial(_text, kind="is-json", negate=True)),
    "not-contains-all": Rule(_TEXT, apply=partial(_text, kind="contains-all", negate=True)),
    "not-icontains-all": Rule(_TEXT, apply=partial(_text, kind="icontains-all", negate=True)),
    "levenshtein": Rule(_TEXT, apply=partial(_text, kind="levenshtein")),
    "not-levenshtein": Rule(_TEXT, apply=partial(_text, kind="levenshtein", negate=True)),
    "ruby": _person("code is not run: write a rule `custom` or a metric of your own"),
    "webhook": _person("no server is called: write a rule `custom` or a metric of your own"),
}
SAME = {
    "similar:cosine": "similar",
    "model-graded-factuality": "factuality",
    "fn": "javascript",
    "eval": "javascript",
    "grade": "llm-rubric",
}
"""Other names of types, some of them only in CSV files."""
_NAMES = (
    "agent-rubric classifier contains-html contains-sql contains-xml finish-reason gleu guardrails human"
    " is-html is-sql is-valid-function-call is-valid-openai-function-call is-valid-openai-tools-call is-xml"
    " max-score meteor moderation noise-sensitivity perplexity perplexity-score pi research-rubric search-rubric"
    " select-best similar:dot similar:euclidean skill-used trace-error-spans trace-span-count trace-span-duration"
    " trajectory:goal-success trajectory:step-count trajectory:tool-args-match trajectory:tool-sequence"
    " video-rubric"
)
WITHOUT_COUNTERPART = frozenset(_NAMES.split())
"""Types of promptfoo that nothing here stands for."""
TYPES = tuple(sorted({*ASSERTIONS, *SAME, *WITHOUT_COUNTERPART}, key=lambda name: (-len(name), name)))
"""All types of promptfoo that are known here, the longest first."""
OTHERS = _person("no counterpart: write a rule `custom` or a metric of your own, or use `expect`")
"""For every other type."""


def rule_of(name: str) -> Rule:
    """What a type of assertion becomes."""
    return ASSERTIONS.get(SAME.get(name, name), OTHERS)
