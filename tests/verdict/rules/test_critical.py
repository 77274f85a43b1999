"""Which failures of critical scenarios stop the merge in every mode: deterministic ones that the base does not have."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult, Scored
from ratiba_action.model.plan import Arm
from ratiba_action.model.scenario import Strategy
from ratiba_action.model.verdict import Conclusion, Evidence, InAdvisory, Limits, Verdict
from ratiba_action.verdict.decision import exit_code, next_step
from tests.support.sample_report import sample_check, sample_score, sample_scored, sample_trial

BASE = Arm("base", "checkout", "0000000")
TODAY = datetime(2026, 11, 28, tzinfo=UTC)


def check(*, passed: bool, critical: bool = True) -> Scored:
    return sample_scored("charge", checks=(sample_check(passed=passed),), critical=critical)


def score(value: float, *, judged: bool) -> Scored:
    return sample_scored("charge", scores=(sample_score(value, judged=judged),), critical=True)


def on_base(result: Scored) -> Scored:
    return replace(result, trial=replace(result.trial, arm=BASE))


def earlier_run(result: ScenarioResult, *, days: int) -> MeasuredRun:
    return MeasuredRun("0000000", TODAY - timedelta(days=days), "", AnswerOrigin.REPLAY, (result,))


def code(
    *results: ScenarioResult,
    mode: Mode = Mode.ADVISORY,
    enforce: bool = True,
    critical: InAdvisory = InAdvisory.BLOCK,
    baseline: tuple[MeasuredRun, ...] = (),
) -> int:
    evidence = Evidence(mode, results, Limits(critical=critical), baseline=baseline, no_base="a first run")
    verdict = next_step(evidence)
    assert isinstance(verdict, Verdict)
    assert verdict.conclusion is Conclusion.FAILED
    return exit_code(verdict, mode, enforce=enforce)


@pytest.mark.parametrize(
    ("head", "base", "advisory"),
    [
        (check(passed=False), check(passed=True), 1),
        (check(passed=False), None, 1),
        (check(passed=False), check(passed=False), 0),
        (check(passed=False), score(0.1, judged=True), 1),
        (check(passed=False, critical=False), check(passed=True, critical=False), 0),
        (score(0.1, judged=False), score(1.0, judged=False), 1),
        (score(0.1, judged=False), score(0.2, judged=False), 0),
        (score(0.1, judged=True), score(0.9, judged=True), 0),
    ],
)
def test_the_table_of_the_guide(head: Scored, base: Scored | None, advisory: int) -> None:
    results = (head,) if base is None else (head, on_base(base))
    assert code(*results) == advisory
    assert code(*results, mode=Mode.BLOCKING) == 1
    assert code(*results, critical=InAdvisory.ALLOW) == 0
    assert code(*results, enforce=False) == 0


def test_one_trial_that_fails_deterministically_suffices_whatever_another_scores() -> None:
    several: dict[str, Any] = {"strategy": Strategy(trials=2), "critical": True}
    wrong = sample_scored("charge", checks=(sample_check(passed=False),), **several)
    low = sample_scored(
        "charge", scores=(sample_score(0.1), sample_score(0.1, metric="EnglishFluencyMetric")), **several
    )
    low = replace(low, trial=replace(low.trial, number=1))
    assert code(wrong, low) == 1
    assert code(low, replace(wrong, trial=replace(wrong.trial, number=1))) == 1


def test_the_last_run_of_the_base_tells_what_is_old_where_the_base_does_not_run() -> None:
    broken, whole = check(passed=False), check(passed=True)
    assert code(broken, baseline=(earlier_run(broken, days=1),)) == 0
    assert code(broken, baseline=(earlier_run(broken, days=9), earlier_run(whole, days=1))) == 1
    assert code(broken, on_base(whole), baseline=(earlier_run(broken, days=1),)) == 1


def test_a_base_that_could_not_be_measured_excuses_nothing() -> None:
    trial = replace(sample_trial("charge", critical=True), arm=BASE)
    broken = check(passed=False)
    assert code(broken, Errored(trial, Phase.SYSTEM, "The adapter raised ValueError.")) == 1
    assert code(broken, NotRun(trial, "The deadline has passed.")) == 1
