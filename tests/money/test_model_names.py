import pytest

from ratiba_action.money.pricing import base_model, model_family


@pytest.mark.parametrize(
    "spelling",
    [
        "claude-opus-5-5",
        "claude-opus-5-5-20260901",
        "claude-opus-5-5-latest",
        "anthropic/claude-opus-5-5",
        "Claude-Opus-5-5",
        "claude-opus-5-5@20260901",
        "claude-opus-5.5",
        "anthropic.claude-opus-5-5-20260901-v1:0",
        "us.anthropic.claude-opus-5-5-v1:0",
        "models/claude-opus-5-5",
    ],
)
def test_every_spelling_of_a_model_has_one_name(spelling: str) -> None:
    assert base_model(spelling) == "claude-opus-5-5"


@pytest.mark.parametrize("other", ["claude-opus-5", "claude-opus-5-55", "claude-opus-5-5-mini", "gpt-5.2"])
def test_another_model_keeps_another_name(other: str) -> None:
    assert base_model(other) != "claude-opus-5-5"


def test_a_date_with_dashes_is_no_part_of_a_name() -> None:
    assert base_model("gpt-4o-2024-08-06") == base_model("gpt-4o")


def test_a_fine_tuned_model_has_the_name_of_the_model_that_it_was_tuned_from() -> None:
    assert base_model("ft:gpt-4o-2024-08-06:acme::abc123") == "gpt-4o"


def test_a_point_and_a_dash_in_a_version_are_the_same() -> None:
    assert base_model("claude-opus-4.7") == base_model("claude-opus-4-7")
    assert base_model("openai/gpt-5.6-luna") == base_model("gpt-5-6-luna") != base_model("gpt-5.6")


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("claude-sonnet-5-5", "claude"),
        ("us.anthropic.claude-opus-5-5-v1:0", "claude"),
        ("gpt-5.6-luna", "gpt"),
        ("chatgpt-4o-latest", "gpt"),
        ("o3-pro", "gpt"),
        ("gemini-3-pro", "gemini"),
        ("mistral-large-3", "mistral"),
        ("olmo-3", "olmo"),
        ("4711", "4711"),
    ],
)
def test_a_family_is_whom_a_model_descends_from(name: str, family: str) -> None:
    assert model_family(name) == family
