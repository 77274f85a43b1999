"""report.html: self-contained, and hostile text shown as text."""

import base64
import hashlib
import re
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratiba_action.model.change import Mode, ModeDecision, Reason, Subject
from ratiba_action.model.comparison import CrossCheckStatus
from ratiba_action.model.measurement import Errored, JudgeThresholds, Phase
from ratiba_action.model.reads import FileReaders, ReadMap
from ratiba_action.model.verdict import Report, SharedSpending, Verdict
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.summary import summarise
from ratiba_action.verdict.agreement import five_numbers, thresholds_of
from tests.support.html_tags import tags
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


def test_nothing_is_loaded_from_outside() -> None:
    document = render_html(summarise(sample_report()))
    assert not re.search(r"\bsrc=|<(?!a )[^>]*\bhref=|url\(|@import|<script |<link|<img|<iframe", document)
    assert "default-src 'none'" in document


def test_only_the_reports_own_script_can_run() -> None:
    """The policy names the digest of the one script, which is the same in every report."""
    texts = ("plain", "<script>alert(1)</script>", "</script><script>alert(1)</script>", '" onload="alert(1)')
    pages = [_with(text) for text in texts]
    scripts = [re.findall(r"<script>(.*?)</script>", page, re.DOTALL) for page in pages]
    assert [len(found) for found in scripts] == [1] * len(texts)
    ((script,),) = {tuple(found) for found in scripts}
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    for page in pages:
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
        assert f"script-src 'sha256-{digest}'" in policy.replace("&#39;", "'")
        assert policy.count("script-src") == 1
        assert "unsafe-inline" not in policy.replace("&#39;", "'").partition("script-src")[2]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function", script)


def test_scenarios_can_be_filtered_by_outcome_and_searched() -> None:
    document = render_html(summarise(sample_report()))
    assert re.findall(r'data-outcome="(\w+)"', document) == ["failed", "incomplete", "incomplete", "passed"]
    assert '<div id="controls" hidden>' in document, "without the script there is nothing to press"
    for control in ('id="search"', 'id="outcome"', 'id="count"'):
        assert control in document


def test_commit_pull_request_and_run_are_linked() -> None:
    subject = Subject(
        repository="a/b",
        pull_request=7,
        head="0f1e2d3c4b5a" + "0" * 28,
        run_id=9,
        run_url="https://github.example/a/b/actions/runs/9",
    )
    document = render_html(summarise(sample_report(subject=subject)))
    assert re.findall(r'<a href="([^"]+)" rel="noreferrer">([^<]+)</a>', document) == [
        (f"https://github.example/a/b/commit/{subject.head}", "0f1e2d3c4b5a"),
        ("https://github.example/a/b/pull/7", "#7"),
        ("https://github.example/a/b/actions/runs/9", "9"),
    ]
    for url in ("javascript:alert(1)//actions/runs/9", "https://x/actions/runs/9?a=", ""):
        page = render_html(summarise(sample_report(subject=replace(subject, run_url=url))))
        assert '<a href="http' not in page
        assert "<code>0f1e2d3c4b5a</code>" in page


def test_failed_assertions_stand_before_those_that_passed() -> None:
    checks = sample_check(what="one"), sample_check(what="two", passed=False)
    document = render_html(summarise(sample_report(results=(sample_scored("a", checks),))))
    assert re.findall(r'data-label="assertion">(\w+)<', document) == ["two", "one"]


@pytest.mark.parametrize("report", [sample_report(), sample_live_report()], ids=["failed", "live"])
def test_every_cell_below_a_heading_says_its_heading_on_a_phone(report: Report) -> None:
    for table in re.findall(r"<table>(.*?)</table>", render_html(summarise(report)), re.DOTALL):
        heads = re.findall(r"<th[^>]*>(.*?)</th>", table)
        for row in re.findall(r"<tr>(<td.*?)</tr>", table, re.DOTALL) if heads else ():
            labels = re.findall(r'<td data-label="([^"]+)"', row)
            assert len(labels) == len(heads)
            assert all(head.startswith(label) for head, label in zip(heads, labels, strict=True))


def test_the_verdict_stands_at_the_top_and_failures_are_unfolded() -> None:
    document = render_html(summarise(sample_report(notes=("The recordings were changed.",))))
    assert document.index("Failed") < document.index("The recordings were changed.") < document.index('id="scenarios"')
    assert document.count("data-outcome=") == 4
    assert re.findall(r'<details id="([^"]+)"[^>]* open>', document) == ["scenario-salon_reschedule"]


def test_conversations_that_did_not_pass_stand_first() -> None:
    names = re.findall(r"<b>(\w+)</b>", render_html(summarise(sample_report())))
    assert names == ["salon_reschedule", "barbershop_mpesa", "spa_handoff", "spa_booking"]


def test_a_run_that_paid_shows_parties_models_judges_and_what_runs_spent_together() -> None:
    document = render_html(summarise(sample_live_report()))
    assert re.search(r">by party</th>.*>system</td>.*>judge</td>.*>by model</th>", document, re.DOTALL)
    for text in (
        "0.85</td>",
        "65%",
        "quadratic 0.72 (substantial)",
        "(0.78, 0.81, 0.84)",
        "the month 2026-04, all runs",
    ):
        assert text in document
    assert "The spending of this month is not tracked" not in document
    assert "The spending of this month is not tracked" in render_html(summarise(sample_live_report(shared_spending=())))


