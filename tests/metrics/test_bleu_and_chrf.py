"""BLEU and chrF are sacrebleu's own, a hundredth of them."""

import pytest
import sacrebleu

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.registry import load_metric
from ratiba_action.model.values import JsonObject
from tests.support.cases import answered

REFERENCE = "It is a guide to action that ensures that the military will forever heed Party commands"
CANDIDATE = "It is a guide to action which ensures that the military always obeys the commands of the party"


async def value(name: str, reply: str, reference: str, parameters: JsonObject | None = None) -> float:
    score = await load_metric(name, None, parameters).measure(answered((reply, reference)), 0.5)
    return score.value


async def test_bleu_of_the_example_of_papineni_is_what_counting_its_n_grams_gives() -> None:
    # Papineni et al. 2002, candidate 1 against reference 1: n-grams in common over those of the candidate.
    by_hand = (11 / 18 * 8 / 17 * 6 / 16 * 4 / 15) ** 0.25
    assert await value("BleuMetric", CANDIDATE, REFERENCE) == pytest.approx(by_hand)


async def test_chrf_agrees_with_sacrebleu_and_word_order_two_is_chrf_plus_plus() -> None:
    chrf = sacrebleu.sentence_chrf(CANDIDATE, [REFERENCE])
    plus = sacrebleu.sentence_chrf(CANDIDATE, [REFERENCE], word_order=2)
    assert await value("ChrfMetric", CANDIDATE, REFERENCE) == pytest.approx(chrf.score / 100)
    assert await value("ChrfMetric", CANDIDATE, REFERENCE, {"word_order": 2}) == pytest.approx(plus.score / 100)


@pytest.mark.parametrize("name", ["BleuMetric", "ChrfMetric"])
async def test_the_same_text_is_1_and_another_alphabet_is_0(name: str) -> None:
    assert await value(name, "Karibu sana", "Karibu sana") == 1
    assert await value(name, "Привет вам всем", "Karibu sana") == 0


@pytest.mark.parametrize("name", ["BleuMetric", "ChrfMetric"])
async def test_case_counts_unless_the_scenario_says_otherwise(name: str) -> None:
    assert await value(name, "KARIBU SANA", "karibu sana") < 1
    assert await value(name, "KARIBU SANA", "karibu sana", {"lowercase": True}) == 1


@pytest.mark.parametrize(("name", "signature"), [("BleuMetric", "eff:yes|tok:13a"), ("ChrfMetric", "nc:6|nw:0")])
async def test_version_and_signature_say_how_it_was_measured(name: str, signature: str) -> None:
    score = await load_metric(name).measure(answered(("Karibu", "Karibu")), 0.5)
    assert score.version == f"1.0.0+sacrebleu-{sacrebleu.__version__}"
    assert signature in score.reason


@pytest.mark.parametrize("name", ["BleuMetric", "ChrfMetric", "RougeLMetric", "CharacterSimilarityMetric"])
async def test_a_conversation_without_reference_answers_is_an_error_and_not_a_score(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"nothing to measure.*expect\.answer"):
        await load_metric(name).measure(answered(("Karibu", None)), 0.5)
