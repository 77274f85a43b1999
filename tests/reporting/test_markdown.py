"""Hostile text stays text."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ratiba_action.reporting.markdown import clean, clip, code, fenced, inline, length, table
from tests.support.github_links import links_of, parse

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
    "`3e5c1e6`-3e5c1e6_3e5c1e6",
]
texts = st.one_of(st.sampled_from(HOSTILE), st.text(), st.text(alphabet="`|\\<>![]()*_#@:/\n -=.1a&;"))


def types(text: str) -> set[str]:
    return {token.type for token in parse(text)}


def shown(text: str) -> str:
    return "".join(token.content for token in parse(text) if token.type in ("text", "code_inline"))


@given(texts)
@example("1) x")
@example("_a_ __b__")
def test_inline_text_is_one_paragraph_of_plain_text(text: str) -> None:
    assert types(inline(text)) <= {"inline", "text", "code_inline", "paragraph_open", "paragraph_close"}


@given(texts)
def test_inline_text_shows_the_characters_that_it_was_given(text: str) -> None:
    expected = " ".join(clean(text).split())
    assert shown(inline(text, 10_000)).replace("\u200b", "") == expected.replace("\u200b", "")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_github_links_or_obeys_is_left(text: str) -> None:
    linked = re.sub("`[^`]*`", "", inline(text))
    assert not re.search(r"(?<!&)[@#](?!\u200b)|::|://|www\.|GH-\d|:octocat:|\u202e|\ud800", linked)
    for safe in (inline(text), fenced(text)):
        assert not re.search(r"(?m)^\s*::|##\[|<[!/]|\u202e|\ud800", safe)


@pytest.mark.parametrize(
    "place",
    [
        "http://127.0.0.1:8000/chat",
        "https://models.example/v1?a=b&c=d#e",
        "src/@types/api.d.ts",
        "tests/test_booking.py::test_it[sw-1]",
        "node_modules/@scope/pkg/index.js",
    ],
)
@pytest.mark.parametrize("sentence", ["{}", "POST {} failed: refused.", "It is at '{}', or ({})."])
def test_an_address_or_a_path_can_be_copied(place: str, sentence: str) -> None:
    text = sentence.format(place, place)
    for shown_text in (inline(text), fenced(text)):
        assert "\u200b" not in shown_text
        assert place in shown_text
    assert links_of(inline(text)) == []


COMMIT = "3e5c1e60269ae0329094de131227285d4682b665"
REFERENCES = [
    *(
        "https://evil.example/x",
        "http://evil.example",
        "ftp://evil.example",
        "HTTPS://EVIL.EXAMPLE",
        "www.evil.example",
    ),
    *("WWW.evil.example", "amina@evil.example", "mailto:amina@evil.example", "xmpp:amina@evil.example/room"),
    *("@octocat", "@org/team", "#12", "octo/cat#12", "octo#12", "GH-12", "gh-12", "octo/cat/GH-12"),
    *(
        COMMIT,
        COMMIT[:7],
        COMMIT[:12].upper(),
        "1234567",
        f"octo@{COMMIT}",
        f"octo/cat@{COMMIT}",
        f"a{COMMIT[:6]}...b{COMMIT}",
    ),
    *("CVE-2024-12345", "GHSA-aaaa-bbbb-cccc", ":tada:", ":+1:", "https://github.com/octo/cat/issues/12"),
    *(f"https://github.com/octo/cat/commit/{COMMIT}", "[x](https://evil.example)", "<https://evil.example>"),
]
WIDE = [
    chr(code) for code in range(0x80, 0x30000) if unicodedata.normalize("NFKC", chr(code)).strip("@#:/.-wWgGhH") == ""
]
"""Characters that a program may take for one of those that make a reference."""
LOOKS = {
    sign: [sign, *(wide for wide in WIDE if unicodedata.normalize("NFKC", wide) == sign)] for sign in "@#:/.-wWgGhH"
}
AROUND = st.sampled_from(
    ["", " ", "(", ")", "*", "_", "`", "\\", "|", "~", "-", ":", "&", "&#64;", "x", "\u200b", "\n"]
)


@st.composite
def disguised(draw: st.DrawFn) -> str:
    """A reference in which any sign may be one that only looks like it, between signs of Markdown."""
    reference = draw(st.sampled_from(REFERENCES))
    signs = (draw(st.sampled_from(LOOKS[sign])) if sign in LOOKS else sign for sign in reference)
    return f"{draw(AROUND)}{''.join(signs)}{draw(AROUND)}"


@pytest.mark.parametrize("reference", REFERENCES)
def test_github_would_make_each_of_these_references_a_link(reference: str) -> None:
    assert links_of(reference)


@given(st.lists(disguised(), min_size=1, max_size=4).map("".join))
@example("\uff20org/team")
@example("\ufe6borg \uff0312 \ufe5f12")
@example("\u2a74set-output")
@example("`-3e5c1e6")
def test_no_reference_however_written_becomes_a_link(text: str) -> None:
    assert links_of(inline(text)) == links_of(fenced(text)) == []
    assert links_of(table(("a", "b"), [(inline(text), code(text))])) == []


@given(st.text(), st.integers(5, 60), st.sampled_from("ae\u05d0\u0e01 "))
def test_marks_do_not_pile_up(text: str, count: int, letter: str) -> None:
    stacked = f"{text}{letter}" + "\u0336\u034d\u20dd\u0300\u0489"[: count % 6] * count
    for shown in (inline(stacked, 10_000), fenced(stacked)):
        runs = re.split("(?s)[^\u0336\u034d\u20dd\u0300\u0489]+", shown)
        assert max(map(len, runs)) <= 4


@pytest.mark.parametrize("text", ["ki\u0302\u0323", "\u05e9\u05bc\u05c1\u05b8", "\u0e01\u0e35\u0e49", "\u2764\ufe0f"])
def test_the_marks_of_languages_stay(text: str) -> None:
    assert inline(text) == text


def test_a_commit_can_be_copied() -> None:
    assert inline("Look at git log --oneline 3e5c1e6..") == "Look at git log --oneline `3e5c1e6`.."


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
    assert clip("x" * 90, 10) == "xxxxxxxxxx … (80 more characters)"


@given(st.text(max_size=60), st.integers(1, 30))
def test_no_text_is_clipped_to_something_longer(text: str, limit: int) -> None:
    assert len(clip(text, limit)) <= max(len(text), limit)


def test_github_counts_an_emoji_twice() -> None:
    assert length("a🙂") == 3
