"""Hostile text stays text."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ratiba_action.reporting.markdown import clean, clip, code, fenced, inline, length, table

HOSTILE = [
    "</details>",
    "<!-- ratiba-eval-gate name=ratiba head=a run=9 attempt=9 -->",
    "::error::pwned",
    "##[set-output name=passed]true",
    "![x](https://evil.example/p.png)",
    "[click](https://evil.example)",
    "https://evil.example and www.evil.example",
    "@everyone closes #1, GH-2",
    "a | b \\| c",
    "```\n# out\n```",
    "`` ` ``` ````",
    "<img src=x onerror=alert(1)>",
    "&lt;b&gt; &#124;",
    "a\nb\r\nc\u2028d",
    "\u202eevil\u2066",
    "# heading",
    "- item",
    "1. item",
    "===",
    ":octocat:",
    "$x$",
    "\ud800",
    "[x]: https://evil.example",
    "\\",
]
texts = st.one_of(st.sampled_from(HOSTILE), st.text(), st.text(alphabet="`|\\<>![]()*_#@:/\n -=.1a&;"))


def parse(text: str) -> list[Token]:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return [inner for token in tokens for inner in (token, *(token.children or []))]


def types(text: str) -> set[str]:
    return {token.type for token in parse(text)}


def shown(text: str) -> str:
    return "".join(token.content for token in parse(text) if token.type == "text")


@given(texts)
@example("1) x")
@example("_a_ __b__")
def test_inline_text_is_one_paragraph_of_plain_text(text: str) -> None:
    assert types(inline(text)) <= {"inline", "text", "paragraph_open", "paragraph_close"}


@given(texts)
def test_inline_text_shows_the_characters_that_it_was_given(text: str) -> None:
    expected = " ".join(clean(text).split())
    assert shown(inline(text, 10_000)).replace("\u200b", "") == expected.replace("\u200b", "")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_github_links_or_obeys_is_left(text: str) -> None:
    for safe in (inline(text), fenced(text)):
        assert not re.search(r"(?<!&)[@#](?!\u200b)|::|://|www\.|GH-\d|:octocat:|\u202e|\ud800", safe)


@given(texts, texts)
def test_a_cell_never_spills_into_the_next(first: str, second: str) -> None:
    tokens = parse(
        table(("a", "b", "c"), [(inline(first), code(second), "last"), (code(first), inline(second), "last")])
    )
    cells = [tokens[index + 1].content for index, token in enumerate(tokens) if token.type == "td_open"]
    assert len(cells) == 6
    # A parser drops what is too much in a row, so the number alone would not show a spill.
    assert cells[2] == cells[5] == "last"
    assert {token.type for token in tokens}.isdisjoint({"link_open", "image", "html_inline", "html_block"})


@given(texts)
def test_a_code_block_ends_where_we_end_it(text: str) -> None:
    tokens = parse(f"{fenced(text)}\n\nafter")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "text", "paragraph_close"]


def test_long_text_says_how_much_is_missing() -> None:
    assert clip("x" * 12, 10) == "xxxxxxxxxx … (2 more characters)"


def test_github_counts_an_emoji_twice() -> None:
    assert length("a🙂") == 3
