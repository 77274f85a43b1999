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
        "anthropic/claude-5.5-opus",
        "claude-5-5-opus-20260901",
    ],
)
def test_every_spelling_of_a_model_has_one_name(spelling: str) -> None:
    assert base_model(spelling) == base_model("claude-opus-5-5")


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ("gpt-35-turbo", "gpt-3.5-turbo-0125"),
        ("claude-sonnet-4-0", "claude-sonnet-4-20250514"),
        ("gemini-2.5-pro-preview-05-06", "models/gemini-2.5-pro"),
    ],
)
def test_what_a_platform_calls_a_vendors_model_is_its_name(one: str, same: str) -> None:
    assert base_model(one) == base_model(same)


@pytest.mark.parametrize("other", ["claude-opus-5", "claude-opus-5-55", "claude-opus-5-5-mini", "gpt-5.2"])
def test_another_model_keeps_another_name(other: str) -> None:
    assert base_model(other) != base_model("claude-opus-5-5")


def test_a_model_that_chats_without_reasoning_is_another_one() -> None:
    assert base_model("gpt-5-chat-latest") != base_model("gpt-5")


def test_a_date_with_dashes_is_no_part_of_a_name() -> None:
    assert base_model("gpt-4o-2024-08-06") == base_model("gpt-4o")


def test_a_fine_tuned_model_has_the_name_of_the_model_that_it_was_tuned_from() -> None:
    assert base_model("ft:gpt-4o-2024-08-06:acme::abc123") == base_model("gpt-4o")


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
