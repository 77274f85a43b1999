"""Whole verdicts, from a run's inputs to its report, on a system that says what the test wants."""

from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import ConfigurationError, WorkerError
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import Mode
from ratiba_action.model.conversation import Reply
from ratiba_action.model.measurement import Case, NotRun, Score
from ratiba_action.model.note import in_order
from ratiba_action.model.plan import BASE, HEAD, Trial
from ratiba_action.model.scenario import Assertion, FailureRule, Scenario, Turn
from ratiba_action.model.verdict import Conclusion
from ratiba_action.reporting.summary import summarise
from ratiba_action.run.gate import RunOutcome
from ratiba_action.run.services import TrialCalls
from tests.support.in_process_gate import InProcessGate, Script
from tests.support.sample_report import sample_scenario

POLITE = (FailureRule("must_contain", "please"),)
NAMES = ("booking", "greeting", "refund")


def scenario(name: str, **changes: Any) -> Scenario:
    """One turn, and a rule that the reply must keep."""
    return replace(sample_scenario(name), **{"turns": (Turn(user="hi"),), "rules": POLITE, "assertions": (), **changes})


SCENARIOS = tuple(map(scenario, NAMES))
POLITELY: Script = {name: [Reply("yes, please")] for name in NAMES}
RUDELY: Script = {**POLITELY, "refund": [Reply("no")]}


def exit_code(outcome: RunOutcome) -> int:
    return summarise(outcome.report).exit_code


def test_a_change_as_good_as_its_base_passes(tmp_path: Path) -> None:
    gate = InProcessGate(folder=tmp_path, scenarios=SCENARIOS, head=POLITELY, base=POLITELY)
    outcome = gate.run()
    assert outcome.report.verdict.conclusion is Conclusion.PASSED
    assert exit_code(outcome) == 0
    assert [result.trial.arm.name for result in outcome.report.results] == [HEAD] * 3
    assert [result.trial.arm.name for result in outcome.base_results] == [BASE] * 3
    assert gate.opened == [BASE, HEAD], "the base is over before anything of the change is started"


def test_what_the_base_passes_and_the_change_fails_is_a_regression(tmp_path: Path) -> None:
    outcome = InProcessGate(folder=tmp_path, scenarios=SCENARIOS, head=RUDELY, base=POLITELY).run()
    report = outcome.report
    assert report.verdict.conclusion is Conclusion.FAILED
    assert summarise(report).outputs["regression_detected"] is True
    assert exit_code(outcome) == 1


HTTP = "system: {{price_per_turn_usd: 0, {more} http: {{url: '{url}', reply: {{text: text}}}}}}\n"
IMAGE = f"bot@sha256:{'0' * 64}"
RUNNING, SERVED = "http://127.0.0.1:8000/chat", "http://127.0.0.1:{port}/chat"


