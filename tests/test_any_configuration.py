"""The configuration's reader against files that are nearly right: one place of a file with every block is spoilt."""

import re
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.config.configuration import read_configuration
from ratiba_action.errors import FileProblem, SuiteError
from tests.support.spoilt_documents import leaves, line_of, mappings, places, spoilt, written

PAGE = (Path(__file__).parents[1] / "docs" / "configuration.md").read_text(encoding="utf-8")
(SHOWN,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
WHOLE: dict[str, Any] = yaml.safe_load(SHOWN)
WHOLE["system"]["variants"] = {"mini": {"environment": {"CHAT_MODEL": "gpt-5-mini"}}}
NAMED_FREELY = ("rows", "environment", "prices", "overrides", "metric_thresholds", "variants", "with")
"""Mappings whose keys are names that the writer chooses."""
OF_TWO_FORMS = ("stop_on_failure",)
"""A mapping or a word: an unknown key is told at the block's own."""

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=8), one, max_size=3),
    max_leaves=6,
)


def problems_of(document: Any) -> tuple[FileProblem, ...]:
    try:
        read_configuration("ratiba.yml", written(document))
    except SuiteError as refused:
        return refused.problems
    return ()


def test_the_configuration_that_is_spoilt_is_right() -> None:
    assert problems_of(WHOLE) == ()


@given(st.sampled_from(list(places(WHOLE))), anything)
def test_anything_in_any_place_is_a_configuration_or_problems_with_their_lines(place: Any, odd: Any) -> None:
    document = spoilt(WHOLE, place, odd)
    for problem in problems_of(document):
        assert problem.message
        assert problem.line is None or 1 <= problem.line <= written(document).count(b"\n")


@given(
    st.sampled_from(mappings(WHOLE, NAMED_FREELY + OF_TWO_FORMS)),
    st.from_regex(r"[a-z]{3,9}_[a-z]{3,9}x", fullmatch=True),
)
def test_a_key_that_nobody_knows_is_refused_wherever_it_stands(place: Any, key: str) -> None:
    document = spoilt(WHOLE, (*place, key), "misspelt")
    assert [problem.line for problem in problems_of(document) if key in problem.message] == [line_of(key, document)]


@given(st.sampled_from(leaves(WHOLE, ())))
def test_a_mapping_in_the_place_of_a_word_or_number_is_refused_where_it_stands(place: Any) -> None:
    document = spoilt(WHOLE, place, {"surely": ["wrong"]})
    line = line_of("surely", document)
    messages = [problem.line for problem in problems_of(document)]
    assert any(
        at is not None and line - 2 <= at <= line for at in messages
    )  # a block of two forms is told at its own key
