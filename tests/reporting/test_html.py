"""report.html: self-contained, and hostile text shown as text."""

import re
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratiba_action.model.change import Mode, ModeDecision, Reason
from ratiba_action.model.comparison import CrossCheckStatus
from ratiba_action.model.measurement import Errored, Phase
from ratiba_action.model.verdict import SharedSpending, Verdict
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import (
    sample_check,
    sample_cross_checking,
    sample_live_report,
    sample_replayed_spending,
    sample_report,
    sample_score,
    sample_scored,
    sample_trial,
)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(f"{tag} {' '.join(sorted(name for name, _ in attrs))}")


def tags(document: str) -> list[str]:
    parser = Tags()
    parser.feed(document)
    return parser.found


def test_nothing_is_loaded_from_outside() -> None:
    document = render_html(summarise(sample_report()))
    assert not re.search(r"\b(src|href)=|url\(|@import|<script|<link|<img|<iframe", document)
    assert "default-src 'none'" in document


def test_the_verdict_stands_at_the_top_and_failures_are_unfolded() -> None:
    document = render_html(summarise(sample_report(notes=("The recordings were changed.",))))
    assert document.index("Failed") < document.index("The recordings were changed.") < document.index("Scenarios")
    assert document.count("<details") == 4
    assert document.count(" open>") == 1


def test_conversations_that_did_not_pass_stand_first() -> None:
    names = re.findall(r"<b>(\w+)</b>", render_html(summarise(sample_report())))
    assert names == ["salon_reschedule", "barbershop_mpesa", "spa_handoff", "spa_booking"]


def test_a_run_that_paid_shows_parties_models_judges_and_what_runs_spent_together() -> None:
    document = render_html(summarise(sample_live_report()))
    assert re.search(r"<th>by party</th>.*<td>system</td>.*<td>judge</td>.*<th>by model</th>", document, re.DOTALL)
    for told in (
        "0.85</td>",
        "65%",
        "quadratic 0.72 (substantial)",
        "(0.78, 0.81, 0.84)",
        "the month 2026-04, all runs",
    ):
        assert told in document
    assert "The spending of this month is not tracked" not in document
    assert "The spending of this month is not tracked" in render_html(summarise(sample_live_report(shared_spending=())))


def test_a_replayed_run_says_what_it_would_cost_and_nothing_of_parties() -> None:
    document = render_html(summarise(sample_report(spending=sample_replayed_spending(), llm="replay")))
    assert "estimated cost of the same run live" in document
    for absent in ("by party", "by model", "Judges</h2>", "The month"):
        assert absent not in document


def test_dark_and_light_are_both_drawn() -> None:
    assert "prefers-color-scheme: dark" in render_html(summarise(sample_report()))


def _with(text: str) -> str:
    scored = sample_scored(
        text,
        (sample_check(passed=False, what=text, expected=text, got=text),),
        (sample_score(0.1, metric=text, reason=text, votes=(0.1, 0.1, 0.2)),),
        reply=text,
        language=text,
        vertical=f"v{text}",
        path=f"p{text}",
    )
    decision = ModeDecision(Mode.BLOCKING, (Reason(text, text, Mode.BLOCKING, text),))
    verdict = Verdict(sample_report().verdict.conclusion, text, f"a{text}", (text,))
    paid = sample_live_report(
        results=(scored,), decision=decision, verdict=verdict, name=text, notes=(text,), judge_model=f"j{text}"
    )
    spending = replace(paid.spending, by_party={text: Decimal(1)}, by_model={text: Decimal(1)})
    status = CrossCheckStatus(0.1, 1, 0, f"s{text}")
    return render_html(
        summarise(
            replace(
                paid,
                spending=spending,
                cross_checking=sample_cross_checking(model=f"x{text}", status=status),
                shared_spending=(SharedSpending(text, Decimal(1), Decimal(2)),),
            )
        )
    )


PLAIN = tags(_with("plain"))


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "</style><script>", '" onload="x', "</title>", "{{ 7 * 7 }}", "\ud800\x00"]
)
def test_hostile_text_adds_no_tag_and_no_attribute(text: str) -> None:
    assert tags(_with(text)) == PLAIN
    assert "49" not in _with("{{ 7 * 7 }}").split("</style>")[1]


@given(st.text(alphabet=st.characters(), min_size=1, max_size=20))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_no_text_changes_the_structure(text: str) -> None:
    assert tags(_with(f"x{text}")) == PLAIN


RAISED = "scenario 'talks': send() of the adapter raised LookupError: no <b>slot</b>"
FRAMES = 'Traceback (most recent call last):\n  File "shop.py", line 5, in answer\n    raise LookupError("no slot")'


def test_a_crash_of_the_system_is_told_in_one_line_and_its_traceback_is_folded() -> None:
    crashed = Errored(sample_trial("talks"), Phase.SYSTEM, f"{RAISED}\n{FRAMES}")
    html = render_html(summarise(sample_report(results=(crashed,))))
    assert "<p>send() of the adapter raised LookupError: no &lt;b&gt;slot&lt;/b&gt;</p>" in html
    assert "<summary>Where it was raised</summary><pre>Traceback (most recent call last):\n  File" in html
