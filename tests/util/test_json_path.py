import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.util.json_expression import (
    Each,
    Expression,
    Step,
    parse_path,
    require_field_path,
    spell_path,
    without,
)
from ratiba_action.worker.adapters.reply_fields import steps_of

VALUE = {"items": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "at": "now", "odd key": {"x": [1, 2, 3]}}


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("at", {"items": VALUE["items"], "odd key": VALUE["odd key"]}),
        ("items[*].id", {**VALUE, "items": [{"name": "a"}, {"name": "b"}]}),
        ("items[0]", {**VALUE, "items": [{"id": 2, "name": "b"}]}),
        ("items[1].name", {**VALUE, "items": [{"id": 1, "name": "a"}, {"id": 2}]}),
        ('"odd key".x[*]', {**VALUE, "odd key": {"x": []}}),
        ('"odd key"', {"items": VALUE["items"], "at": "now"}),
        ("*", {}),
        ("nowhere[3].id", VALUE),
        ("at.deeper", VALUE),
    ],
)
def test_what_a_path_names_is_left_out(path: str, left: object) -> None:
    assert without(VALUE, [parse_path(path)]) == left


def test_items_move_up_only_after_every_path_was_looked_up() -> None:
    assert without([1, 2, 3, 4], [parse_path("[0]"), parse_path("[1]")]) == [3, 4]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "@",
        "items.",
        "a..id",
        "a[",
        "a[b",
        "[-1]",
        "a[1:2]",
        "a[?id]",
        "a b",
        "'a",
        "a.1",
        "a | b",
        "a[]",
        "keys(@)",
    ],
)
def test_what_is_no_path_is_refused_with_its_text(path: str) -> None:
    with pytest.raises(ValueError, match=r"path|JMESPath"):
        parse_path(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("$.items[*].id", "items[*].id"),
        ("$.a-b.*", '"a-b".*'),
        ("$['odd key'][0]", '"odd key"[0]'),
        ("$[*].id", "[*].id"),
        ("$.bei_ya_été", '"bei_ya_été"'),
    ],
)
def test_a_json_path_is_refused_with_its_new_spelling(old: str, new: str) -> None:
    with pytest.raises(ValueError, match="paths are JMESPath now") as refused:
        parse_path(old)
    assert str(refused.value).endswith(f"; write {new}")
    parse_path(new)


@pytest.mark.parametrize("path", ["$", "$.", "$..id", "$[", "$[-1]", "$[1:2]", "$[?(@.id)]"])
def test_a_json_path_without_a_new_spelling_is_refused_with_an_example(path: str) -> None:
    with pytest.raises(ValueError, match=r"write it like items\[\*\]\.id$"):
        parse_path(path)


@pytest.mark.parametrize(
    ("path", "value"), [("*", [1]), ("[*]", {"a": 1}), ("a.*", {"a": [1]}), ("a[*]", {"a": {"b": 1}})]
)
def test_each_item_and_each_value_are_what_they_are_in_jmespath(path: str, value: object) -> None:
    assert without(value, [parse_path(path)]) == value


@given(st.text(max_size=80))
def test_any_text_is_a_path_or_refused(text: str) -> None:
    try:
        read = parse_path(text)
    except ValueError:
        return
    assert read.steps


@given(st.lists(st.text(max_size=6) | st.integers(0, 99) | st.sampled_from(Each), min_size=1, max_size=6))
def test_a_spelled_path_names_the_same_place(steps: list[Step]) -> None:
    assert parse_path(spell_path(steps)).steps == tuple(steps)


@given(
    st.recursive(st.integers(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
)
def test_what_is_left_out_is_what_the_expression_finds(value: object) -> None:
    for steps in places(value):
        path = spell_path(steps)
        assert Expression(path).search(value) is not None
        assert without(value, [parse_path(path)]) != value


def places(value: object) -> list[tuple[Step, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, part in parts for place in ((key,), *((key, *rest) for rest in places(part)))]


@pytest.mark.parametrize("path", ["stage", "payment.status", "orders[0].id", "orders[-1]", '"odd-name".x'])
def test_a_field_path_of_names_and_indexes_is_kept(path: str) -> None:
    assert require_field_path(path) == path


@pytest.mark.parametrize(
    ("old", "new"),
    [("orders.0.id", "orders[0].id"), ("messages.-1", "messages[-1]"), ("odd-name.x", '"odd-name".x')],
)
def test_a_field_path_of_the_earlier_form_is_refused_with_its_new_spelling(old: str, new: str) -> None:
    with pytest.raises(ValueError, match="not spelled as a JMESPath") as refused:
        require_field_path(old)
    assert str(refused.value).endswith(f"; write {new}")
    assert require_field_path(new) == new


@pytest.mark.parametrize("path", ["", ".", "a..b", "a[*].b", "a[", "a[1:2]", '"a', "a[?b]", "$.a[0]"])
def test_what_is_no_field_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="JMESPath"):
        require_field_path(path)


@given(st.lists(st.text(max_size=6) | st.integers(-9, 99), min_size=1, max_size=6))
def test_the_worker_reads_the_steps_that_the_gate_checked(steps: list[str | int]) -> None:
    try:
        path = require_field_path(spell_path(steps))
    except ValueError:
        assert not all(steps[:1])
        return
    assert steps_of(path) == steps
