"""What the trials of a run are expected to cost, from their recordings or, without any, from their size."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ratiba_action.checks.refusal_phrases import has_content, split_claims
from ratiba_action.config.configuration import Configuration, JudgeBlock
from ratiba_action.errors import RecordingError
from ratiba_action.llm.endpoints import ENDPOINTS
from ratiba_action.llm.recordings.folder import recorded_models
from ratiba_action.llm.recordings.lines import JudgeRecording, ModelRecording
from ratiba_action.metrics.judging.cache_key import metric_version
from ratiba_action.metrics.registry import judge_calls
from ratiba_action.model.conversation import Party, Usage, payer
from ratiba_action.model.plan import Trial
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import Usd
from ratiba_action.money.forecast import UNKNOWN, Bound, Expected, envelope
from ratiba_action.ports import Prices
from ratiba_action.run.workshop import Materials

_BY_CLAIM = "faithfulness_by_claim"
"""Asks the judge one question for each sentence with content."""

_TEXT_KEYS = frozenset({"text", "content", "refusal"})
_CALLS_PER_TURN = 3
"""Of a system of which nothing is recorded."""

Call = tuple[Usage, Usd, Bound]


def expected_models(configuration: Configuration, materials: Materials) -> frozenset[tuple[str, str]]:
    """Every (model, provider) that the system is known to ask, from its recordings or its configuration."""
    return recorded_models(materials.recordings) | configuration.system.models


def estimator(configuration: Configuration, materials: Materials, prices: Prices) -> Callable[[Trial], Usd]:
    """The most that each trial is expected to cost, all parties but the cross-check."""
    amounts = {
        scenario.id: _turns(configuration, scenario) + envelope([*system, *judge])
        for scenario, system, judge in _calls(configuration, materials, prices)
    }
    return lambda trial: amounts[trial.scenario.id]


def expected_costs(
    configuration: Configuration, materials: Materials, prices: Prices
) -> dict[str, Mapping[Party, Usd]]:
    """What each scenario, by its id, is expected to cost of each who is booked, all but the cross-check."""
    costs: dict[str, Mapping[Party, Usd]] = {}
    for scenario, system, judge in _calls(configuration, materials, prices):
        amounts = {
            Party.SYSTEM: _turns(configuration, scenario) + sum(map(_cost, system)),
            Party.JUDGE: sum(map(_cost, judge), Usd(0)),
        }
        booked: dict[Party, Usd] = {}
        for party, usd in amounts.items():
            on = payer(party, materials.arm.name)
            booked[on] = booked.get(on, Usd(0)) + usd
        costs[scenario.id] = booked
    return costs


def expected_trials(
    configuration: Configuration, materials: Materials, prices: Prices, trials: Sequence[Trial]
) -> tuple[Expected, ...]:
    """What each of some trials of the plan is expected to cost."""
    most = estimator(configuration, materials, prices)
    costs = expected_costs(configuration, materials, prices)
    return tuple(Expected(trial.scenario.id, costs[trial.scenario.id], most(trial)) for trial in trials)


class ArmCosts:
    """What trials of several arms are expected to cost, each by its own recordings and models.

    Args:
        prices: of every model.
    """

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._arms: dict[str, tuple[Callable[[Trial], Usd], Mapping[str, Mapping[Party, Usd]]]] = {}

    def add(self, configuration: Configuration, materials: Materials) -> None:
        """Know an arm's costs.

        Raises:
            ConfigurationError: a model has no price.
        """
        most = estimator(configuration, materials, self._prices)
        self._arms[materials.arm.name] = most, expected_costs(configuration, materials, self._prices)

    def most(self, trial: Trial) -> Usd:
        """The most that a trial is expected to cost."""
        return self._arms[trial.arm.name][0](trial)

    def expected(self, trials: Sequence[Trial]) -> tuple[Expected, ...]:
        """What each of some trials is expected to cost."""
        return tuple(
            Expected(trial.scenario.id, self._arms[trial.arm.name][1][trial.scenario.id], self.most(trial))
            for trial in trials
        )


def _calls(
    configuration: Configuration, materials: Materials, prices: Prices
) -> Iterator[tuple[Scenario, list[Call], list[Call]]]:
    """Each scenario with the calls of the system and of the judge that it is expected to make."""
    models = tuple(sorted(expected_models(configuration, materials)))
    calls = 1 if configuration.system.prompt is not None else _CALLS_PER_TURN
    simulator = configuration.simulator
    for scenario in materials.scenarios:
        if scenario.id in materials.free:
            yield scenario, [], []
            continue
        yield (
            scenario,
            _system_calls(scenario, materials, models, prices, calls)
            + _simulator_calls((simulator.model, simulator.provider), scenario, materials, prices),
            _judge_calls(configuration.judge, scenario, materials, prices),
        )


def _turns(configuration: Configuration, scenario: Scenario) -> Usd:
    """What the configuration declares that the turns cost."""
    return (configuration.system.price_per_turn_usd or Usd(0)) * _most_turns(scenario)


def _system_calls(
    scenario: Scenario, materials: Materials, models: Sequence[tuple[str, str]], prices: Prices, per_turn: int
) -> list[Call]:
    if scenario.script is not None:
        return []
    trials: dict[int, list[Call]] = {}
    for line in materials.recordings.get(scenario.id, ()):
        if isinstance(line, ModelRecording):
            trials.setdefault(line.trial, []).append(_call(line.model, line.provider, _usage_of(line), prices))
    if trials:
        return max(trials.values(), key=lambda calls: sum(map(_cost, calls)))
    # Which model answers is not known before it is asked: any that answers other conversations may.
    candidates = [_call(model, provider, UNKNOWN, prices) for model, provider in models]
    dearest = max(candidates, key=_cost, default=None)
    return [dearest] * (per_turn * _most_turns(scenario)) if dearest is not None else []


def _simulator_calls(
    simulator: tuple[str, str], scenario: Scenario, materials: Materials, prices: Prices
) -> list[Call]:
    """Those of a simulated customer of which nothing is recorded; what is recorded lies among the system's calls."""
    if scenario.simulated_user is None or materials.recordings.get(scenario.id):
        return []
    return [_call(*simulator, UNKNOWN, prices)] * (scenario.simulated_user.most_turns + 1)


