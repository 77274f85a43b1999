import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiba_action.core.patterns import pattern_problem


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*b", r"(x+x+)+y", r"(q|qq)+z", r"(é+)+x", r"(\w+\s?)*!$"])
def test_a_pattern_that_can_take_exponential_time_is_refused(pattern: str) -> None:
    problem = pattern_problem(pattern) or ""
    assert repr(pattern) in problem
    assert "a repetition inside a repetition" in problem


@pytest.mark.parametrize(
    "pattern", [r"KES \d{1,3}(,\d{3})*", r"\bPIN\b", r"(?i)reserv\w+", r"^\S+@\S+$", r"[^.!?]{0,40}\bpin\b", r"\p{Lu}"]
)
def test_a_plain_pattern_is_let_through(pattern: str) -> None:
    assert pattern_problem(pattern) is None


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{2,1}", "(?P<n>", "\\", "*"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    assert "not a regular expression" in (pattern_problem(pattern) or "")


@settings(max_examples=30, deadline=None)
@given(st.text(alphabet="ab(|)*+?[]{},12^$.\\wsd ", max_size=24))
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    problem = pattern_problem(text)
    assert problem is None or repr(text) in problem
