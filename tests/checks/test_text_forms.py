"""One normalisation for every assertion on text: no form of Unicode makes a false green, or both answers to one."""

import asyncio
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.checks.checks import check_transcript
from ratiba_action.metrics.key_phrase import KeyPhraseMetric
from ratiba_action.metrics.refusal import RefusalMetric
from ratiba_action.metrics.terminology import TerminologyMetric
from ratiba_action.model.scenario import Expectation, ExpectedReply, FailureRule
from ratiba_action.ports import Metric
from tests.support.cases import case, exchange

FORMS: dict[str, Callable[[str], str]] = {
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "no-break spaces": lambda text: text.replace(" ", "\N{NO-BREAK SPACE}"),
    "narrow spaces": lambda text: text.replace(" ", "\N{NARROW NO-BREAK SPACE}"),
    "full width": lambda text: "".join(
        chr(ord(one) + 0xFEE0) if one.isascii() and one.isalnum() else one for one in text
    ),
    "zero-width spaces": "\N{ZERO WIDTH SPACE}".join,
    "soft hyphens": "\N{SOFT HYPHEN}".join,
    "typographic apostrophes": lambda text: text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}"),
    "annotation marks": "\N{INTERLINEAR ANNOTATION SEPARATOR}".join,
    "stretched": "\N{ARABIC TATWEEL}".join,
    "other lines": lambda text: text.replace(" ", "  \n"),
}
REPLY = "I can't book it: the café costs 100 EUR."


def passed(reply: str, rule: str = "", value: str = "", **expected: Any) -> bool:
    """Whether one reply passes one expectation or rule."""
    expect = Expectation(reply=ExpectedReply(**expected) if expected else None)
    rules = (FailureRule(rule, value),) if rule else ()
    conversation = case(exchange("a", reply, expect=expect), rules=rules)
    (check,) = check_transcript(conversation.scenario, conversation.transcript)
    return check.passed


def has(reply: str, value: str) -> dict[str, bool]:
    """Whether a reply has a value, as each pair of an assertion and its negation answers."""
    pairs = {
        "contains": (passed(reply, contains=(value,)), passed(reply, not_contains=(value,))),
        "contains_word": (passed(reply, contains_word=(value,)), passed(reply, not_contains_word=(value,))),
        "any": (passed(reply, contains_any=(value,)), passed(reply, "must_not_contain", value)),
        "any_word": (passed(reply, contains_any_word=(value,)), passed(reply, "must_not_contain_word", value)),
        "rule": (passed(reply, "must_contain", value), passed(reply, "must_not_contain", value)),
        "word_rule": (passed(reply, "must_contain_word", value), passed(reply, "must_not_contain_word", value)),
    }
    assert all(positive is not negative for positive, negative in pairs.values()), pairs
    return {name: positive for name, (positive, _) in pairs.items()}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("value", "anywhere", "as_word"),
    [
        ("café", True, True),
        ("100 eur", True, True),
        ("CAN'T BOOK", True, True),
        ("caf", True, False),
        ("tea", False, False),
    ],
)
def test_a_text_is_there_in_every_form(form: str, value: str, *, anywhere: bool, as_word: bool) -> None:
    for reply, wanted in ((FORMS[form](REPLY), value), (REPLY, FORMS[form](value))):
        found = has(reply, wanted)
        assert {name: found[name] for name in ("contains", "any", "rule")} == dict.fromkeys(
            ("contains", "any", "rule"), anywhere
        )
        assert {name for name in found if "word" in name and found[name]} == (
            {"contains_word", "any_word", "word_rule"} if as_word else set()
        )
    assert passed(FORMS[form](REPLY), equals=REPLY)


PIECES = st.sampled_from(
    [
        "e",
        "E",
        "\u0301",
        "é",
        " ",
        "\u00a0",
        "\u200b",
        "\u00ad",
        "ﬁ",
        "fi",
        "ß",
        "ss",
        "1",
        ".",
        "'",
        "’",
        "\u0345",
        "İ",
        "谢",
        "ि",
        "ह",
        "\n",
    ]
)


@pytest.mark.parametrize(("reply", "value"), [("\u0130ptal edildi", "iptal"), ("ISPARTA", "\u0131sparta")])
def test_a_turkish_letter_is_found_in_either_case(reply: str, value: str) -> None:
    assert all(has(reply, value).values())
    assert all(has(value, reply.split(maxsplit=1)[0]).values())


@given(st.lists(PIECES, max_size=12).map("".join), st.lists(PIECES, min_size=1, max_size=4).map("".join))
def test_of_an_assertion_and_its_negation_exactly_one_passes(reply: str, value: str) -> None:
    if value.strip(" \n\u00a0\u200b\u00ad"):
        found = has(reply, value)
        assert len({found[name] for name in ("contains", "any", "rule")}) == 1
        assert len({found[name] for name in ("contains_word", "any_word", "word_rule")}) == 1
        assert found["contains"] or not found["contains_word"]
    assert passed(reply, "regex_must_match", "é|e\u0301") is not passed(reply, "regex_must_not_match", "é|e\u0301")


@pytest.mark.parametrize("reply", ["le café", unicodedata.normalize("NFD", "le café")])
def test_a_pattern_finds_a_composed_letter_however_it_is_spelled(reply: str) -> None:
    assert passed(reply, matches=("café",))
    assert not passed(reply, "regex_must_not_match", "café")


def test_a_pattern_still_sees_what_texts_ignore() -> None:
    assert not passed("a\u200bb", "regex_must_not_match", "\u200b")
    assert not passed("cafe\u0301", "regex_must_not_match", "[\u0300-\u036f]")
    assert not passed("\uff11", matches=(r"\A[ -~]*\Z",))


TERMS = TerminologyMetric.Parameters.model_validate(
    {"catalogue": {"language": "fr", "terms": [{"canonical": "booking", "rivals": ["réservation d'été"]}]}}
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("metric", "reply", "expected", "score"),
    [
        (KeyPhraseMetric(), "le café à 100 EUR", Expectation(key_phrases=("café à 100 EUR",)), 1.0),
        (RefusalMetric(), "Sorry, I can't help with that.", Expectation(refusal=True), 1.0),
        (TerminologyMetric(TERMS), "Votre réservation d'été est prête.", Expectation(), 0.0),
    ],
)
def test_metrics_of_words_read_every_form_alike(
    form: str, metric: Metric, reply: str, expected: Expectation, score: float
) -> None:
    measured = asyncio.run(metric.measure(case(exchange("a", FORMS[form](reply), expect=expected)), 1.0))
    assert measured.value == score