def _judge_calls(judge: JudgeBlock, scenario: Scenario, materials: Materials, prices: Prices) -> list[Call]:
    lines = materials.recordings.get(scenario.id, ())
    recorded = [line for line in lines if isinstance(line, JudgeRecording)]
    turns, claims = _most_turns(scenario), _claims([line for line in lines if isinstance(line, ModelRecording)])
    count = sum(_questions(assertion.metric, turns, recorded, claims) for assertion in scenario.assertions)
    if not count:
        return []
    usages = [Usage(one.usage["input_tokens"], one.usage["output_tokens"]) for one in recorded] or [UNKNOWN]
    return [max((_call(judge.model, judge.provider, usage, prices) for usage in usages), key=_cost)] * count


def _questions(metric: str, turns: int, recorded: Sequence[JudgeRecording], claims: int) -> int:
    """Those that were asked when it was recorded, else the most that there can be; one of one is always asked.

    Args:
        metric: that asks.
        turns: most of the scenario.
        recorded: answers of the judge.
        claims: most sentences of the system's recorded answers that a metric by claim verifies; 0 where none is known.
    """
    most = judge_calls(metric, turns)
    if most <= 1:
        return most
    name, _, _ = metric_version(metric, "").partition(":")
    if name == _BY_CLAIM and claims:
        most = min(most, claims)
    return sum(line.metric.partition(":")[0] == name for line in recorded) or most


def _claims(recorded: Sequence[ModelRecording]) -> int:
    """Sentences with content in the recorded answers of a trial, of the trial that has most."""
    trials: dict[int, int] = {}
    for line in recorded:
        found = sum(has_content(claim) for text in _texts(line.response) for claim in split_claims(text))
        trials[line.trial] = trials.get(line.trial, 0) + found
    return max(trials.values(), default=0)


def _texts(value: Any, key: str = "") -> Iterator[str]:
    """The texts of an answer, whichever of the providers' shapes it has."""
    if isinstance(value, str):
        yield from (value,) if key in _TEXT_KEYS else ()
        return
    parts = value.items() if isinstance(value, Mapping) else ((key, one) for one in value)
    for name, part in parts:
        if isinstance(part, str | Mapping | list):
            yield from _texts(part, name)


def _most_turns(scenario: Scenario) -> int:
    """Turns that are written, and those that a simulated customer may add."""
    return len(scenario.turns) + (scenario.simulated_user.most_turns if scenario.simulated_user is not None else 0)


def _cost(call: Call) -> Usd:
    return call[1]


def _call(model: str, provider: str, usage: Usage, prices: Prices) -> Call:
    return usage, prices.price(model, provider, usage), partial(prices.upper_bound, model, provider)


def _usage_of(line: ModelRecording) -> Usage:
    """The tokens of a recorded answer, by the endpoint that its shape tells; a usual size where it has none."""
    by_object: Mapping[str, str] = {"response": "responses", "list": "embeddings", "message": "messages"}
    kind = line.response.get("object") or line.response.get("type") or ""
    name = by_object.get(str(kind), "chat/completions" if line.provider == "openai" else "messages")
    (endpoint,) = (each for each in ENDPOINTS if (each.provider, each.name) == (line.provider, name))
    try:
        return endpoint.usage(line.response)
    except RecordingError:
        return UNKNOWN
