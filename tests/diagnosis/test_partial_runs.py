"""Whose failure varies by chance, and which reports are explained at all; the search is in ``test_explain``."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from ratiba_action.diagnosis.partial_runs import explain, varying_of, with_explanation
from ratiba_action.errors import InfrastructureError
from ratiba_action.model.conversation import Reply
from ratiba_action.model.scenario import FailureRule, Scenario, Strategy, Turn
from ratiba_action.model.verdict import Conclusion
from ratiba_action.money.budget import Ledger
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunLog
from ratiba_action.run.session import RunSession
from tests.support.in_process_gate import InProcessGate, Script
from tests.support.progress import RecordedProgress
from tests.support.sample_report import sample_scenario

POLITE = (FailureRule("must_contain", "please"),)


def scenario(name: str, trials: int = 1) -> Scenario:
    strategy = Strategy(trials=trials, passes=1)
    return sample_scenario(name, turns=(Turn(user="hi"),), rules=POLITE, assertions=(), strategy=strategy)


def no_session(inputs: RunInputs, head: ArmInputs, **_: object) -> RunSession:
    """Refuses: nothing may be run."""
    raise AssertionError((inputs, head))


def gate(folder: Path, head: Script, base: Script | None = None, trials: int = 1) -> InProcessGate:
    return InProcessGate(folder=folder, scenarios=(scenario("refund", trials),), head=head, base=base)


RUDE: Script = {"refund": [Reply("no")]}
POLITELY: Script = {"refund": [Reply("yes, please")]}


def test_in_a_replay_a_scenario_varies_where_its_own_trials_differ(tmp_path: Path) -> None:
    run = gate(tmp_path, RUDE)
    results = run.run().report.results
    assert varying_of(run.inputs(), results, ()) == frozenset()
    (failed,) = results
    (passed,) = gate(tmp_path, POLITELY).run().report.results
    twice = (failed, replace(passed, trial=replace(passed.trial, number=1)))
    assert varying_of(run.inputs(), twice, ()) == {"refund"}


@pytest.mark.parametrize(
    ("head", "base", "conclusion"),
    [(POLITELY, POLITELY, Conclusion.PASSED), (RUDE, None, Conclusion.FAILED)],
    ids=["it passed", "it has no base"],
)
def test_a_report_that_has_nothing_to_explain_stays_as_it_is(
    tmp_path: Path, head: Script, base: Script | None, conclusion: Conclusion
) -> None:
    run = gate(tmp_path, head, base)
    report = run.run().report
    assert report.verdict.conclusion is conclusion
    log = RunLog(RecordedProgress())
    assert with_explanation(report, run.inputs(), log, Ledger(Decimal(20)), None, open_session=no_session) == report
    assert log.warnings == []


def test_what_the_base_fails_alike_is_named_and_nothing_is_run(tmp_path: Path) -> None:
    run = gate(tmp_path, RUDE, RUDE)
    outcome = run.run()
    log = RunLog(RecordedProgress())
    explained = with_explanation(
        outcome.report, run.inputs(), log, Ledger(Decimal(20)), None, open_session=no_session, base=outcome.base_results
    )
    assert explained.explanation is not None
    assert explained.explanation.scenarios["refund"].why == "the base fails as well"
    assert explained.explanation.runs == 0


def test_without_time_nothing_is_looked_for(tmp_path: Path) -> None:
    run = gate(tmp_path, RUDE, POLITELY)
    report = run.run().report
    log = RunLog(RecordedProgress())
    assert with_explanation(report, run.inputs(), log, Ledger(Decimal(20)), 0.0, open_session=no_session) == report


def test_what_goes_wrong_is_a_note_and_the_verdict_stays(tmp_path: Path) -> None:
    run = gate(tmp_path, RUDE, POLITELY)
    report = run.run().report
    log, ledger = RunLog(RecordedProgress()), Ledger(Decimal(20))
    shown: list[str] = []
    explained = with_explanation(report, run.inputs(), log, ledger, None, open_session=no_session, show=shown.append)
    assert explained.verdict == report.verdict
    assert shown == [], "no search has begun"
    assert any(str(note).startswith("Which lines make scenarios fail is not known") for note in log.warnings)


def test_a_change_without_a_base_cannot_be_explained(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="cannot be compared with its base: the change has no base"):
        explain(gate(tmp_path, RUDE).inputs(), Ledger(Decimal(20)), open_session=no_session, max_runs=1)
