"""What each type of promptfoo's assertions becomes. ``docs/import.md`` has this table."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ratiba_action.authoring.imports import ImportedCase, ImportOutcome, Left, NotImportedError
from ratiba_action.authoring.promptfoo.attacks import PREFIX, is_attack
from ratiba_action.util.patterns import pattern_problem
from ratiba_action.util.strict_yaml import read_yaml
from ratiba_action.util.text import printable
from ratiba_action.util.validation import shorten

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
    if isinstance(given.get("value"), Mapping | list):
        checked(case, given, kind="equals", negate=True)
        return
    _forbid(case, rf"\A\s*{re.escape(_one(given).strip())}\s*\Z")


def _json(case: ImportedCase, given: Assert) -> None:
    if _schema(given) is None:
        case.expect.setdefault("json", {})
    else:
        checked(case, given, kind="is-json")


def _rubric(case: ImportedCase, given: Assert, *, default: float) -> None:
    value = given.get("value")
    steps = [json.dumps(value, ensure_ascii=False)] if isinstance(value, Mapping) and value else _texts(given)
    case.measure("GEval", _threshold(given, default), criterion="Rubric", steps=steps)


def _with_answer(case: ImportedCase, given: Assert, *, metric: str, default: float) -> str | None:
    threshold, texts = _threshold(given, default), _texts(given)
    case.expect_once("answer", texts[0])
    case.measure(metric, threshold)
    return "only its first text is compared" if len(texts) > 1 else None


def _metric(case: ImportedCase, given: Assert, *, metric: str) -> None:
    case.measure(metric, _threshold(given, 0.5))


def _limit(case: ImportedCase, given: Assert, *, key: str, unit: float) -> None:
    value = _number(given, "threshold") * unit
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
        case.rules.append({"type": rule, "value": _texts(given)})
    else:
        checked(case, given, kind="trajectory:tool-used", negate=negate)


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
    value = _VALUES[kind](given)
    entry: dict[str, Any] = {"kind": kind, **({"negate": True} if negate else {})}
    if kind in {"javascript", "python"}:
        entry["code"] = value
        entry |= {"config": given["config"]} if isinstance(given.get("config"), Mapping) else {}
        entry |= {"test": given["test"]} if given.get("test") and re.search(r"\btest\b|file://", value) else {}
    elif value is not None:
        entry["value"] = value
    if given.get("threshold") is not None and kind not in _WITHOUT_THRESHOLD:
        entry["minimum"] = _number(given, "threshold")
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


def _plain(given: Assert) -> Any:
    return _one(given)


def _listed(given: Assert) -> list[str]:
    return _texts(given, split=True)


def _several(given: Assert) -> Any:
    texts = _texts(given)
    return texts[0] if len(texts) == 1 else texts


def _equal(given: Assert) -> Any:
    value = given.get("value")
    return value if isinstance(value, Mapping | list) else _one(given)


def _schema(given: Assert) -> Any:
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
    return [part.strip() for text in _texts(given) for part in text.split(",")]


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
    return [json.dumps(value, ensure_ascii=False)] if isinstance(value, Mapping) and value else _texts(given)


def _categories(given: Assert) -> Any:
    return _texts(given) if given.get("value") else None


def _nothing(_: Assert) -> None:
    return None


_VALUES: Mapping[str, Callable[[Assert], Any]] = {
    **dict.fromkeys(("contains", "icontains", "starts-with", "levenshtein", "rouge-n", "webhook"), _plain),
    **dict.fromkeys(("javascript", "python", "finish-reason"), _plain),
    "regex": lambda given: _pattern(_one(given)),
    **dict.fromkeys(("contains-all", "contains-any", "icontains-all", "icontains-any"), _listed),
    **dict.fromkeys(("bleu", "gleu", "meteor"), _several),
    "equals": _equal,
    **dict.fromkeys(("is-json", "contains-json"), _schema),
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
JUDGED = frozenset(
    {
        *("llm-rubric", "g-eval", "search-rubric", "agent-rubric", "pi", "select-best", "moderation"),
        *("model-graded-closedqa", "factuality", "trajectory:goal-success"),
    }
)
"""Those that a judge scores."""
_WITHOUT_THRESHOLD = frozenset({"model-graded-closedqa", "factuality", "select-best", "moderation"})
WITHOUT_NOT = frozenset(
    {
        *("factuality", "model-graded-factuality", "model-graded-closedqa", "answer-relevance", "context-faithfulness"),
        *("context-recall", "context-relevance", "pi", "is-valid-function-call", "is-valid-openai-function-call"),
        "is-valid-openai-tools-call",
    }
)
"""Types whose ``not-`` promptfoo reads and ignores."""


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
_ONE_BEST = (
    "promptfoo fails every output of a test but the best; here each prompt with each provider is a scenario of its own"
)
_RUNS = f"a metric of `{CHECKS}.py`, which the import writes: the gate runs the code in its sandbox, by {{}}"
_DIFFERENCES: Mapping[str, str] = {
    "regex": ", in Python's syntax",
    "is-refusal": ", by other phrases of English",
    "rouge-n": "; texts are split into words by simpler rules",
    "is-html": "; elements are read by Python's parser",
    "contains-xml": "; elements are read more simply",
    "contains-json": "; what is between braces is YAML if the interpreter has PyYAML",
    "is-sql": ", by the package `node-sql-parser`, which `system.setup` must install",
    "contains-sql": ", by the package `node-sql-parser`, which `system.setup` must install",
    "meteor": ", by the package `natural`, which `system.setup` must install",
    "finish-reason": ": `stop` unless the answer was cut or called tools",
    "guardrails": ": the answer was not ended by the provider's content filter",
    "webhook": ", with `system.environment: {PROMPTFOO_WEBHOOKS: 'true'}`",
    "is-valid-openai-tools-call": ", by the tools of the request",
    "tool-call-f1": ", by the calls of the reply",
    "trajectory:tool-used": ", by the calls of tools",
    "trajectory:tool-sequence": ", by the calls of tools",
    "trajectory:tool-args-match": ", by the calls of tools",
    "trajectory:step-count": ", by the calls of tools",
    "select-best": f", for each output by itself: {_ONE_BEST}",
}
_near = partial(Rule, outcome=ImportOutcome.APPROXIMATED)
_person = partial(Rule, outcome=ImportOutcome.MANUAL)

_NATIVE: Mapping[str, Rule] = {
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
    "not-equals": _near(
        f"the rule `regex_must_not_match`; white space at the ends is ignored; for an object {_TEXT}",
        apply=_equals_not,
    ),
    "is-json": Rule(f"`json: {{}}`; with a schema {_TEXT}", apply=_json),
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
    "cost": _near(
        "`limits.usd`: the estimated cost of the turn's own model calls", apply=partial(_limit, key="usd", unit=1.0)
    ),
    "latency": _near(
        "`limits.seconds` of the turn, measured only with live answers",
        apply=partial(_limit, key="seconds", unit=0.001),
    ),
    "word-count": Rule(f"`max_words`, or {_TEXT}", apply=_words),
    "trajectory:tool-used": Rule(
        f"the rule `must_call_tool` for each tool, or {_TEXT}", apply=partial(_tool_rule, rule="must_call_tool")
    ),
    "not-trajectory:tool-used": Rule(
        f"the rule `must_not_call_tool` for each tool, or {_TEXT}",
        apply=partial(_tool_rule, rule="must_not_call_tool", negate=True),
    ),
    "max-score": _near(f"left out: {_ONE_BEST}, and passes by its other assertions"),
    "ruby": _person("code in Ruby is not run: write it in Python into `promptfoo_left.py`"),
}


def _checked() -> dict[str, Rule]:
    """The types that only the written module knows, each with its ``not-``."""
    rules: dict[str, Rule] = {}
    for kind in _VALUES:
        language = {"javascript": "Node", "python": "Python"}.get(kind, "")
        becomes = _RUNS.format(language) if language else _TEXT
        becomes += (f"; {_JUDGE}" if kind in JUDGED else "") + _DIFFERENCES.get(kind, "")
        rule = _near if language or kind in JUDGED or kind in _DIFFERENCES else Rule
        for negate in (False, True):
            name = f"not-{kind}" if negate else kind
            if name not in _NATIVE and not (negate and kind in WITHOUT_NOT):
                apply = partial(checked, kind=kind, negate=negate)
                rules[name] = rule(becomes, apply=apply, is_code=bool(language))
    return rules


ASSERTIONS: Mapping[str, Rule] = {**_NATIVE, **_checked()}
SAME = {
    "similar:cosine": "similar",
    "model-graded-factuality": "factuality",
    "fn": "javascript",
    "eval": "javascript",
    "grade": "llm-rubric",
}
"""Other names of types, some of them only in CSV files."""
_NAMES = (
    "classifier human is-valid-function-call is-valid-openai-function-call noise-sensitivity perplexity"
    " perplexity-score research-rubric similar:dot similar:euclidean skill-used trace-error-spans trace-span-count"
    " trace-span-duration video-rubric"
)
WITHOUT_COUNTERPART = frozenset(_NAMES.split())
"""Types of promptfoo that nothing here stands for."""
TYPES = tuple(sorted({*ASSERTIONS, *SAME, *WITHOUT_COUNTERPART}, key=lambda name: (-len(name), name)))
"""All types of promptfoo that are known here, the longest first."""
OTHERS = _person("no counterpart: write it in Python into `promptfoo_left.py`, which has its place")
"""For every other type."""


def rule_of(name: str) -> Rule:
    """What a type of assertion becomes."""
    if is_attack(name):
        becomes = f"GEval with this project's words for what {name.removeprefix(PREFIX)} looks for; {_JUDGE}"
        return replace(ASSERTIONS["llm-rubric"], becomes=becomes)
    base = name.removeprefix("not-")
    base = SAME.get(base, base)
    if base != name and name.startswith("not-") and base in WITHOUT_NOT and base in ASSERTIONS:
        rule = ASSERTIONS[base]
        becomes = f"{rule.becomes}; without `not-`, which promptfoo ignores here"
        return replace(rule, becomes=becomes, outcome=ImportOutcome.APPROXIMATED)
    return ASSERTIONS.get(f"not-{base}" if name.startswith("not-") else base, OTHERS)


def kind_of(name: str) -> tuple[str, bool]:
    """The type for the written module, and whether it is negated; empty for one that the module does not know."""
    base = "llm-rubric" if is_attack(name) else name.removeprefix("not-")
    base = SAME.get(base, base)
    return base if base in _VALUES else "", name.startswith("not-") and base not in WITHOUT_NOT


LEFT = "promptfoo_left.py"
"""The file with a starting point for each assertion that a person must write."""
_LEFT = """# Assertions that `ratiba import` left to you. Write one, and list it in its scenario under `assertions`:
#   - {metric: "promptfoo_left:NAME", threshold: 1.0}
"""


def left_file(left: Sequence[Left]) -> bytes:
    """A starting point for each assertion that a person must write: a metric of one's own."""
    same: dict[tuple[str, str], Left] = {}
    for each in left:
        same.setdefault((each.kind, json.dumps([each.value, each.threshold], default=str)), each)
    texts = [_LEFT]
    for number, each in enumerate(same.values(), 1):
        name = re.sub(r"\W+", "_", each.kind, flags=re.ASCII).strip("_").lower()
        given = {"value": each.value, "threshold": each.threshold}
        shown = json.dumps({key: value for key, value in given.items() if value is not None}, default=str)
        texts.append(
            f"\n\ndef {name or 'check'}_{number}(evidence):\n"
            f"    # {printable(each.file)}:{each.line}: {printable(each.kind)} {shown}\n"
            '    reply = evidence["turns"][-1]["reply"]["text"]\n'
            '    raise NotImplementedError(reply)  # return {"value": 0.0 to 1.0, "reason": text}\n'
        )
    return "".join(texts).encode()
