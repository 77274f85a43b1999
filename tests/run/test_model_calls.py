"""What answers a run's model calls and what it says of them at its end, without a key: everything is replayed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.conversation import Reply
from ratiba_action.model.plan import Arm
from ratiba_action.money.budget import Ledger
from ratiba_action.run.arms import head_inputs
from ratiba_action.run.inputs import RunInputs, RunLog
from ratiba_action.run.model_calls import ModelCalls, judge_models, open_model_calls
from ratiba_action.run.services import Measured, RunServices
from tests.support.in_process_gate import InProcessGate
from tests.support.progress import RecordedProgress
from tests.support.sample_report import sample_scenario

UNKNOWN = """\
system:
  prompt: {file: prompts/spa.md, provider: anthropic, model: nobody-knows-it, max_output_tokens: 300}
"""


def inputs_of(folder: Path, configuration: str = "system: {adapter: 'assistant:Adapter'}\n") -> RunInputs:
    """A replay of one scenario that nothing was recorded of."""
    scenarios = (sample_scenario("booking", assertions=()),)
    gate = InProcessGate(
        folder=folder, scenarios=scenarios, head={"booking": [Reply("yes")]}, configuration=configuration
    )
    return gate.inputs()


@asynccontextmanager
async def opened(inputs: RunInputs) -> AsyncIterator[tuple[ModelCalls, RunServices]]:
    """The model calls of a run that pays nothing."""
    ledger, log = Ledger(inputs.settings.budget_usd), RunLog(RecordedProgress())
    calls = open_model_calls(inputs, head_inputs(inputs), ledger=ledger, log=log, journal=None, deadline=None)
    async with calls as found:
        yield found


async def test_a_replay_admits_every_trial_affords_every_further_one_and_finishes_with_what_it_measured(
    tmp_path: Path,
) -> None:
    inputs = inputs_of(tmp_path)
    trial = head_inputs(inputs).plan.trials[0]
    async with opened(inputs) as (_, services):
        async with services.calls.admit(trial) as refusal:
            assert refusal == ""
        assert await services.calls.afford([trial]) is None
        finished = await services.calls.finish(Measured(), cancelled=False)
    assert (finished.results, finished.cross_checking, finished.way_out) == ((), None, None)
    assert finished.recorded == {}


async def test_the_system_is_given_the_gateways_address_and_not_the_providers(tmp_path: Path) -> None:
    async with opened(inputs_of(tmp_path)) as (_, services):
        access = services.gateway.open_scenario("booking", 0, "head", seen=lambda _: None)
        assert "127.0.0.1" in access.environment["ANTHROPIC_BASE_URL"]
        assert "api.anthropic.com" not in str(access.environment)
        access.close()


async def test_another_arm_is_refused_before_its_first_trial_where_one_of_its_models_has_no_price(
    tmp_path: Path,
) -> None:
    inputs = inputs_of(tmp_path)
    configuration = inputs_of(tmp_path, UNKNOWN).configuration
    arm = replace(head_inputs(inputs), arm=Arm("base", str(tmp_path)), configuration=configuration)
    async with opened(inputs) as (calls, _):
        with pytest.raises(ConfigurationError, match="No price is known for 'nobody-knows-it'"):
            calls.add_arm(arm)


def test_the_system_must_call_none_of_the_judges_models(tmp_path: Path) -> None:
    inputs = inputs_of(tmp_path)
    own = inputs.configuration.judge.model
    assert judge_models(inputs, None) == (own,)
    assert judge_models(inputs, ("gpt-5", "openai")) == (own, "gpt-5")
