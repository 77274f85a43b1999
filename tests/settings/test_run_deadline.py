import pytest

from ratiba_action.settings.run_deadline import problems_of_deadline, read_deadline


def test_an_option_comes_before_the_variable() -> None:
    assert read_deadline("90.5", {"RATIBA_DEADLINE": "60"}) == 90.5
    assert read_deadline("", {"RATIBA_DEADLINE": "60"}) == 60


@pytest.mark.parametrize("environment", [{}, {"RATIBA_DEADLINE": ""}])
def test_without_either_a_run_may_take_any_time(environment: dict[str, str]) -> None:
    assert read_deadline("", environment) is None
    assert problems_of_deadline(environment) == ()


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf", "86401", "1500 s"])
def test_what_is_no_duration_is_a_problem_and_no_deadline(text: str) -> None:
    environment = {"RATIBA_DEADLINE": text}
    (problem,) = problems_of_deadline(environment)
    assert repr(text) in problem
    assert "more than 0 and at most 86400" in problem
    assert read_deadline("", environment) is None
    with pytest.raises(ValueError, match="seconds"):
        read_deadline(text, {})
