import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.judging.judge_independence import require_independent_judges


@pytest.mark.parametrize(
    "spelling",
    [
        "claude-opus-5-5", "claude-opus-5.5", "Claude-Opus-5-5-20260901", "anthropic/claude-opus-5-5-latest",
        "us.anthropic.claude-opus-5-5-v1:0", "anthropic.claude-opus-5-5-20260901-v2:0", "claude-opus-5-5@20260901",
    ],
)  # fmt: skip
def test_a_judge_that_is_the_generator_is_refused_in_every_spelling(spelling: str) -> None:
    with pytest.raises(ConfigurationError, match="that the system under test uses"):
        require_independent_judges([spelling, "gpt-5.6"], "claude-opus-5-5", "gpt-6")
    with pytest.raises(ConfigurationError, match="cross-check judge 'claude-opus-5-5'"):
        require_independent_judges([spelling], "gpt-6", "claude-opus-5-5")


def test_a_refusal_holds_for_replayed_grades_too() -> None:
    with pytest.raises(ConfigurationError):
        require_independent_judges(["claude-opus-5-5"], "claude-opus-5-5", replayed=True)


def test_the_same_family_is_allowed_with_the_cross_check_on_and_said() -> None:
    (note,) = require_independent_judges(["claude-sonnet-5-5", "gpt-5.6-luna"], "claude-opus-5-5", "gemini-3-pro")
    assert "claude-opus-5-5 is of the family of claude-sonnet-5-5" in note
    assert "gemini-3-pro cross-checks it" in note


def test_the_same_family_without_a_cross_check_is_a_note_since_a_team_may_have_one_key_only() -> None:
    (note,) = require_independent_judges(["claude-sonnet-5-5"], "claude-opus-5-5")
    assert note == (
        "The judge claude-opus-5-5 is of the family of claude-sonnet-5-5, which it judges; nothing is cross-checked."
    )


def test_replayed_grades_of_the_same_family_are_used_and_said() -> None:
    (note,) = require_independent_judges(["claude-sonnet-5-5"], "claude-opus-5-5", replayed=True)
    assert "its scores are replayed" in note


def test_the_second_judge_is_another_model() -> None:
    with pytest.raises(ConfigurationError, match="is the judge itself"):
        require_independent_judges(["mistral-large"], "gpt-5.6", "openai/gpt-5.6-latest")


def test_two_judges_of_one_family_are_said() -> None:
    (note,) = require_independent_judges(["mistral-large"], "gpt-5.6", "o3-pro")
    assert "of one family" in note


def test_judges_of_another_family_need_no_word() -> None:
    assert require_independent_judges(["claude-sonnet-5-5"], "gpt-5.6", "gemini-3-pro") == ()
    assert require_independent_judges([], "claude-opus-5-5", "gpt-5.6") == ()
    assert require_independent_judges(["claude-sonnet-5-5"], "gpt-5.6") == ()


def test_every_problem_is_reported_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        require_independent_judges(["gpt-5.6", "claude-opus-5-5"], "claude-opus-5-5", "gpt-5.6")
    assert "The judge 'claude-opus-5-5'" in str(caught.value)
    assert "The cross-check judge 'gpt-5.6'" in str(caught.value)
    assert "Set judge.model and judge.cross_check.model in the configuration" in str(caught.value)
