"""What a person sees, on a terminal and in a log."""

import io
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from ratiba_action.model.change import Mode
from ratiba_action.model.measurement import Check, Errored, Phase
from ratiba_action.model.plan import Plan
from ratiba_action.model.verdict import Evidence, Limits, Report
from ratiba_action.ports import Progress
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.summary import summarise
from ratiba_action.reporting.terminal import (
    RichPrinter,
    make_console,
    make_progress,
    print_comment,
    print_results,
)
from ratiba_action.verdict.decision import next_step
from tests.support.sample_report import sample_report, sample_results, sample_scored, sample_trial


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


TERMINAL = {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}


def watch(progress: Progress) -> None:
    progress.started(4)
    for result in sample_results():
        progress.advanced(result)
    progress.finished()
    progress.finished()


def test_a_log_gets_one_plain_line_for_each_trial() -> None:
    stream = io.StringIO()
    watch(make_progress(stream, {}, Redactor()))
    assert stream.getvalue().splitlines() == [
        "0/4 scenarios",
        "1/4 spa_booking: passed",
        "2/4 salon_reschedule: failed",
        "3/4 barbershop_mpesa: recording error: The prompt changed since it was recorded.",
        "4/4 spa_handoff: not run: The budget was used up.",
    ]


def test_what_failed_is_named_beside_what_is_missing() -> None:
    stream = io.StringIO()
    check = Check("rule", 1, "must_contain", "Karibu", "Hello", passed=False)
    make_progress(stream, {}, Redactor()).advanced(
        Errored(sample_trial("asks"), Phase.RECORDING, "The judge's answer is missing.", checks=(check,))
    )
    assert stream.getvalue().endswith("asks: failed: must_contain: The judge's answer is missing.\n")


def test_a_terminal_gets_a_bar_and_the_lines_of_what_did_not_pass() -> None:
    stream = Terminal()
    watch(make_progress(stream, TERMINAL, Redactor()))
    assert "4/4" in stream.getvalue()
    assert "salon_reschedule: failed" in stream.getvalue()


@pytest.mark.parametrize("environment", [{"CI": "true"}, {"TERM": "dumb"}])
def test_ci_and_dumb_terminals_get_plain_lines(environment: dict[str, str]) -> None:
    stream = Terminal()
    watch(make_progress(stream, TERMINAL | environment, Redactor()))
    assert "2/4 salon_reschedule: failed\n" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_no_color_is_honoured() -> None:
    coloured, plain = Terminal(), Terminal()
    print_results(summarise(sample_report()), make_console(coloured, TERMINAL))
    print_results(summarise(sample_report()), make_console(plain, TERMINAL | {"NO_COLOR": "1"}))
    assert "\x1b[32m" in coloured.getvalue()
    assert "\x1b[3" not in plain.getvalue()


def test_a_log_gets_the_conversations_in_a_group() -> None:
    stream = io.StringIO()
    print_results(summarise(sample_report()), make_console(stream, {"CI": "true"}), in_workflow=True)
    lines = stream.getvalue().splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("::group::Scenarios", "spa_booking: passed", "::endgroup::")


def test_a_pipe_gets_the_table_without_commands_or_colours() -> None:
    stream = io.StringIO()
    print_results(summarise(sample_report()), make_console(stream, {}))
    assert "spa_booking" in stream.getvalue()
    assert "::" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_of_many_scenarios_only_those_that_did_not_pass_are_listed() -> None:
    passed = [sample_scored(f"talks_{number}") for number in range(300)]
    failed = Errored(sample_trial("talks_wrong"), Phase.SYSTEM, "it crashed")
    stream = io.StringIO()
    print_results(summarise(sample_report(results=(*passed, failed))), make_console(stream, {}))
    lines = stream.getvalue().splitlines()
    assert [line for line in lines if line.startswith("talks_")] == [
        line for line in lines if line.startswith("talks_wrong ")
    ]
    assert "300 more scenarios passed; report.html lists them" in lines


@pytest.mark.parametrize("in_workflow", [True, False])
def test_of_many_that_did_not_pass_the_first_are_listed(*, in_workflow: bool) -> None:
    failed = [Errored(sample_trial(f"talks_{number:03}"), Phase.SYSTEM, "it crashed") for number in range(300)]
    stream = io.StringIO()
    print_results(summarise(sample_report(results=tuple(failed))), make_console(stream, {}), in_workflow=in_workflow)
    rows = re.findall(r"^talks_\d+", stream.getvalue(), re.MULTILINE)
    assert rows == [f"talks_{number:03}" for number in range(200)]
    assert "100 more scenarios in report.html" in stream.getvalue().splitlines()


@pytest.mark.parametrize("in_workflow", [True, False])
def test_text_of_the_system_can_not_command_the_log_or_the_terminal(*, in_workflow: bool) -> None:
    stream = io.StringIO()
    hostile = sample_scored("a\n::error::x\x1b[2J ##[error]y")
    print_results(
        summarise(sample_report(results=(hostile,))), make_console(stream, {"CI": "true"}), in_workflow=in_workflow
    )
    assert "::error" not in stream.getvalue()
    assert "##[" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_the_comment_is_printed_without_marker_and_folded_parts() -> None:
    stream, terminal = io.StringIO(), Terminal()
    body = render_comment(summarise(sample_report()))
    print_comment(body, make_console(stream, {"CI": "true"}))
    print_comment(body, make_console(terminal, TERMINAL))
    assert "[!CAUTION]" in stream.getvalue()  # Markdown, which GitHub shows as an alert
    assert "[!CAUTION]" not in terminal.getvalue()
    for printed in (stream.getvalue(), terminal.getvalue()):
        assert "Failed: 1 of 4 scenarios passed" in printed
        assert "COLLECTING" in printed
        assert "Transcript of" not in printed
        assert "ratiba-eval-gate name" not in printed


