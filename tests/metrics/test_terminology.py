"""Rivals of the house's terms are found with their affixes, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.registry import load_metric, metric_problems
from ratiba_action.metrics.terminology import Catalogue, RivalUse, Term
from ratiba_action.model.values import JsonObject
from tests.support.cases import case, exchange

TERMS = (
    Term("booking", ("reservation", "uhifadhi"), aliases=("reservation desk",), inflections=("nimereserve",)),
    Term("mteja", ("mnunuzi", "kitabu", "oda")),
    Term("kandamwili", ("massage parlour",)),
)
SWAHILI = Catalogue("sw", TERMS)


def rivals(text: str, *customer: str) -> list[str]:
    return [use.text for use in SWAHILI.rivals_in(text, customer)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Reservation yako iko tayari", "Reservation"),
        ("RESERVATION!", "RESERVATION"),
        ("mareservation mengi", "mareservation"),
        ("ma-reservation mengi", "reservation"),
        ("fika reservationni", "reservationni"),
        ("reservationyako ipo", "reservationyako"),
        ("kureservation", "kureservation"),
        ("nimereservation tayari", "nimereservation"),
        ("tutakureservation", "tutakureservation"),
        ("nimereserve nafasi", "nimereserve"),
        ("wanunuzi wetu", "wanunuzi"),
        ("vitabu vyote", "vitabu"),
        ("Karibu massage-parlour yetu", "massage-parlour"),
        ("karibu massage parlourni", "massage parlourni"),
        ("rèservation", "rèservation"),
    ],
)
def test_a_rival_is_found_in_its_forms(text: str, found: str) -> None:
    assert rivals(text) in ([found], [found.removeprefix("tutaku")])


@pytest.mark.parametrize(
    "text",
    [
        "Booking yako iko tayari",
        "Go to the reservation desk",
        "preservation",
        "reservations",  # the affixes are those of Swahili
        "modani",
        "massage ya parlour",
        "",
        "✓ 12:00",
    ],
)
def test_what_is_no_rival_is_left_alone(text: str) -> None:
    assert rivals(text) == []


def test_the_affixes_are_those_of_the_catalogues_language() -> None:
    assert Catalogue("en", TERMS).rivals_in("two reservations") == (RivalUse("booking", "reservations"),)
    assert Catalogue("en", TERMS).rivals_in("mareservation") == ()
    assert Catalogue("fr", TERMS).rivals_in("reservations") == ()


@pytest.mark.parametrize("marks", ['"%s"', "“%s”", "«%s»", "'%s'"])
def test_a_quote_of_the_customers_own_words_is_the_customers(marks: str) -> None:
    reply = "Uliandika " + marks % "reservation ya kesho"
    assert rivals(reply, "Nataka reservation ya kesho") == []
    assert rivals(reply, "Nataka booking ya kesho") == ["reservation"]


def test_words_outside_the_quote_are_the_assistants() -> None:
    assert rivals("Uliandika 'reservation'. Reservation yako ipo.", "reservation?") == ["Reservation"]


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_is_read_and_what_is_found_stands_in_it(text: str, customer: list[str]) -> None:
    assert all(use.text in text for use in SWAHILI.rivals_in(text, customer))


@given(st.sampled_from(["booking", "reservation", "mteja"]), st.text())
def test_a_rival_among_other_words_is_always_found(word: str, rest: str) -> None:
    found = SWAHILI.rivals_in(f"{rest}\n{word}")
    assert any(use.text == word for use in found) == (word == "reservation")


CATALOGUE: JsonObject = {
    "catalogue": {"language": "sw", "terms": [{"canonical": "booking", "rivals": ["reservation"]}]}
}


async def test_the_score_is_the_share_of_replies_without_a_rival_and_names_it() -> None:
    held = case(exchange("Habari", "Karibu"), exchange("reservation", "Reservation yako ipo"), exchange(None, " "))
    score = await load_metric("TerminologyMetric", None, CATALOGUE).measure(held, 1.0)
    assert score.value == 1 / 2
    assert "turn 2: 0.00, says 'Reservation' for 'booking'" in score.reason


async def test_another_catalogue_is_another_version() -> None:
    other: JsonObject = {"catalogue": {"language": "en", "terms": [{"canonical": "booking", "rivals": ["order"]}]}}
    first, second = (load_metric("TerminologyMetric", None, one).version for one in (CATALOGUE, other))
    assert first != second


async def test_a_conversation_without_words_measures_nothing() -> None:
    with pytest.raises(ConfigurationError, match="nothing to measure"):
        await load_metric("TerminologyMetric", None, CATALOGUE).measure(case(exchange("Habari", "")), 1.0)


@pytest.mark.parametrize(
    ("terms", "named"),
    [
        ([], "catalogue.terms"),
        ([{"canonical": "booking"}], "catalogue.terms.0.rivals"),
        ([{"canonical": "!", "rivals": ["x"]}], "catalogue.terms.0.canonical"),
        ([{"canonical": "booking", "rivals": ["x"], "synonyms": []}], "catalogue.terms.0.synonyms"),
    ],
)
def test_a_catalogue_that_cannot_be_is_reported_at_its_place(terms: list[JsonObject], named: str) -> None:
    (problem,) = metric_problems("TerminologyMetric", {"catalogue": {"language": "sw", "terms": terms}})
    assert named in problem
