"""The comment: what it says, what it never leaves out, and what it never lets through."""

import re
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from syrupy.assertion import SnapshotAssertion

from ratiba_action.github.attempts import CommentAttempt, attempt_of, read_attempts
from ratiba_action.github.marker import marker_of, read_marker
from ratiba_action.model.change import DependencyChange, Mode, ModeDecision, Reason
from ratiba_action.model.comparison import Agreement, CrossCheckStatus
from ratiba_action.model.measurement import Errored, Invariant, Phase, ScenarioResult
from ratiba_action.model.note import Caveat, MachineNote, Note, caveats_of, in_order
from ratiba_action.model.scenario import Quarantine, Strategy
from ratiba_action.model.verdict import Conclusion, Report, SharedSpending, Verdict
from ratiba_action.reporting.comment import LIMIT, render_comment
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.markdown import length, visible
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

NOTE = "The recordings were changed by this pull request: scenarios/recordings/spa_booking.jsonl."


def passed() -> Report:
    results = tuple(sample_scored(f"spa_{n}", scores=(sample_score(),)) for n in range(3))
    verdict = Verdict(Conclusion.PASSED, "All 3 scenarios passed.")
    return sample_report(results=results, verdict=verdict, llm="replay", spending=sample_replayed_spending())


def the_attempt(report: Report) -> CommentAttempt:
    found = attempt_of(report)
    assert found is not None
    return found


def skipped() -> Report:
    verdict = Verdict(Conclusion.SKIPPED, "Nothing that the gate watches has changed.")
    return sample_report(results=(), verdict=verdict, decision=ModeDecision(Mode.SKIP, ()))


def advisory() -> Report:
    return sample_report(decision=ModeDecision(Mode.ADVISORY, ()), notes=(NOTE,))


def incomplete() -> Report:
    verdict = Verdict(
        Conclusion.INCOMPLETE, "Nothing was measured: no key.", "Give anthropic-api-key.", ("Old cache.",)
    )
    return sample_report(verdict=verdict, results=(), enforce=False)


def reduced() -> Report:
    """The budget went down: the cross-check was given up, and one conversation was not run."""
    stopped = "the budget has $0.01 left of $0.30, and the scenarios that wait may need $0.12"
    status = CrossCheckStatus(0.10, 2, 1, stopped)
    spending = replace(sample_report().spending, cap=Decimal("0.30"), spent=Decimal("0.29"), replayed_calls=0)
    return sample_report(
        spending=replace(spending, by_party={"judge": Decimal("0.29")}, by_model={"claude-opus-5-5": Decimal("0.29")}),
        cross_checking=sample_cross_checking(status=status, agreement=Agreement(1, 1.0)),
        llm="live",
    )


def unshared() -> Report:
    """No ledger that other runs share, and no second key."""
    off = sample_cross_checking(model="", status=CrossCheckStatus(0, 0, 0), agreement=Agreement(0), off="no key")
    return sample_live_report(shared_spending=(), cross_checking=off)


def repeated() -> Report:
    """Held several times: enough passed, too many failed, not enough known; one in quarantine and one out of it."""
    granted = Quarantine("the rail's sandbox times out", "@amina", date(2026, 4, 30))
    ended = replace(granted, until=date(2026, 4, 24))
    results = (
        *trials("spa_passes", "ppbrp", 4),
        *trials("salon_fails", "pbb", 2),
        *trials("barbershop_open", "pee", 2),
        *trials("spa_apart", "pb", 2, quarantine=granted),
        *trials("spa_again", "b", 1, quarantine=ended),
    )
    return sample_report(results=results)


