"""A conversation that was held and lacks only a recorded grade: what was measured is shown, the remedy once."""

import io
from dataclasses import replace

from ratiba_action.model.change import Mode
from ratiba_action.model.measurement import Errored, Phase
from ratiba_action.model.plan import Plan
from ratiba_action.model.scenario import Assertion
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Report
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.markdown import visible
from ratiba_action.reporting.summary import summarise
from ratiba_action.reporting.terminal import make_console, print_results
from ratiba_action.verdict.decision import next_step
from tests.support.sample_report import sample_report, sample_scored

REMEDY = "With a judge's key, run ratiba record --scenario first --accept; without one, set metrics: {fluency: false}."
PROBLEM = "No recorded score of english_fluency:1.0.0: it was never judged."


def _report() -> Report:
    held = sample_scored("first")
    judged = replace(held.trial.scenario, assertions=(Assertion("EnglishFluencyMetric", 0.8),))
    lacking = Errored(
        replace(held.trial, scenario=judged), Phase.RECORDING, PROBLEM, held.transcript, 0.2, held.checks, remedy=REMEDY
    )
    verdict = next_step(Evidence(Mode.BLOCKING, (lacking,), Limits()))
    assert not isinstance(verdict, Plan)
    return sample_report(results=(lacking,), verdict=verdict)


def test_what_was_measured_holds_and_the_action_is_the_remedy() -> None:
    verdict = _report().verdict
    assert verdict.conclusion is Conclusion.INCOMPLETE
    assert "Nothing was measured" not in verdict.reason
    assert "of 1 scenario passed, but the run cannot pass" in verdict.reason
    assert verdict.action == f"{REMEDY} Then run the gate again."


def test_the_comment_has_the_transcript_and_tells_cause_and_remedy_once() -> None:
    body = render_comment(summarise(_report()))
    assert "Transcript of <code>first</code>" in body
    assert visible(body).count("No recorded score") == 1
    assert body.count("--accept") == 1
    assert "| no score |" in body


def test_a_row_of_the_terminal_counts_the_checks_that_held() -> None:
    stream = io.StringIO()
    print_results(summarise(_report()), make_console(stream, {}))
    row = next(line for line in stream.getvalue().splitlines() if line.startswith("first"))
    assert "no score" in row
    assert "1/1" in row


def test_a_long_error_stays_on_one_line_of_the_terminal() -> None:
    held = sample_scored("first")
    broken = Errored(held.trial, Phase.SYSTEM, "it broke " * 100)
    stream = io.StringIO()
    print_results(summarise(sample_report(results=(broken,))), make_console(stream, {}))
    assert len(stream.getvalue().splitlines()) == 2