@pytest.mark.parametrize("in_workflow", [True, False])
def test_a_crash_of_the_system_shows_its_frames_in_lines_that_are_no_commands(in_workflow: object) -> None:
    frames = "\n".join([*(f"  frame {n}" for n in range(60)), "::error::x"])
    begun = "raised LookupError: no\nTraceback (most recent call last):"
    crashed = [
        Errored(sample_trial(f"talks_{n}"), Phase.SYSTEM, f"{begun}\n  of mistake {n}\n{frames}") for n in range(5)
    ]
    stream = io.StringIO()
    print_results(
        summarise(sample_report(results=tuple(crashed))),
        make_console(stream, {"CI": "true"}),
        in_workflow=bool(in_workflow),
    )
    lines = stream.getvalue().splitlines()
    assert "talks_0: raised LookupError: no" in lines
    assert lines.count("    frame 59") == 3
    assert "    frame 0" not in lines
    assert "2 more tracebacks in report.html" in lines
    assert not [line for line in lines if line.strip() == "::error::x"]


def printed(verdict_of: Report, environment: Mapping[str, str] = TERMINAL, verbosity: int = 0) -> str:
    stream, summary = Terminal(), summarise(verdict_of)
    printer = RichPrinter(stream, environment, verbosity)
    printer.comment(render_comment(summary))
    printer.results(summary, in_workflow=False)
    printer.end(summary, {"report.html": Path("/shop/ratiba-report/report.html")})
    return stream.getvalue()


def passing(*notes: str, caveats: tuple[str, ...] = ()) -> Report:
    results = (sample_scored("greets"), sample_scored("books"))
    verdict = next_step(Evidence(Mode.BLOCKING, results, Limits()))
    assert not isinstance(verdict, Plan)
    return sample_report(results=results, verdict=verdict, notes=(*notes, *caveats), caveats=caveats)


def test_a_terminal_gets_six_lines_of_a_suite_that_passed_and_the_verdict_in_green() -> None:
    shown = printed(passing("The system runs as the gate's own user.", "The cache was cold."))
    assert len(shown.splitlines()) <= 6
    assert "\x1b[1;32m✓ Passed: 2 of 2 scenarios passed" in shown
    assert "2 notes in report.html" in shown
    assert "greets" not in shown
    assert "cold" not in shown


def test_what_qualifies_a_pass_is_shown_on_a_terminal() -> None:
    shown = printed(passing("The cache was cold.", caveats=("No base was measured.",)))
    assert "Note: No base was measured." in shown
    assert "1 more note in report.html" in shown


def test_notes_of_a_failure_are_shown_on_a_terminal() -> None:
    shown = printed(sample_report(notes=("The cache was cold.",)))
    assert "Note: The cache was cold." in shown


def test_a_terminal_gets_what_failed_then_the_verdict_in_red_and_last_the_command_to_go_on() -> None:
    shown = printed(sample_report())
    failed, verdict = shown.index("salon_reschedule: failed"), shown.index("✗ Failed: 1 of 4 scenarios passed")
    assert failed < shown.index("expected") < shown.index("report.html") < verdict < shown.index("What to do: ")
    assert shown[: shown.index("✗ Failed")].endswith("\x1b[1;31m")
    assert shown.split("\n")[-2].strip().endswith("ratiba gate --failed")
    assert "##" not in shown
    assert "**" not in shown


@pytest.mark.parametrize("environment", [TERMINAL | {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_without_colours_gets_the_same_words(environment: dict[str, str]) -> None:
    shown = printed(sample_report(), environment)
    assert "✗ Failed: 1 of 4 scenarios passed" in shown
    assert "**" not in shown
    assert "\x1b[3" not in shown
    assert "\x1b[1;3" not in shown


def test_a_long_id_is_wrapped_and_not_cut() -> None:
    name = "order_status_of_a_customer_who_asked_before_" * 3
    results = (Errored(sample_trial(name), Phase.SYSTEM, "it crashed"),)
    narrow = TERMINAL | {"COLUMNS": "60"}
    short, verbose = (printed(sample_report(results=results), narrow, verbosity) for verbosity in (0, 1))
    assert name in "".join(re.sub(r"\x1b\[[0-9;]*m", "", short).split())
    assert "…" not in verbose[verbose.index("scenario  ") :]


def test_a_quiet_run_prints_its_verdict_alone_and_a_verbose_one_every_scenario() -> None:
    quiet, verbose = printed(sample_report(), verbosity=-1), printed(sample_report(), verbosity=1)
    assert quiet.replace("\x1b[1;31m", "").startswith("✗ Failed: 1 of 4 scenarios passed")
    assert "report.html" not in quiet
    for name in ("spa_booking", "salon_reschedule", "Failing scenarios"):
        assert name in verbose
    assert verbose.index("spa_booking") < verbose.index("✗ Failed: 1 of 4 scenarios passed")


def test_text_of_the_system_can_not_command_the_terminal_in_the_short_form() -> None:
    hostile = Errored(sample_trial("a\n::error::x\x1b[2J ##[error]y"), Phase.SYSTEM, "::error::x\x1b[2J\x07")
    shown = printed(sample_report(results=(hostile,)))
    assert "::error" not in shown
    assert "\x1b[2J" not in shown
    assert "\x07" not in shown