def trials(name: str, kinds: str, passes: int, **changes: Any) -> list[ScenarioResult]:
    """One trial for each letter: p(assed), b(roken), e(rrored), r(etried)."""
    found: list[ScenarioResult] = []
    for number, kind in enumerate(kinds):
        checks, strategy = (sample_check(passed=kind != "b"),), Strategy(trials=len(kinds), passes=passes)
        scored = sample_scored(name, checks=checks, strategy=strategy, **changes)
        scored = replace(scored, trial=replace(scored.trial, number=number))
        scored = replace(scored, retried=("provider error: overloaded",)) if kind == "r" else scored
        found.append(Errored(scored.trial, Phase.PROVIDER, "The provider is overloaded.") if kind == "e" else scored)
    return found


def huge(conversations: int = 300) -> Report:
    checks = tuple(sample_check(passed=False, what="state " + "x" * 250) for _ in range(10))
    results = tuple(sample_scored(f"spa_{n:03}", checks=checks, reply="Asante 🙂 " * 500) for n in range(conversations))
    return sample_report(results=results, notes=(NOTE,))


@pytest.mark.parametrize(
    "report",
    [passed, sample_report, sample_live_report, reduced, unshared, advisory, incomplete, skipped, repeated, huge],
)
def test_the_comment_of_each_kind_of_run(report: object, snapshot: SnapshotAssertion) -> None:
    assert callable(report)
    assert render_comment(summarise(report())) == snapshot


def test_a_skipped_run_is_a_note_of_two_lines() -> None:
    lines = [line for line in render_comment(summarise(skipped())).splitlines() if line]
    assert [line for line in lines[2:] if line != ">"] == [
        "> [!NOTE]",
        "> ## Skipped: ratiba",
        "> Nothing that the gate watches has changed.",
    ]


def test_the_alert_has_verdict_reason_and_numbers_and_what_to_do_follows_it() -> None:
    lines = [line for line in render_comment(summarise(sample_report())).splitlines() if line not in ("", ">")]
    assert lines[2:4] == ["> [!CAUTION]", "> ## Failed: 1 of 4 scenarios passed · ratiba"]
    assert lines[4].startswith("> 1 of 4 scenarios failed a deterministic assertion")
    assert lines[5].startswith("> blocking · USD 1.25 of 20.00")
    assert lines[6].startswith("**What to do:**")
    assert lines[7:10] == ["```text", "ratiba gate --scenario salon_reschedule", "```"]


def test_what_qualifies_a_pass_stands_unfolded_and_the_pass_is_not_green() -> None:
    notes = in_order(["Nothing to do.", Caveat("Nothing was compared."), *(Caveat(f"Known {n}.") for n in range(4))])
    verdict = Verdict(Conclusion.PASSED, "All passed.")
    report = sample_report(verdict=verdict, notes=notes, caveats=caveats_of(notes))
    comment = render_comment(summarise(report))
    assert "> [!NOTE]\n> ## Passed: " in comment
    shown = "- **Keep in mind:** Nothing was compared.\n- Known 0. (3 more in the notes below.)\n"
    assert shown in visible(comment)
    assert "<summary>4 notes</summary>\n\n- Known 1.\n- Known 2.\n- Known 3.\n- Nothing to do.\n" in comment
    assert "<li>Known 3.</li>" in render_html(summarise(report)).partition("<details>")[0]


def test_a_failure_keeps_what_would_qualify_a_pass_among_its_notes() -> None:
    notes = (Caveat("Nothing was compared."),)
    comment = render_comment(summarise(sample_report(notes=notes, caveats=notes)))
    assert "<summary>1 note</summary>\n\n- Nothing was compared.\n" in comment
    assert "Nothing was compared" not in visible(comment)


def test_notes_are_folded_and_those_about_the_machine_are_last() -> None:
    notes = in_order([MachineNote("No room.", "Mount one."), "Nothing to do.", Note("It is stale.", "Record it.")])
    comment = render_comment(summarise(sample_report(notes=notes)))
    assert "- It is stale. Record it.\n- Nothing to do.\n- No room. Mount one.\n" in comment
    assert "It is stale" not in visible(comment)


