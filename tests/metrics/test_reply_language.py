"""Swahili and English are told apart offline; what is too short is said to be undecided."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.registry import load_metric, metric_problems
from ratiba_action.model.measurement import Case
from ratiba_action.model.scenario import Expectation
from ratiba_action.util.language_detection import LanguageDetection
from tests.support.cases import case, exchange

SWAHILI = "Habari, nafasi ya kesho saa nane mchana iko wazi, karibu sana."
ENGLISH = "Your appointment is confirmed for tomorrow afternoon at two."
MIXED = "Sawa, nimepanga booking yako. Please arrive ten minutes early so that we can start on time."


def conversation(*replies: str, language: str = "sw") -> Case:
    return case(*(exchange("Habari", reply) for reply in replies), language=language)


@pytest.mark.parametrize(
    ("text", "language"),
    [(SWAHILI, "sw"), (ENGLISH, "en"), (MIXED, "en"), ("Sawa", None), ("", None), ("12:00, KES 3,500", None)],
)
def test_a_language_is_reported_or_left_open(text: str, language: str | None) -> None:
    assert LanguageDetection().language_of(text) == language


def test_a_third_language_is_reported_when_it_is_listed() -> None:
    french = "Votre rendez-vous est confirmé pour demain après-midi."
    assert LanguageDetection(("sw", "en", "fr")).language_of(french) == "fr"


@given(st.text())
@settings(max_examples=30)
def test_the_shares_of_any_text_sum_to_one_or_there_are_none(text: str) -> None:
    shares = LanguageDetection().shares(text)
    assert not shares or sum(shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("languages", [("sw",), ("sw", "xx"), ()])
def test_languages_that_cannot_be_distinguished_are_refused(languages: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match="two or more"):
        LanguageDetection(languages).language_of(SWAHILI)


async def test_the_score_is_the_share_of_replies_in_their_language() -> None:
    score = await load_metric("ReplyLanguageMetric").measure(conversation(SWAHILI, ENGLISH, "Sawa"), 0.8)
    assert score.value == 1 / 2
    assert score.reason.startswith("turn 2: 0.00, expected sw: en 100%")
    assert score.reason.endswith("1 reply too short to tell")


async def test_the_share_of_words_that_is_enough_is_a_parameter() -> None:
    mixed = conversation(MIXED)
    assert (await load_metric("ReplyLanguageMetric").measure(mixed, 0.8)).value == 0
    assert (await load_metric("ReplyLanguageMetric", None, {"min_share": 0.2}).measure(mixed, 0.8)).value == 1


async def test_a_turns_own_language_goes_before_the_scenarios() -> None:
    held = case(exchange("Hello", ENGLISH, expect=Expectation(language="en")), exchange("Habari", SWAHILI))
    assert (await load_metric("ReplyLanguageMetric").measure(held, 1.0)).passed


async def test_code_switching_is_measured_by_words() -> None:
    score = await load_metric("CodeSwitchMetric").measure(conversation(MIXED), 0.8)
    # 4 of 16 words are Swahili by lingua's own stretches.
    assert score.value == 4 / 16
    assert (await load_metric("CodeSwitchMetric").measure(conversation(SWAHILI), 0.8)).value == 1


@pytest.mark.parametrize("metric", ["ReplyLanguageMetric", "CodeSwitchMetric"])
async def test_short_replies_alone_measure_nothing(metric: str) -> None:
    with pytest.raises(ConfigurationError, match="three words"):
        await load_metric(metric).measure(conversation("Sawa", "Ndio"), 0.8)


async def test_a_mixed_scenario_has_to_name_its_language() -> None:
    mixed = conversation(SWAHILI, language="mixed")
    with pytest.raises(ConfigurationError, match=r"in 'mixed'.*language"):
        await load_metric("ReplyLanguageMetric").measure(mixed, 0.8)
    assert (await load_metric("ReplyLanguageMetric", None, {"language": "sw"}).measure(mixed, 0.8)).passed


def test_parameters_that_contradict_each_other_are_refused() -> None:
    (problem,) = metric_problems("ReplyLanguageMetric", {"languages": ["sw", "en"], "language": "fr"})
    assert "'fr' is not one of" in problem
