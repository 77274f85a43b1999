"""A failure rule may be written as the evaluation harness of the project's sources writes it, everywhere."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.scenario import Scenario
from ratiba_action.production.inline import check_answer, read_inline_rules
from ratiba_action.suite.load import load_suite

Rule = Mapping[str, Any]


def scenarios(*rules: Rule, rows: str = "", **more: Any) -> tuple[Scenario, ...]:
    scenario = {"id": "dose", "language": "fr", "turns": [{"user": "Dose ?"}], "rules": list(rules), **more}
    files = {"scenarios/dose.yaml": json.dumps(scenario).encode(), "scenarios/rows.jsonl": rows.encode()}
    return load_suite(files if rows else dict(list(files.items())[:1]), metric_problems, validate_rule).scenarios


def meaning(scenario: Scenario) -> tuple[Any, ...]:
    rules = [(rule.type, rule.value) for rule in scenario.rules]
    return rules, [(entry.metric, entry.threshold) for entry in scenario.assertions]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"type": "must_call_tool", "tool": "drug_lookup"}, {"value": "drug_lookup"}),
        ({"type": "must_not_call_tool", "tool": ["delete_user", "refund"]}, {"value": ["delete_user", "refund"]}),
        ({"type": "regex_must_match", "pattern": r"\d+ mg"}, {"value": r"\d+ mg"}),
        ({"type": "regex_must_not_match", "pattern": "password|secret"}, {"value": "password|secret"}),
        ({"type": "max_hallucination_risk", "threshold": 0.7}, {"value": 0.3}),
        ({"type": "max_hallucination_risk", "threshold": 1}, {"value": 0}),
        ({"type": "max_hallucination_risk", "threshold": 0}, {"value": 1}),
        ({"type": "custom", "plugin": "my_app.DrugDosageCheck"}, {"value": "my_app:DrugDosageCheck"}),
        ({"type": "custom", "plugin": "my.app:Checks.dose"}, {"value": "my.app:Checks.dose"}),
        ({"type": "custom", "plugin": ["a.b.C", "d:e"]}, {"value": ["a.b:C", "d:e"]}),
    ],
)
def test_both_spellings_mean_the_same(theirs: Rule, ours: Rule) -> None:
    (read,), (same,) = scenarios(theirs), scenarios({"type": theirs["type"], **ours})
    assert meaning(read) == meaning(same)


def test_a_threshold_is_the_least_faithfulness_and_a_value_the_greatest_risk() -> None:
    (by_threshold,), (by_value,) = (
        scenarios({"type": "max_hallucination_risk", key: 0.9}) for key in ("threshold", "value")
    )
    assert [entry.threshold for entry in by_threshold.assertions] == [0.9]
    assert [entry.threshold for entry in by_value.assertions] == [0.1]


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (
            {"type": "must_call_tool", "tools": "a"},
            "the rule must_call_tool has no key 'tools'; it has `tool` or `value`",
        ),
        ({"type": "must_call_tool", "pattern": "a"}, "has no key 'pattern'; it has `tool` or `value`"),
        ({"type": "regex_must_match", "regex": "a"}, "has no key 'regex'; it has `pattern` or `value`"),
        ({"type": "must_contain", "tool": "a"}, "the rule must_contain has no key 'tool'; it has `value`"),
        ({"type": "must_contain", "text": "a"}, "the rule must_contain has no key 'text'; it has `value`"),
        ({"type": "max_hallucination_risk", "max": 0.3}, "no key 'max'; it has `threshold` or `value`"),
        ({"type": "max_hallucination_risk", "threshold": 1.2}, "threshold 1.2 of rule max_hallucination_risk must be"),
        ({"type": "max_hallucination_risk", "threshold": "0.7"}, "must be a number from 0 to 1, the least share of"),
        ({"type": "custom", "class": "a.B"}, "has no key 'class'; it has `plugin` or `value`"),
        ({"type": "custom", "plugin": "DrugDosageCheck"}, "'DrugDosageCheck' is not `module:function`"),
        ({"type": "regex_must_match", "pattern": "("}, "value of rule regex_must_match"),
        ({"type": "must_call_tool", "tool": "a", "value": "b"}, "has both `tool` and `value`; remove one of them"),
        ({"type": "must_call_tol", "tool": "a"}, "unknown rule type 'must_call_tol'; did you mean 'must_call_tool'"),
    ],
)
def test_a_refused_key_is_named_with_the_right_one_and_only_once(rule: Rule, problem: str) -> None:
    with pytest.raises(SuiteError) as refused:
        scenarios(rule)
    assert problem in str(refused.value)
    assert len(refused.value.problems) == 1


def test_columns_of_cases_fill_either_spelling() -> None:
    rows = "".join(json.dumps(row) + "\n" for row in ({"drug": "a", "least": 0.7}, {"drug": "b", "least": 0.9}))
    rules = (
        {"type": "must_call_tool", "tool": "look_up_${drug}"},
        {"type": "max_hallucination_risk", "threshold": "${least}"},
    )
    found = scenarios(*rules, rows=rows, cases="rows.jsonl")
    assert [scenario.rules[0].value for scenario in found] == ["look_up_a", "look_up_b"]
    assert [scenario.assertions[0].threshold for scenario in found] == [0.7, 0.9]


def test_inline_checks_read_both_spellings(tmp_path: Path) -> None:
    file = tmp_path / "checks.yaml"
    file.write_text("language: en\nrules:\n  - {type: regex_must_match, pattern: '\\d+ mg'}\n")
    rules = read_inline_rules(file)
    assert not check_answer("How much?", "Take 200 mg.", [], rules).flagged
    assert check_answer("How much?", "Take two.", [], rules).blocked
    file.write_text("language: en\nrules:\n  - {type: regex_must_match, regex: '\\d+ mg'}\n")
    with pytest.raises(SuiteError, match=r"checks.yaml:3: rules\.0: .* it has `pattern` or `value`"):
        read_inline_rules(file)
