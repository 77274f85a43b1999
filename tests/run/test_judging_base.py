from dataclasses import replace

import pytest

from ratiba_action.model.scenario import Assertion, FailureRule, Suite
from ratiba_action.suite.scenario_selection import edited_code
from tests.support.sample_report import sample_scenario

SUITE = Suite(
    (
        replace(
            sample_scenario("a"),
            assertions=(Assertion("own.tone:Tone", 0.5), Assertion("BookingSlotConsistencyMetric", 1.0)),
            rules=(FailureRule("custom", ["own.rules:polite"]), FailureRule("must_contain", "own.words:word")),
        ),
    ),
    "",
)


@pytest.mark.parametrize(
    ("root", "path", "named"),
    [
        (".", "own/tone.py", ["own.tone:Tone"]),
        ("systems/spa", "systems/spa/own/rules.py", ["own.rules:polite"]),
        (".", "own/__init__.py", ["own.rules:polite", "own.tone:Tone"]),
        (".", "own/tone/__init__.py", ["own.tone:Tone"]),
        ("systems/spa", "own/tone.py", []),
        (".", "own/words.py", []),
        (".", "docs/tone.py", []),
    ],
)
def test_an_edit_of_a_custom_rules_or_metrics_module_is_told(root: str, path: str, named: list[str]) -> None:
    assert [note.split()[0] for note in edited_code(SUITE, root, [path, "README.md"])] == named
