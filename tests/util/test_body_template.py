import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.util.body_template import TEXTS, VALUES, fill, places, template_problems

VALUES_OF = {name: f"<{name}>" for name in TEXTS} | {"history": [{"role": "user"}], "messages": [], "event": None}


def test_a_text_that_is_one_place_becomes_the_value_itself() -> None:
    template = {"m": "${message}", "h": ["${history}"], "e": "${event}", "n": 3, "o": None}
    assert fill(template, VALUES_OF) == {"m": "<message>", "h": [[{"role": "user"}]], "e": None, "n": 3, "o": None}


def test_places_inside_a_text_are_filled_with_texts() -> None:
    assert fill("${now}: ${message}!", VALUES_OF) == "<now>: <message>!"


def test_a_doubled_dollar_stands_for_itself() -> None:
    assert fill(["$${message}", "a $${message}"], VALUES_OF) == ["${message}", "a ${message}"]
    assert places(["$${message}", "a ${now}"]) == {"now"}


def test_keys_are_no_places() -> None:
    assert fill({"${message}": 1}, VALUES_OF) == {"${message}": 1}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("${mesage}", "'${mesage}' is no place"),
        ({"a": ["${}"]}, "'${}' is no place"),
        ("so far: ${history}", "let it stand alone"),
    ],
)
def test_a_place_that_cannot_be_filled_is_reported(template: object, message: str) -> None:
    (problem,) = template_problems(template)
    assert message in problem


@given(st.text(), st.sampled_from(sorted(TEXTS | VALUES)))
def test_what_a_customer_writes_is_never_read_as_a_place(text: str, name: str) -> None:
    message = f"{text}${{{name}}}"
    assert fill("said: ${message}", {**VALUES_OF, "message": message}) == f"said: {message}"
    assert fill(["${message}"], {**VALUES_OF, "message": message}) == [message]
