import pytest

from ratiba_action.core.model_names import base_model


@pytest.mark.parametrize(
    "spelling",
    [
        "claude-opus-5-5",
        "claude-opus-5-5-20260901",
        "claude-opus-5-5-latest",
        "anthropic/claude-opus-5-5",
        "Claude-Opus-5-5",
        "claude-opus-5-5@20260901",
    ],
)
def test_every_spelling_of_a_model_has_one_name(spelling: str) -> None:
    assert base_model(spelling) == "claude-opus-5-5"


@pytest.mark.parametrize("other", ["claude-opus-5", "claude-opus-5-55", "claude-opus-5-5-mini", "gpt-5.2"])
def test_another_model_keeps_another_name(other: str) -> None:
    assert base_model(other) != "claude-opus-5-5"


def test_a_date_with_dashes_is_no_part_of_a_name() -> None:
    assert base_model("gpt-4o-2024-08-06") == base_model("gpt-4o")