@pytest.mark.parametrize(
    ("changes", "alert"),
    [
        ({"verdict": Verdict(Conclusion.PASSED, "All passed.")}, "TIP"),
        ({"verdict": Verdict(Conclusion.PASSED, "All passed.", "", ("Old cache.",))}, "NOTE"),
        ({"verdict": Verdict(Conclusion.PASSED, "All passed."), "edited_recordings": 1}, "NOTE"),
        ({"verdict": Verdict(Conclusion.PASSED, "All passed."), "system_ran": False}, "NOTE"),
        ({"verdict": Verdict(Conclusion.PASSED, "All passed."), "covered": False}, "NOTE"),
        ({"verdict": Verdict(Conclusion.INCONCLUSIVE, "Too little data.")}, "WARNING"),
        ({"verdict": Verdict(Conclusion.INCOMPLETE, "Out of money.")}, "WARNING"),
        ({"verdict": Verdict(Conclusion.INCOMPLETE, "No amount.", misconfigured=True)}, "CAUTION"),
        ({"verdict": Verdict(Conclusion.FAILED, "1 failed.")}, "CAUTION"),
        ({"verdict": Verdict(Conclusion.FAILED, "1 failed."), "enforce": False}, "WARNING"),
        ({"decision": ModeDecision(Mode.ADVISORY, ())}, "WARNING"),
    ],
)
def test_only_a_pass_that_nothing_qualifies_is_green_and_only_what_blocks_is_red(
    changes: dict[str, Any], alert: str
) -> None:
    assert f"> [!{alert}]\n> ## " in render_comment(summarise(sample_report(**changes)))


def test_a_passing_comment_shows_less_than_15_lines() -> None:
    caveats = tuple(Caveat(f"{NOTE} {number}") for number in range(9))
    live = replace(sample_live_report(), verdict=passed().verdict, notes=(NOTE, *caveats), caveats=caveats)
    for report in (passed(), live):
        comment = render_comment(summarise(report), earlier=(replace(the_attempt(report), run_id=7),))
        shown = [line for line in visible(comment).splitlines() if line not in ("", ">")]
        folded = re.findall("<details>", comment)
        assert len(shown) + len(folded) < 15, comment


def test_recordings_that_the_change_edits_stand_in_the_headline() -> None:
    lines = render_comment(summarise(sample_report(edited_recordings=2))).splitlines()
    assert lines[3] == "> ## Failed: 1 of 4 scenarios passed, with recordings changed in this PR · ratiba"


def test_a_run_that_judged_captured_replies_says_in_the_headline_that_no_system_ran() -> None:
    report = sample_report(system_ran=False)
    first = "> ## Failed: 1 of 4 scenarios passed, on captured replies: no system ran · ratiba"
    assert first in render_comment(summarise(report)).splitlines()
    assert "on captured replies: no system ran" in render_html(summarise(report))


def test_a_wrong_input_is_no_measurement_and_no_mode_excuses_it() -> None:
    verdict = Verdict(Conclusion.INCOMPLETE, "The budget is no amount.", misconfigured=True)
    decision = ModeDecision(Mode.ADVISORY, ())
    body = render_comment(summarise(sample_report(verdict=verdict, decision=decision, results=())))
    assert "## Misconfigured: ratiba" in body
    assert "advisory, so the merge is not blocked" not in body
    assert "0 of 0" not in body


def test_one_cause_that_stopped_many_conversations_is_one_row() -> None:
    results = tuple(Errored(sample_trial(f"s{number}"), Phase.RECORDING, "The prompt changed.") for number in range(9))
    body = render_comment(summarise(sample_report(results=results)))
    row = "| `s0`, `s1`, `s2`, `s3`, `s4` and 4 more | recording error | The prompt changed. |"
    assert row in body


def test_what_an_errored_conversation_broke_is_shown_too() -> None:
    broken = Errored(sample_trial(), Phase.JUDGE, "The judge said 11.", None, 1.0, (sample_check(passed=False),))
    body = render_comment(summarise(sample_report(results=(broken,))))
    assert "### Failing scenarios" in body
    assert "CONFIRMING_SLOT | COLLECTING |" in body
    assert "### Could not be measured" in body


