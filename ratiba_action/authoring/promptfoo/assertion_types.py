"""What each type of promptfoo's assertions becomes. ``docs/import.md`` has this table."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ratiba_action.authoring.imports import ImportOutcome
from ratiba_action.authoring.promptfoo.assertion_values import VALUES
from ratiba_action.authoring.promptfoo.attacks import PREFIX, is_attack
from ratiba_action.authoring.promptfoo.rules import JUDGE, ONE_BEST, WRITTEN, Rule, by_a_person, near
from ratiba_action.authoring.promptfoo.scenario_assertions import NATIVE
from ratiba_action.authoring.promptfoo.written_checks import CHECKS, JUDGED, checked

WITHOUT_NOT = frozenset(
    {
        *("factuality", "model-graded-factuality", "model-graded-closedqa", "answer-relevance", "context-faithfulness"),
        *("context-recall", "context-relevance", "pi", "is-valid-function-call", "is-valid-openai-function-call"),
        "is-valid-openai-tools-call",
    }
)
"""Types whose ``not-`` promptfoo reads and ignores."""
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
    "select-best": f", for each output by itself: {ONE_BEST}",
}


def _checked() -> dict[str, Rule]:
    """The types that only the written module knows, each with its ``not-``."""
    rules: dict[str, Rule] = {}
    for kind in VALUES:
        language = {"javascript": "Node", "python": "Python"}.get(kind, "")
        becomes = _RUNS.format(language) if language else WRITTEN
        becomes += (f"; {JUDGE}" if kind in JUDGED else "") + _DIFFERENCES.get(kind, "")
        rule = near if language or kind in JUDGED or kind in _DIFFERENCES else Rule
        for negate in (False, True):
            name = f"not-{kind}" if negate else kind
            if name not in NATIVE and not (negate and kind in WITHOUT_NOT):
                apply = partial(checked, kind=kind, negate=negate)
                rules[name] = rule(becomes, apply=apply, is_code=bool(language))
    return rules


ASSERTIONS: Mapping[str, Rule] = {**NATIVE, **_checked()}
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
OTHERS = by_a_person("no counterpart: write it in Python into `promptfoo_left.py`, which has its place")
"""For every other type."""


def rule_of(name: str) -> Rule:
    """What a type of assertion becomes."""
    if is_attack(name):
        becomes = f"GEval with this project's words for what {name.removeprefix(PREFIX)} looks for; {JUDGE}"
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
    return base if base in VALUES else "", name.startswith("not-") and base not in WITHOUT_NOT
