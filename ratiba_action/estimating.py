"""What the trials of a run are expected to cost, from their recordings or, without any, from their size."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ratiba_action.core.estimate import UNKNOWN, Bound, envelope
from ratiba_action.core.model.conversation import Usage
from ratiba_action.core.model.plan import Trial
from ratiba_action.core.model.scenario import Scenario
from ratiba_action.core.model.values import Usd
from ratiba_action.gateway.endpoints import ENDPOINTS
from ratiba_action.metrics.registry import judge_calls
from ratiba_action.ports import Prices
from ratiba_action.recordings.folder import recorded_models
from ratiba_action.recordings.lines import ModelRecording
from ratiba_action.workshop import Materials, Workshop

_CALLS_PER_TURN = 3
"""Of a system of which nothing is recorded."""

Call = tuple[Usage, Usd, Bound]


def estimator(workshop: Workshop, materials: Materials, prices: Prices) -> Callable[[Trial], Usd]:
    """The most that each trial is expected to cost, all parties but the cross-check."""
    models = tuple(sorted(recorded_models(materials.recordings)))
    turn = workshop.configuration.system.price_per_turn_usd or Usd(0)
    amounts = {
        scenario.id: turn * len(scenario.turns)
        + envelope((*_system_calls(scenario, materials, models, prices), *_judge_calls(workshop, scenario, prices)))
        for scenario in materials.scenarios
    }
    return lambda trial: amounts[trial.scenario.id]


def _system_calls(
    scenario: Scenario, materials: Materials, models: Sequence[tuple[str, str]], prices: Prices
) -> list[Call]:
    recorded = [line for line in materials.recordings.get(scenario.id, ()) if isinstance(line, ModelRecording)]
    if recorded:
        return [_call(line.model, line.provider, _usage_of(line), prices) for line in recorded]
    # Which model answers is not known before it is asked: any that answers other conversations may.
    candidates = [_call(model, provider, UNKNOWN, prices) for model, provider in models]
    dearest = max(candidates, key=lambda call: call[1], default=None)
    return [dearest] * (_CALLS_PER_TURN * len(scenario.turns)) if dearest is not None else []


def _judge_calls(workshop: Workshop, scenario: Scenario, prices: Prices) -> list[Call]:
    judge = workshop.configuration.judge
    count = sum(judge_calls(assertion.metric) for assertion in scenario.assertions)
    return [_call(judge.model, judge.provider, UNKNOWN, prices)] * count if count else []


def _call(model: str, provider: str, usage: Usage, prices: Prices) -> Call:
    return usage, prices.price(model, provider, usage), partial(prices.upper_bound, model, provider)


def _usage_of(line: ModelRecording) -> Usage:
    """The tokens of a recorded answer; its shape tells which endpoint gave it."""
    by_object: Mapping[str, str] = {"response": "responses", "list": "embeddings", "message": "messages"}
    kind = line.response.get("object") or line.response.get("type") or ""
    name = by_object.get(str(kind), "chat/completions" if line.provider == "openai" else "messages")
    (endpoint,) = (each for each in ENDPOINTS if (each.provider, each.name) == (line.provider, name))
    return endpoint.usage(line.response)
