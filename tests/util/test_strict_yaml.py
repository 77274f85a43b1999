import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.util.strict_yaml import MAX_BYTES, read_yaml


def test_every_value_knows_its_line() -> None:
    document, problems = read_yaml("a.yaml", b"id: x\nturns:\n  - user: hi\n  - user: ho\n")
    assert problems == ()
    assert document is not None
    assert document.data == {"id": "x", "turns": [{"user": "hi"}, {"user": "ho"}]}
    assert document.line(("turns", 1, "user")) == 4
    assert document.line(("turns", 1, "missing")) == 4


@pytest.mark.parametrize("text", ["14:00", "no", "on", "0712", "2026-04-26T14:00", "1_000", "0x1F"])
def test_text_that_older_yaml_would_turn_into_something_else_stays_text(text: str) -> None:
    document, _ = read_yaml("a.yaml", f"value: {text}\n".encode())
    assert document is not None
    assert document.data == {"value": text}


def test_numbers_booleans_and_null_are_read() -> None:
    document, _ = read_yaml("a.yaml", b"[1, -2, 0.5, true, False, null, ~]")
    assert document is not None
    assert document.data == [1, -2, 0.5, True, False, None, None]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"a: &x [1]\nb: *x\n", 2, "alias"),
        (b"a: 1\na: 2\n", 2, "stands twice"),
        (b"a: !!python/object/apply:os.system [x]\n", 1, "tag"),
        (b"? [1, 2]\n: 3\n", 1, "key"),
        (b"a: 1\n---\nb: 2\n", 2, "second document"),
        (b"user: Hi: how are you\n", 1, "put a text that holds them in quotes"),
        (b"a:\n\tb: 1\n", 2, "indent with spaces"),
        (b"a:\n  - b\n - c\n", 3, "indented differently"),
        (b"a: 1\nb: [1\n", 3, "not valid YAML"),
        (b"a: 1\nb: \xff\n", 2, "UTF-8"),
        (b"", 0, "empty"),
        (b"[" * 100, 1, "levels deep"),
        (b"[" * 41 + b"1" + b"]" * 41, 1, "levels deep"),
        (b"[" * 41 + b"]" * 41, 1, "levels deep"),
        (b"a:\n  " + b"- " * 40 + b"{}\n", 2, "levels deep"),
        # An alias is looked for only as deep as anything is read: the parser's time grows with the square of the depth.
        (b"# *\n" + b"[" * 1_000_000, 2, "levels deep"),
        (b"z: " + b"[" * 41 + b"]" * 41 + b"\na: &a [x, x]\nb: [*a, *a]\n", 1, "levels deep"),
        (b"# *\n" + b"%TAG !1! b\n" * 60_000 + b"---\na: 1\n", 2, "%TAG"),
        (b"a: 1\n...\n%TAG !1! b\n---\nb: 1\n", 3, "%TAG"),
        (b"a: !<%ed%a0%80> b\n", 0, "a tag is not UTF-8"),
        (b"#" * (MAX_BYTES + 1), 0, "bytes"),
    ],
)
def test_what_is_not_plain_data_is_refused_with_its_line(content: bytes, line: int, message: str) -> None:
    document, problems = read_yaml("a.yaml", content)
    assert document is None
    assert (problems[0].path, problems[0].line) == ("a.yaml", line)
    assert message in problems[0].message


def test_what_is_nested_as_deep_as_is_allowed_is_read() -> None:
    document, problems = read_yaml("a.yaml", b"# *\n" + b"[" * 40 + b"1" + b"]" * 40)
    assert (document is None, problems) == (False, ())


def test_an_alias_bomb_is_refused_before_it_expands() -> None:
    bomb = b"a: &a [x, x]\n" + b"".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n".encode() for i in range(20)
    )
    document, problems = read_yaml("bomb.yaml", bomb)
    assert document is None
    assert "alias" in problems[0].message


@given(st.text("~=<!.+-_0179aeEfFlLnNoOrRsStTuUxyY: '\"", max_size=8))
def test_what_pyyaml_takes_for_a_text_is_that_text(text: str) -> None:
    content = f"[{text}]"
    try:
        listed = yaml.compose(content, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return
    if listed is None or len(listed.value) != 1:
        return
    (node,) = listed.value
    document, _ = read_yaml("a.yaml", content.encode())
    if node.tag == "tag:yaml.org,2002:str":
        assert document is not None
        assert document.data == [node.value]
    elif node.tag == "tag:yaml.org,2002:null":
        assert document is not None
        assert document.data == [None]


@given(st.binary(max_size=400))
def test_any_bytes_give_a_document_or_problems(content: bytes) -> None:
    document, problems = read_yaml("any.yaml", content)
    assert (document is None) == bool(problems)


def test_where_another_tool_reads_them_aliases_and_merges_are_written_out() -> None:
    content = b"""\
one: &one {a: 1, b: 2}
two: &two {b: 3, c: 4}
list: [*one]
both: {<<: [*one, *two], a: 5}
'<<': plain
"""
    document, problems = read_yaml("f.yaml", content, aliases=True)
    assert document is not None, problems
    assert document.data["list"] == [{"a": 1, "b": 2}]
    assert document.data["both"] == {"a": 5, "b": 2, "c": 4}
    assert document.data["<<"] == "plain"
    assert document.line(("both", "a")) == 4


@pytest.mark.parametrize(
    "content",
    [
        b"a: &a [*a, *a]",
        b"a: &a {b: *a, c: *a}",
        b"a: &a {<<: [*a, *a]}",
        b"\n".join(b"l%d: &l%d [%s]" % (n, n, b", ".join([b"*l%d" % (n - 1)] * 9) if n else b"x") for n in range(9)),
        b"\n".join(
            b"l%d: &l%d {<<: [%s]}" % (n, n, b", ".join([b"*l%d" % (n - 1)] * 9) if n else b"{a: 1}") for n in range(9)
        ),
    ],
)
def test_an_alias_of_itself_or_of_many_is_refused_where_aliases_are_written_out(content: bytes) -> None:
    document, problems = read_yaml("f.yaml", content, aliases=True)
    assert document is None or len(str(document.data)) < 1_000
    assert document is not None or problems
