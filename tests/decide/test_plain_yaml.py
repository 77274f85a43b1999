"""The plain form says the same as PyYAML on all that it accepts, and nothing hostile is more than a doubt."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.decide.plain_yaml import (
    MAX_BYTES,
    Node,
    YamlDoubt,
    read_plain_form,
    read_with_pyyaml,
    read_yaml_or_doubt,
)
from ratiba_action.decide.plain_yaml import _decode as decode

ROOT = Path(__file__).parents[2]
OWN_FILES = sorted(
    path
    for folder in ("scenarios", "examples", ".github", "ratiba_action/authoring")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".yaml", ".yml"} and path.is_file()
)
FRAGMENTS = (
    *(
        "a",
        "b: ",
        "- ",
        "\n",
        "\n  ",
        "\n    ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        ": ",
        ":",
        "'",
        '"',
        "#",
        " #x",
        "|\n",
        ">\n",
    ),
    *(
        ">-\n",
        "|+\n",
        "~",
        "null",
        "&x ",
        "*x",
        "!!str ",
        "---\n",
        "...\n",
        "%",
        "? ",
        "<<: ",
        "\\n",
        "é",
        "kesho saa",
        "-",
    ),
    *(
        "1",
        "0x1f",
        "true",
        "\t",
        "\\",
        "''",
        "@",
        "`",
        "a:b",
        "http://x",
        "a#b",
        "\n\n",
        "\n#c\n",
        "?",
        "a?b",
        "\xa0",
        "\u3000",
    ),
)
DATA = st.recursive(
    st.none() | st.text(st.sampled_from("ab :#-[]{}'\"\\,\n|>*&!%@?=~é"), max_size=12) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.sampled_from("ab: #'é-"), max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def data_of(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: (below.line, data_of(below)) for key, below in node.value.items()}
    if isinstance(node.value, list):
        return [data_of(item) for item in node.value]
    return node.value


def pyyaml(text: str) -> Node:
    return read_with_pyyaml("f.yml", text, yaml)


def both_agree(text: str) -> bool:
    """Whether the plain form accepts a text that was decoded for both; it then says what PyYAML says."""
    try:
        decoded = decode("f.yml", text.encode(), MAX_BYTES)
        plain = read_plain_form("f.yml", decoded)
    except YamlDoubt:
        return False
    assert data_of(plain) == data_of(pyyaml(decoded)), text
    return True


@pytest.mark.parametrize("path", OWN_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_of_this_repository_is_read_in_the_plain_form(path: Path) -> None:
    assert both_agree(path.read_text("utf-8"))


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join))
def test_any_text_that_the_plain_form_accepts_is_what_pyyaml_reads(text: str) -> None:
    both_agree(text)


@given(DATA, st.sampled_from([True, False, None]), st.integers(2, 5), st.sampled_from([20, 80, 400]))
def test_data_written_by_pyyaml_is_read_the_same_or_is_a_doubt(data: Any, flow: Any, indent: int, width: int) -> None:
    both_agree(yaml.safe_dump(data, default_flow_style=flow, indent=indent, width=width, allow_unicode=True))


@given(st.sampled_from(OWN_FILES), st.data())
def test_a_file_with_one_change_is_read_the_same_or_is_a_doubt(path: Path, data: st.DataObject) -> None:
    lines = path.read_text("utf-8").splitlines(keepends=True)
    start = data.draw(st.integers(0, len(lines)))
    text = "".join(lines[start : start + 30])
    at = data.draw(st.integers(0, len(text)))
    both_agree(text[:at] + data.draw(st.sampled_from(FRAGMENTS)) + text[at + data.draw(st.integers(0, 3)) :])


READERS = pytest.mark.parametrize("with_pyyaml", [True, False], ids=["PyYAML", "plain form"])


@pytest.fixture
def reader(with_pyyaml: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001 - a parameter of tests
    if not with_pyyaml:
        monkeypatch.setitem(sys.modules, "yaml", None)


@READERS
@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a: &x [1]\nb: *x\n", "f.yml:1: "),
        ("a: 1\nb: &x\n  - *x\n", "f.yml:2: "),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "f.yml:1: "),
        ("a: 1\n<<: {b: 2}\n", "f.yml:2: "),
        ("a: !!python/object/apply:os.system [id]\n", "f.yml:1: "),
        ("a: 1\nb:\n  - !!str x\n", "f.yml:3: "),
        ("a: 1\n'a': 2\n", "f.yml:2: "),
        ("x: {a: 1,\n  a: 2}\n", "f.yml:2: "),
        ("a: 1\n---\nb: 2\n", "f.yml:2: "),
        ("? [a]\n: b\n", "f.yml:1: "),
        ("a: [1\n", "f.yml:"),
        ("a: 'x\n", "f.yml:"),
        ("a: b: c\n", "f.yml:1: "),
        ("a:\n  - b\n c: d\n", "f.yml:3: "),
        ("a: 1\n\x00", "f.yml:2: "),
        ("a: \x85\n", "f.yml:1: "),
        ("[" * 100_000, "f.yml:1: "),
        ("- " * 100_000, "f.yml:1: "),
        ("".join(" " * depth + "a:\n" for depth in range(1_000)), "f.yml:4"),
        ("a: 1\n" * 2_000_000, "f.yml:1: the file has 10,000,000 bytes"),
    ],
)
def test_what_is_hostile_or_no_yaml_is_a_doubt_with_its_place(text: str, where: str) -> None:
    with pytest.raises(YamlDoubt) as doubt:
        read_yaml_or_doubt("f.yml", text.encode())
    assert str(doubt.value).startswith(where)


@READERS
@pytest.mark.usefixtures("reader")
def test_bytes_that_are_no_utf_8_are_a_doubt() -> None:
    with pytest.raises(YamlDoubt, match=r"^f.yml:2: byte 0xff is not UTF-8$"):
        read_yaml_or_doubt("f.yml", b"a: 1\nb: \xff\n")


@READERS
@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"\xef\xbb\xbf\r\n", b"---\n"])
def test_an_empty_file_is_null(content: bytes) -> None:
    assert read_yaml_or_doubt("f.yml", content).value is None


@READERS
@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("depth", [39, 40, 41, 42])
@pytest.mark.parametrize("form", ["block", "braces", "items"])
def test_both_readers_stop_at_the_same_depth(depth: int, form: str) -> None:
    text = {
        "block": "".join(" " * level + "a:\n" for level in range(depth)),
        "braces": "{a: " * depth + "1" + "}" * depth,
        "items": "- " * depth + "x",
    }[form]
    if depth > 41:
        with pytest.raises(YamlDoubt, match="nested more than 40 levels deep"):
            read_yaml_or_doubt("f.yml", text.encode())
    else:
        assert list(read_yaml_or_doubt("f.yml", text.encode()).all_texts())


@READERS
@pytest.mark.usefixtures("reader")
def test_lines_are_those_of_keys_and_items() -> None:
    node = read_yaml_or_doubt("f.yml", b"\n# c\na:\n\n  - x\n  - {b: 1,\n     c: 2}\nd: |\n  one\n")
    items = node.entries()["a"].value
    assert isinstance(items, list)
    assert [node.entries()["a"].line, items[0].line, items[1].line, items[1].entries()["c"].line] == [3, 5, 6, 7]
    assert node.entries()["d"].line == 8
