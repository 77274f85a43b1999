"""No planted identifier survives any nesting, and no amount is lost."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.privacy.masking import Redactor

NAMES = ("Wanjiku Kamau", "Ng'endo Mũthoni", "Dkt. Abdirahman Noor")
REDACTOR = Redactor(names=NAMES)
SUBSCRIBERS = st.from_regex(r"[17][0-9]{8}", fullmatch=True)
PHONES = st.builds(
    lambda prefix, digits, mark: f"{prefix}{digits[:3]}{mark}{digits[3:6]}{mark}{digits[6:]}",
    st.sampled_from(["0", "254", "+254", "+254 ", "00254", "+254 (0)"]),
    SUBSCRIBERS,
    st.sampled_from(["", " ", "-", ".", "\N{ZERO WIDTH SPACE}", "\N{NO-BREAK SPACE}"]),
)
EMAILS = st.builds(
    lambda name, at, host: f"{name}{at}{host}",
    st.from_regex(r"[a-z]{3,9}[._]?[a-z0-9]{3,9}", fullmatch=True),
    st.sampled_from(["@", " @ ", "(at)", " [at] ", "%40"]),
    st.sampled_from(["gmail.com", "spa.co.ke", "posta.example"]),
)
DOCUMENTS = st.from_regex(r"[2-3][0-9]{7}", fullmatch=True)
PLANTED_NAMES = st.sampled_from(
    ["Wanjiku", "wanjiku kamau", "KAMAU", "Wanjiku's", "Ng\N{RIGHT SINGLE QUOTATION MARK}endo", "Muthoni", "Abdirahman"]
)
PLANTS = st.one_of(PHONES, EMAILS, DOCUMENTS, PLANTED_NAMES)
FIGURES = st.one_of(
    st.integers(1, 9_999_999).map(lambda amount: f"KES {amount:,}"),
    st.integers(1, 999_999).map(lambda amount: f"{amount}/-"),
    st.integers(1, 999_999).map(lambda amount: f"Ksh{amount:,}.50"),
    st.from_regex(r"S[A-Z]{2}[0-9][A-Z][0-9][A-Z][0-9][A-Z]{2}", fullmatch=True),
    st.uuids().map(str),
)
AROUND = st.sampled_from(["Habari, ", "piga ", "", "(", "number: ", "malipo ni "])
WORDS = st.sampled_from(["phone", "note", "asante", "kesho", "customer", "to"])


@st.composite
def sentence(draw: st.DrawFn, what: st.SearchStrategy[str]) -> str:
    return f"{draw(AROUND)}{draw(what)}{draw(st.sampled_from(['', ' asante', '.', ')', ', kesho']))}"


def nested(leaf: Any, steps: list[tuple[str, str]]) -> Any:
    for step, word in steps:
        leaf = {
            "value": {word: leaf, "amount_kes": 2500},
            "key": {leaf: 1} if isinstance(leaf, str) else {word: leaf},
            "list": [word, leaf],
            "string": json.dumps({word: leaf}),
            "unicode": json.dumps([leaf], ensure_ascii=False),
        }[step]
    return leaf


NESTING = st.lists(st.tuples(st.sampled_from(["value", "key", "list", "string", "unicode"]), WORDS), max_size=6)


def characters(value: Any) -> str:
    """All letters and digits of a value, without what any number of layers of JSON puts between them."""
    text = json.dumps(value, ensure_ascii=False)
    while "\\u" in text or '\\"' in text:
        text = text.replace("\\\\", "\\").replace('\\"', '"').replace("\\u200b", "").replace("\\u00a0", "")
        text = text.replace("\\u2019", "'").replace("\\u", "u")
    return "".join(one for one in text.casefold() if one.isalnum())


@given(PLANTS, st.data(), NESTING)
def test_no_planted_identifier_survives(plant: str, data: st.DataObject, steps: list[tuple[str, str]]) -> None:
    masked = REDACTOR.value(nested(data.draw(sentence(st.just(plant))), steps))
    planted = "".join(one for one in plant.casefold() if one.isalnum())
    assert planted.removesuffix("s") not in characters(masked)


@given(SUBSCRIBERS, st.sampled_from(["phone", "msisdn", "to", "note"]), NESTING)
def test_no_number_of_a_phone_survives_as_a_number(digits: str, name: str, steps: list[tuple[str, str]]) -> None:
    for number in (int(f"254{digits}"), int(digits)):
        assert digits not in characters(REDACTOR.value(nested({name: number}, steps)))


@given(PLANTS, FIGURES, st.data(), NESTING)
def test_the_figures_of_a_payment_survive(
    plant: str, figure: str, data: st.DataObject, steps: list[tuple[str, str]]
) -> None:
    text = f"{data.draw(sentence(st.just(plant)))} {figure}"
    assert figure in json.dumps(REDACTOR.value(nested(text, steps)))


@given(st.lists(st.one_of(sentence(PLANTS), FIGURES, st.text(max_size=20)), max_size=4).map(" ".join), NESTING)
def test_masking_again_changes_nothing(text: str, steps: list[tuple[str, str]]) -> None:
    once = REDACTOR.value(nested(text, steps))
    assert REDACTOR.value(once) == once


@given(st.dictionaries(sentence(PLANTS), FIGURES, max_size=4))
def test_keys_that_look_alike_once_they_are_masked_keep_their_values(table: dict[str, str]) -> None:
    assert sorted(REDACTOR.value(table).values()) == sorted(table.values())


@given(sentence(PLANTS), FIGURES)
def test_json_in_a_text_stays_json(text: str, figure: str) -> None:
    inside = json.loads(REDACTOR.text(json.dumps({"phone": 254722345678, "note": text, "paid": figure, "rate": 0.5})))
    assert inside["phone"] == "+254***678"
    assert (inside["paid"], inside["rate"]) == (figure, 0.5)


def test_what_lies_too_deep_is_masked_as_its_text() -> None:
    deep: Any = {"phone": "0722 345 678", "amount": 1500}
    for _ in range(400):
        deep = [deep]
    reported = json.dumps(REDACTOR.value(deep))
    assert "345" not in reported
    assert "1500" in reported
    assert REDACTOR.value(json.loads(reported)) == json.loads(reported)
