"""The metrics of a run that pays nobody: deterministic ones as they are, judged ones from their recordings alone."""

from pathlib import Path

import pytest

from ratiba_action.errors import RecordingError
from ratiba_action.model.conversation import Reply
from ratiba_action.model.scenario import Assertion
from ratiba_action.money.budget import Ledger
from ratiba_action.run.arms import head_inputs
from ratiba_action.run.inputs import RunLog
from ratiba_action.run.judging import Judging
from ratiba_action.run.paid_run import price_list
from tests.support.cases import case, exchange
from tests.support.in_process_gate import InProcessGate
from tests.support.progress import RecordedProgress
from tests.support.sample_report import sample_scenario


def judging(folder: Path, second: tuple[str, str] | None = None) -> Judging:
    """The judges of a replay without recordings."""
    scenarios = (sample_scenario("booking"),)
    inputs = InProcessGate(folder=folder, scenarios=scenarios, head={"booking": [Reply("yes")]}).inputs()
    return Judging(
        head_inputs(inputs),
        price_list(inputs.configuration, {}),
        None,
        second=second,
        fallback=False,
        cache=folder / "cache",
        ledger=Ledger(inputs.settings.budget_usd),
        log=RunLog(RecordedProgress()),
    )


def test_a_deterministic_metric_needs_no_judge_and_each_call_makes_a_fresh_one(tmp_path: Path) -> None:
    judges, assertion = judging(tmp_path), Assertion("RougeLMetric", 0.5)
    first, second = judges.metric(assertion), judges.metric(assertion)
    assert (first.name, first.judged) == ("RougeLMetric", False)
    assert first is not second


async def test_a_judged_metric_without_a_recording_is_an_error_and_no_score(tmp_path: Path) -> None:
    metric = judging(tmp_path).metric(Assertion("RefusalByJudgeMetric", 0.8))
    assert metric.judged
    with pytest.raises(RecordingError, match="No recorded score of"):
        await metric.measure(case(exchange("hello", "Hello, how may I help you?")), 0.8)


def test_a_replay_has_no_second_judge_whatever_is_configured_and_keeps_no_cache(tmp_path: Path) -> None:
    judges = judging(tmp_path, second=("gpt-5", "openai"))
    judges.metric(Assertion("RefusalByJudgeMetric", 0.8))
    assert judges.second_model == ""
    assert not judges.cross_check.pairs
    assert not (tmp_path / "cache").exists()
