import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.checks.turn_checks import parse_path, without

VALUE = {"items": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "at": "now", "odd key": {"x": [1, 2, 3]}}


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("$.at", {"items": VALUE["items"], "odd key": VALUE["odd key"]}),
        ("$.items[*].id", {**VALUE, "items": [{"name": "a"}, {"name": "b"}]}),
        ("$.items[0]", {**VALUE, "items": [{"id": 2, "name": "b"}]}),
        ("$.items[1].name", {**VALUE, "items": [{"id": 1, "name": "a"}, {"id": 2}]}),
        ("$['odd key'].x[*]", {**VALUE, "odd key": {"x": []}}),
        ('$["odd key"]', {"items": VALUE["items"], "at": "now"}),
        ("$.*", {}),
        ("$.nowhere[3].id", VALUE),
        ("$.at.deeper", VALUE),
    ],
)
def test_what_a_path_names_is_left_out(path: str, left: object) -> None:
    assert without(VALUE, [parse_path(path)]) == left


def test_items_move_up_only_after_every_path_was_looked_up() -> None:
    assert without([1, 2, 3, 4], [parse_path("$[0]"), parse_path("$[1]")]) == [3, 4]


@pytest.mark.parametrize(
    "path", ["", "$", "items", "$.", "$..id", "$[", "$[a]", "$[-1]", "$[1:2]", "$[?(@.id)]", "$.a b", "$['a]", "$.1"]
)
def test_what_is_no_path_is_refused_with_its_text(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        parse_path(path)


@given(st.text(max_size=80))
def test_any_text_is_a_path_or_refused(text: str) -> None:
    try:
        read = parse_path("$" + text)
    except ValueError:
        return
    assert read.text == "$" + text
    assert read.steps
