import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiba_action.util.patterns import SearchTime, compile_pattern, pattern_problem


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


@pytest.mark.parametrize(
    "pattern", ["a{1000000000}", "(((a{1000}){1000}){1000}){1000}", "(?:x{9999999})?", "((a){500}){500}"]
)
def test_a_pattern_whose_counts_would_fill_the_memory_is_refused_before_it_is_compiled(pattern: str) -> None:
    assert "repeats more than 100,000 times" in (pattern_problem(pattern) or "")


def test_counts_that_stand_beside_each_other_are_let_through() -> None:
    identifier = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    assert pattern_problem(rf"{identifier} {identifier} \d{{4}}-\d{{2}}-\d{{2}} (?:\d{{1,3}},){{2}}\d{{3}}") is None


def test_all_searches_together_have_one_limit() -> None:
    seconds = iter(range(100))
    time = SearchTime(2, lambda: float(next(seconds)))
    pattern = compile_pattern("b")
    assert [time.search(pattern, text) for text in ("abc", "xyz")] == [True, False]
    with pytest.raises(TimeoutError):
        time.search(pattern, "abc")