def test_a_failure_that_does_not_stop_the_merge_says_so() -> None:
    assert "Failed (advisory)" in render_comment(summarise(advisory()))
    assert "trial period (enforce: false)" in render_comment(summarise(sample_report(enforce=False)))


def test_a_failing_conversation_is_shown_with_turn_assertion_expected_and_got() -> None:
    text = "the state after “Habari, naomba massage kesho saa nane mchana”"
    assert f"| 1 | {text} | CONFIRMING_SLOT | COLLECTING |" in render_comment(summarise(sample_report()))


def test_a_failing_scenario_says_that_its_reply_was_cut() -> None:
    how = "the reply was cut at its output limit of 300 tokens"
    failed = sample_scored("cut", (sample_check(passed=False),))
    exchanges = tuple(replace(each, cut=how) for each in failed.transcript.exchanges)
    cut = replace(failed, transcript=replace(failed.transcript, exchanges=exchanges))
    body = render_comment(summarise(sample_report(results=(cut,))))
    assert f"Turn 1: {how}." in body
    assert f"1  note:      {how}" in body


@pytest.mark.parametrize("limit", [60_000, 20_000, 6_000, 3_500])
def test_detail_is_dropped_before_what_must_stay(limit: int) -> None:
    text = render_comment(summarise(huge()), limit)
    assert length(text) <= limit
    for kept in (
        "## Failed: ",
        NOTE.partition(":")[0],
        "What to do",
        "USD 1.25 of 20.00",
        "Left out to fit a comment:",
    ):
        assert kept in text


def test_the_comment_of_thousands_of_failures_has_the_critical_one_the_counts_and_what_to_do() -> None:
    def result(number: int) -> ScenarioResult:
        name, critical = f"case_{number:05}", number == 9_999
        if number % 30 == 1:
            return Errored(sample_trial(name), Phase.PROVIDER, f"The provider answered 500 to {name}.")
        checks = tuple(sample_check(passed=number % 3 > 0, what=f"state {turn} " + "x" * 200) for turn in range(5))
        return sample_scored(name, checks, (sample_score(),), reply="Asante 🙂 " * 200, critical=critical)

    text = render_comment(summarise(sample_report(results=tuple(map(result, range(10_000))))))
    assert length(text) <= 60_000
    first, critical = text.index("**`case_00000`**"), text.index("**`case_09999`**")
    assert critical < first, "critical scenarios stand before all others"
    for part in ("## Failed: ", "**What to do:**", "6332 of 10000 scenarios passed", "3324 more scenarios"):
        assert part in text
    assert text.index("3324 more scenarios") < text.index("### Could not be measured") < text.index("<summary>Metrics<")
    assert "Left out to fit a comment: transcripts, all scenarios" in text


def test_what_still_fits_beside_the_names_of_the_failing_comes_back() -> None:
    text = render_comment(summarise(huge()), 6_000)
    assert "Left out to fit a comment: transcripts, all scenarios, tables of failing scenarios." in text
    assert "<summary>Money<" in text


def test_transcripts_go_first() -> None:
    text = render_comment(summarise(huge(12)))
    assert "Left out to fit a comment: transcripts." in text
    assert "All 12 scenarios" in text


def test_even_boundless_fields_end_in_a_comment_that_github_takes() -> None:
    report = huge()
    flood = "@" * 100_000
    verdict = Verdict(Conclusion.FAILED, flood, flood, (flood,) * 100)
    text = render_comment(summarise(replace(report, verdict=verdict, notes=(flood,) * 100, name=flood)))
    assert length(text) <= LIMIT


