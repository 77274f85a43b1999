import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.util.json_expression import Expression, ExpressionError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("text", "data", "found"),
    [
        ("answer.text", {"answer": {"text": "Karibu"}}, "Karibu"),
        (
            "calls[].{name: function}",
            {"calls": [{"function": "a", "x": 1}, {"function": "b"}]},
            [{"name": "a"}, {"name": "b"}],
        ),
        ("[?state].state | [-1]", [{"delta": "a"}, {"state": "ONE"}, {"state": "TWO"}], "TWO"),
        ("join('', parts[*].text)", {"parts": [{"text": "a"}, {"text": "b"}]}, "ab"),
        ("nothing.here", {"answer": 1}, None),
    ],
)
def test_what_an_expression_finds(text: str, data: object, found: object) -> None:
    assert Expression(text).search(data) == found


@pytest.mark.parametrize("text", ["a..b", "a[", "", "no_such(@)", "'", "[?", "a" * 501, "(" * 400])
def test_what_is_no_expression_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression(text).search({})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        " | ".join(["[@, @][]"] * 6),
        " | ".join(["{a: @, b: @}"] * 6),
        " | ".join(["values({a: @, b: @})[]"] * 6),
        "map(&map(&map(&[@,@,@,@], [@,@,@,@]), [@,@,@]), @)",
        "to_string([to_string([to_string(@)])])",
    ],
)
def test_an_expression_that_could_repeat_its_input_without_bound_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="repeat its input"):
        Expression(text)


@pytest.mark.parametrize(
    ("text", "data"),
    [("join('', @)", [1]), ("&a", {}), ("sort(@)", [1, "a"]), ("abs(@)", "x"), ("to_number(@)", "1e999")],
)
def test_what_does_not_fit_is_an_error_and_never_another_one(text: str, data: object) -> None:
    with pytest.raises(ExpressionError):
        Expression(text).search(data)


@given(st.sampled_from(["@", "a.b", "[*].a", "*.a[]", "[?a == b]", "keys(@)", "length(@)", "sort_by(@, &a)"]), JSON)
def test_whatever_the_answer_holds_the_outcome_is_json_or_this_error(text: str, data: object) -> None:
    try:
        found = Expression(text).search(data)
    except ExpressionError:
        return
    assert json.loads(json.dumps(found)) == found


@given(st.text(max_size=60))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        found = Expression(text)
    except ExpressionError:
        return
    assert found.text == text