def test_a_replayed_run_says_what_it_would_cost_and_nothing_of_parties() -> None:
    document = render_html(summarise(sample_report(spending=sample_replayed_spending(), llm="replay")))
    assert "estimated cost of the same run live" in document
    for absent in ("by party", "by model", "Judges</h2>", "The month"):
        assert absent not in document


def test_a_reader_can_switch_to_dark_and_light_whatever_the_system_prefers() -> None:
    page = render_html(summarise(sample_report()))
    assert '<button id="theme" type="button" hidden></button>' in page, "without a script it could do nothing"
    assert ":root[data-theme=dark] { color-scheme: dark; --ink: #e6e9ed;" in page
    assert ":root:not([data-theme=light]) { --ink: #e6e9ed;" in page
    assert 'storage.setItem("ratiba-theme"' in page, "the choice is kept"


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


PLAIN = tags(_with("plain text"))


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "</style><script>", '" onload="x', "</title>", "{{ 7 * 7 }}", "\ud800\x00"]
)
def test_hostile_text_adds_no_tag_and_no_attribute(text: str) -> None:
    assert tags(_with(text)) == PLAIN
    assert "49" not in _with("{{ 7 * 7 }}").split("</style>")[1]


@given(st.text(alphabet=st.characters(), min_size=1, max_size=20))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_no_text_changes_the_structure(text: str) -> None:
    assert tags(_with(f"x {text}")) == PLAIN


RAISED = "scenario 'talks': send() of the adapter raised LookupError: no <b>slot</b>"
FRAMES = 'Traceback (most recent call last):\n  File "shop.py", line 5, in answer\n    raise LookupError("no slot")'


def test_a_crash_of_the_system_is_reported_in_one_line_and_its_traceback_is_folded() -> None:
    crashed = Errored(sample_trial("talks"), Phase.SYSTEM, f"{RAISED}\n{FRAMES}")
    html = render_html(summarise(sample_report(results=(crashed,))))
    assert "<p>send() of the adapter raised LookupError: no &lt;b&gt;slot&lt;/b&gt;</p>" in html
    assert "<summary>Where it was raised</summary><pre>Traceback (most recent call last):\n  File" in html


def _thresholds(text: str = "tone") -> list[JudgeThresholds]:
    """Two judges with labels, a criterion that nothing has scored, and a metric that no label is about."""
    rated = [(number / 200, 1 + number // 45) for number in range(200)]
    return [
        thresholds_of(f"j{text}", text, f"m{text}", rated, golden=[0.5, 0.6, 0.7, 0.8, 0.9]),
        thresholds_of(f"k{text}", text, f"m{text}", rated[:12], golden=[]),
        thresholds_of("opus", f"n{text}", "", [], golden=[]),
        JudgeThresholds("", "", f"o{text}", 0, 0, (), None, five_numbers([0.25, 0.75])),
    ]


def test_thresholds_are_drawn_with_a_text_for_those_who_cannot_see_them() -> None:
    page = render_html(summarise(sample_report()), _thresholds())
    drawings = re.findall(r'<svg class="chart curves".*?aria-label="([^"]*)">(.*?)</svg>', page, re.DOTALL)
    at = "at the suggested threshold 0.65: precision 100%, recall 96%, false failures 0%"
    golden = "on the golden set: minimum 0.50, quartiles 0.60, 0.70, 0.80, maximum 0.90"
    assert [text for text, _ in drawings] == [
        f"tone by jtone: {at}; {golden}",
        "tone by ktone: no threshold is suggested",
        "otone: on the golden set: minimum 0.25, quartiles 0.38, 0.50, 0.62, maximum 0.75",
    ]
    first = drawings[0][1]
    recall = [tuple(map(float, at.split(","))) for at in re.findall(r'"recall" points="([^"]*)"', first)[0].split()]
    assert [x for x, _ in recall] == sorted({x for x, _ in recall}), "from left to right"
    assert [y for _, y in recall] == sorted((y for _, y in recall), reverse=True), "a higher threshold finds more"
    assert 'class="suggested" x1="225.2"' in first
    assert "no score yet: run <code>ratiba calibrate run</code>" in page
    assert page.count("<script>") == 1, "no other script is needed"
    assert "Thresholds of the judges" not in render_html(summarise(sample_report()))


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '" onload="x', "{{ 7 * 7 }}", "\ud800\x00"])
def test_names_of_criteria_add_no_tag_and_no_attribute(text: str) -> None:
    def drawn(name: str) -> list[str]:
        return tags(render_html(summarise(sample_report()), _thresholds(name)))

    assert drawn(text) == drawn("plain")


def test_which_scenarios_read_which_files_and_what_nothing_reads() -> None:
    files = (
        FileReaders("agent.py", sent=True, scenarios=("returns", "hours"), more=3),
        FileReaders("docs/", sent=False, scenarios=("hours",)),
    )
    shown = render_html(summarise(replace(sample_report(), reads=ReadMap(files, 2, ("web/<b>/",), 1))))
    part = shown[shown.index('id="files"') :]
    cells = re.findall(r'<td data-label="(?:file|to a model|scenarios)">(.*?)</td>', part)
    assert cells == ["<code>agent.py</code>", "sent", "returns, hours and 3 more", "<code>docs/</code>", "", "hours"]
    assert "4 paths" in part
    assert "and 2 more" in part
    assert "<code>web/&lt;b&gt;/</code> and 1 more" in part
    assert "Which scenarios read" not in render_html(summarise(sample_report()))
