"""What GitHub documents of alerts, collapsed sections and tables, checked on comments of many kinds.

Sources: docs.github.com, "Basic writing and formatting syntax" (alerts), "Organizing information with collapsed
sections", "Organizing information with tables". GitHub itself is not asked.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ratiba_action.model.note import Caveat
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.summary import summarise
from tests.reporting.test_comment import advisory, huge, incomplete, passed, repeated, skipped
from tests.reporting.test_comment_comparison import exact, not_comparable, regression, unclear, within_noise
from tests.support.sample_report import sample_live_report, sample_report

ALERTS = {"NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"}


def qualified() -> Report:
    caveats = (Caveat("Nothing was compared.", "Run it <b>again</b>."), Caveat("> quoted"))
    return replace(sample_report(), verdict=Verdict(Conclusion.PASSED, "All."), notes=caveats, caveats=caveats)


KINDS = [
    *(passed, skipped, advisory, incomplete, repeated, huge, qualified, sample_report, sample_live_report),
    *(regression, within_noise, unclear, not_comparable, exact),
]
pytestmark = pytest.mark.parametrize("report", KINDS)


def parsed(report: Callable[[], Report]) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(render_comment(summarise(report())))


def test_the_first_block_is_an_alert_that_is_nested_in_nothing(report: Callable[[], Report]) -> None:
    first, *others = [token for token in parsed(report) if token.type != "html_block" or "<details>" in token.content]
    assert (first.type, first.level) == ("blockquote_open", 0)
    (word,) = re.findall(r"^\[!([A-Z]+)\]$", others[1].content.splitlines()[0])
    assert word in ALERTS
    assert others[1].content.splitlines()[1:] == [], "a heading ends the line of the alert"
    assert others[3].tag == "h2"


def test_each_collapsed_section_is_closed_and_has_its_markdown_rendered(report: Callable[[], Report]) -> None:
    """A blank line after the summary ends the block of HTML, so that what follows is Markdown again."""
    tokens = parsed(report)
    blocks = [token.content.strip() for token in tokens if token.type == "html_block"]
    folds = [block for block in blocks if not block.startswith("<!--")]
    for opening, closing in pairwise([*folds, ""]):
        if opening == "</details>":
            continue
        assert re.fullmatch(r"<details><summary>[^<>]*(<code>[^<>]*</code>[^<>]*)*</summary>", opening), opening
        assert closing == "</details>", opening
    assert folds.count("</details>") * 2 == len(folds)


def test_each_table_is_read_as_one_and_nothing_else_is_html(report: Callable[[], Report]) -> None:
    text, tokens = render_comment(summarise(report())), parsed(report)
    rules = [line for line in text.splitlines() if re.fullmatch(r"\|( -+:? \|)+", line)]
    assert sum(token.type == "table_open" for token in tokens) == len(rules)
    inside = [child for token in tokens for child in token.children or ()]
    assert not [child.content for child in inside if child.type == "html_inline"]