hostile = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="`|\\<>![]()*_#@:/\n -=.1a&;", max_size=40),
    st.sampled_from(
        [
            "</details>",
            "<!-- ratiba-eval-gate name=ratiba head=a run=9 attempt=9 -->",
            "::error::x",
            "##[set-output name=a]b",
            "![i](//e.example/p)",
            "[l](//e.example)",
            "```\n</details>",
            "|\n|-|\n|",
            "\n\n# x",
        ]
    ),
)


def hostile_report(text: str) -> Report:
    invariant = Invariant(text, satisfied=False, detail=text)
    scores = (
        sample_score(0.1, metric=text, version=text, reason=text, votes=(0.1, 0.1, 0.2)),
        sample_score(0.1, judged=False, invariants=(invariant,)),
    )
    check = sample_check(passed=False, what=text, expected=text, got=text)
    scored = sample_scored(text, (check,), scores, reply=text, path=text, language=text, vertical=text, title=text)
    decision = ModeDecision(
        Mode.BLOCKING,
        (Reason(text, text, Mode.BLOCKING, text),),
        (DependencyChange(text, text, text, text, text),),
    )
    report = sample_report(
        name=text,
        results=(scored, Errored(sample_trial(text), Phase.SYSTEM, text)),
        decision=decision,
        verdict=Verdict(Conclusion.FAILED, text, text, (text,)),
        notes=(text,),
        left_out=(text,),
        judge_model=f"j{text}",
        llm=text,
    )
    spending = replace(report.spending, by_party={text: report.spending.spent}, by_model={text: report.spending.spent})
    subject = replace(report.subject, head=text, title=text, author=text, run_url=text)
    status = CrossCheckStatus(0.1, 1, 0, text)
    return replace(
        report,
        spending=spending,
        subject=subject,
        cross_checking=sample_cross_checking(model=f"x{text}", status=status, off=text),
        shared_spending=(SharedSpending(text, Decimal(1), Decimal(2)),),
    )


def structure(report: Report) -> list[str]:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(render_comment(summarise(report)))
    kinds: list[str] = []
    for token in tokens:
        kinds.append(token.type)
        kinds += [child.type for child in token.children or [] if child.type not in ("text", "code_inline")]
    return kinds


def bars(report: Report) -> list[int]:
    return [line.count("|") for line in render_comment(summarise(report)).splitlines() if line.startswith("| ")]


PLAIN = structure(hostile_report("plain"))


@given(hostile)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_no_text_changes_the_structure_of_the_comment(text: str) -> None:
    report = hostile_report(text)
    kinds = structure(report)
    assert kinds.count("td_open") == PLAIN.count("td_open")
    assert bars(report) == bars(hostile_report("plain"))
    assert "image" not in kinds
    assert "link_open" not in kinds
    assert kinds.count("html_inline") == PLAIN.count("html_inline")
    assert kinds.count("html_block") == PLAIN.count("html_block")
    body = render_comment(summarise(report))
    assert [marker_of(report), None] == [read_marker(line) for line in body.splitlines() if "<!--" in line]
    assert read_attempts(body) == (attempt_of(report),)


def test_a_title_stands_beside_the_id_of_a_failing_scenario() -> None:
    failing = sample_scored("spa_b", (sample_check(passed=False),), (), title="Asked for 14:00, booked 08:00")
    body = render_comment(summarise(sample_report(results=(failing,))))
    assert "**`spa_b`**: Asked for 14:00, booked 08:00" in body
    assert "Asked for 14:00, booked 08:00" in render_html(summarise(sample_report(results=(failing,))))


def test_a_quarantined_owner_and_reason_are_text_in_every_form_of_the_report() -> None:
    hostile = Quarantine("<script>alert(1)</script> | [x](http://evil)", "@everyone", date(2026, 4, 30))
    report = sample_report(results=tuple(trials("spa", "b", 1, quarantine=hostile)))
    comment, page = render_comment(summarise(report)), render_html(summarise(report))
    assert "<script>alert" not in comment + page
    assert "[x](http" not in comment
    assert "@everyone" not in comment
    assert "In quarantine" in page