@pytest.mark.parametrize(
    ("configuration", "unproven"),
    [
        (HTTP.format(url=RUNNING, more=""), True),
        (HTTP.format(url=RUNNING, more="version_path: /version,"), False),
        (HTTP.format(url=RUNNING, more="version_header: X-Commit,"), False),
        (HTTP.format(url=SERVED, more="serve: {command: [npm, start]},"), False),
        (HTTP.format(url=SERVED, more="container: {port: 80},"), False),
        (HTTP.format(url=SERVED, more=f"container: {{port: 80, image: '{IMAGE}'}},"), True),
        (HTTP.format(url=SERVED, more=f"version_path: /v, container: {{port: 80, image: '{IMAGE}'}},"), False),
    ],
)
def test_what_nothing_proves_of_a_running_server_is_the_report_s_first_note(
    tmp_path: Path,
    configuration: str,
    unproven: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    outcome = InProcessGate(folder=tmp_path, scenarios=SCENARIOS, head=POLITELY, configuration=configuration).run()
    first = next(iter(in_order(outcome.report.notes)), "")
    of_server = "Nothing proves which code answered at http://127.0.0.1:8000/chat"
    of_image = f"Nothing proves that the image '{IMAGE}' was built from this change"
    assert ((of_image if IMAGE in configuration else of_server) in first) is unproven


class Likeness:
    """Implements ``Metric``: the score is what the reply says."""

    name, version, judged = "LikenessMetric", "1", True

    async def measure(self, case: Case, threshold: float) -> Score:
        value = float(case.transcript.exchanges[0].reply.text)
        return Score(self.name, self.version, value, threshold, judged=True, reason="as it says")


def judged(value: float, count: int = 12) -> tuple[tuple[Scenario, ...], Script]:
    """Scenarios with one judged score each, and a system that earns it."""
    names = [f"s{number:02}" for number in range(count)]
    assertions = (Assertion(Likeness.name, 0.0),)
    return tuple(scenario(name, rules=(), assertions=assertions) for name in names), {
        name: [Reply(str(value))] for name in names
    }


def test_scores_that_drop_below_those_of_the_base_fail_the_change_though_all_reach_their_threshold(
    tmp_path: Path,
) -> None:
    (scenarios, good), (_, worse) = judged(0.9), judged(0.4)
    gate = InProcessGate(folder=tmp_path, scenarios=scenarios, head=worse, base=good, metric=lambda _: Likeness())
    assert gate.run().report.verdict.conclusion is Conclusion.FAILED
    assert replace(gate, head=good).run().report.verdict.conclusion is Conclusion.PASSED


def test_a_base_that_could_not_be_measured_leaves_the_run_incomplete(tmp_path: Path) -> None:
    broken: Script = {name: [WorkerError("it hung")] for name in NAMES}
    outcome = InProcessGate(folder=tmp_path, scenarios=SCENARIOS, head=POLITELY, base=broken).run()
    assert outcome.report.verdict.conclusion is Conclusion.INCOMPLETE
    assert exit_code(outcome) == 3


def test_a_broken_rule_counts_though_the_base_was_not_measured(tmp_path: Path) -> None:
    broken: Script = {name: [WorkerError("it hung")] for name in NAMES}
    outcome = InProcessGate(folder=tmp_path, scenarios=SCENARIOS, head=RUDELY, base=broken).run()
    assert outcome.report.verdict.conclusion is Conclusion.FAILED


def test_a_critical_scenario_fails_the_change_whatever_share_of_the_others_passes(tmp_path: Path) -> None:
    (scenarios, good), (_, worse) = judged(0.9, 40), judged(0.4, 40)
    head = {**good, "s00": worse["s00"]}
    assertions = (Assertion(Likeness.name, 0.8),)
    ordinary = tuple(replace(each, assertions=assertions) for each in scenarios)
    gate = InProcessGate(folder=tmp_path, scenarios=ordinary, head=head, metric=lambda _: Likeness())
    assert gate.run().report.verdict.conclusion is Conclusion.PASSED
    critical = replace(gate, scenarios=(replace(ordinary[0], critical=True), *ordinary[1:]))
    assert critical.run().report.verdict.conclusion is Conclusion.FAILED


def test_an_advisory_run_fails_and_exits_with_0(tmp_path: Path) -> None:
    outcome = InProcessGate(folder=tmp_path, scenarios=SCENARIOS, head=RUDELY, mode=Mode.ADVISORY).run()
    assert outcome.report.verdict.conclusion is Conclusion.FAILED
    assert exit_code(outcome) == 0


def test_a_critical_scenario_that_newly_fails_stops_an_advisory_run_too(tmp_path: Path) -> None:
    critical = tuple(replace(each, critical=True) for each in SCENARIOS)
    gate = InProcessGate(folder=tmp_path, scenarios=critical, head=RUDELY, mode=Mode.ADVISORY)
    assert exit_code(gate.run()) == 1
    assert exit_code(replace(gate, base=POLITELY).run()) == 1
    assert exit_code(replace(gate, base=RUDELY).run()) == 0


def test_a_trial_that_the_budget_does_not_cover_leaves_the_run_incomplete(tmp_path: Path) -> None:
    class Budget(TrialCalls):
        def admit(self, trial: Trial) -> AbstractAsyncContextManager[str]:
            return nullcontext("the budget is used up" if trial.scenario.id == "refund" else "")

    gate = InProcessGate(folder=tmp_path, scenarios=SCENARIOS, head=POLITELY, calls=Budget())
    report = gate.run().report
    assert report.verdict.conclusion is Conclusion.INCOMPLETE
    assert [result.reason for result in report.results if isinstance(result, NotRun)] == ["the budget is used up"]
    broken = replace(gate, head={**POLITELY, "greeting": [Reply("no")]})
    assert broken.run().report.verdict.conclusion is Conclusion.FAILED, "what was measured before counts"


def test_a_budget_that_covers_no_scenario_starts_nothing(tmp_path: Path) -> None:
    gate = InProcessGate(
        folder=tmp_path,
        scenarios=SCENARIOS,
        head=POLITELY,
        llm=Llm.LIVE,
        configuration="system: {adapter: 'assistant:Adapter', price_per_turn_usd: 0.5}\n",
        environment={"ANTHROPIC_API_KEY": "of-a-test", "RATIBA_EVAL_BUDGET_USD": "0.10"},
    )
    outcome = gate.run()
    assert outcome.report.verdict.conclusion is Conclusion.INCOMPLETE
    assert gate.opened == []
    assert all(isinstance(result, NotRun) for result in outcome.report.results)
    assert outcome.report.spending.spent == 0
    assert "0.10" in outcome.report.verdict.action + outcome.report.verdict.reason


def test_what_cannot_be_measured_is_never_green(tmp_path: Path) -> None:
    failing: dict[str, Script] = {
        "every system errs": {name: [WorkerError("it raised")] for name in NAMES},
        "a wrong configuration": {**POLITELY, "refund": [ConfigurationError("there is no such table")]},
    }
    for what, head in failing.items():
        outcome = InProcessGate(folder=tmp_path, scenarios=SCENARIOS, head=head, base=POLITELY).run()
        assert outcome.report.verdict.conclusion not in {Conclusion.PASSED, Conclusion.INCONCLUSIVE}, what
