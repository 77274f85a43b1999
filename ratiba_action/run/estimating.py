"""What the trials of a run are expected to cost, from their recordings or, without any, from their size."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ratiba_action.checks.refusal_phrases import has_content, split_claims
from ratiba_action.config.configuration import JudgeBlock
from ratiba_action.errors import RecordingError
from ratiba_action.llm.endpoints import endpoint_of_answer
from ratiba_action.llm.recordings.folder import recorded_models
from ratiba_action.llm.recordings.lines import JudgeRecording, ModelRecording
from ratiba_action.metrics.judging.cache_key import metric_version
from ratiba_action.metrics.judging.voting_rule import VotingRule
from ratiba_action.metrics.registry import judge_calls
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.conversation import Party, Usage, payer
from ratiba_action.model.plan import Trial
from ratiba_action.model.scenario import Assertion, Scenario
from ratiba_action.model.values import Usd
from ratiba_action.money.budget import ModelCosts
from ratiba_action.money.forecast import (
    Expected,
    ExpectedCall,
    Forecast,
    envelope,
    expected_call,
    without_paid,
)
from ratiba_action.ports import Prices
from ratiba_action.run.arms import head_inputs
from ratiba_action.run.inputs import ArmInputs, RunInputs
from ratiba_action.run.paid_run import (
    earlier_spending,
    journal_place,
    limits_before,
    price_list,
    require_reachable_servers,
)
from ratiba_action.suite.building import refusal_assertions

_BY_CLAIM = "faithfulness_by_claim"
"""One question to the judge for each sentence with content."""

_CALLS_OF_A_TEST = 6
"""Judge calls of a test of which nothing is recorded: two metrics of DeepEval."""
_CALLS_PER_TURN = 3
"""Of a system of which nothing is recorded."""


def expected_models(arm: ArmInputs) -> frozenset[tuple[str, str]]:
    """Every (model, provider) that the system is known to call, from its recordings or its configuration."""
    models = arm.configuration.system_models
    named = {scenario.variant for scenario in arm.scenarios if scenario.variant}
    return recorded_models(arm.recordings) | models | arm.configuration.variant_models(named)


@dataclass(frozen=True, slots=True)
class _Calls:
    """What a scenario is expected to pay for: its turns, and the calls of the system and of the judge.

    Args:
        votes: further calls of the judge if every score of which nothing is recorded is near its threshold. A call of
            a usual size is large enough to cover them; one of the run's own size is not.
    """

    turns: Usd
    system: tuple[ExpectedCall, ...]
    judge: tuple[ExpectedCall, ...]
    votes: tuple[ExpectedCall, ...] = ()


_Known = Mapping[str, ModelCosts | None]
"""What calls to each model have cost in this run."""


def nothing_known(_: str) -> ModelCosts | None:
    """Before a run, no call has been made."""
    return None


class ArmCosts:
    """What trials of several arms are expected to cost, each by its own recordings and models.

    Args:
        costs_of: what calls to a model have cost in this run; None while too few were made.
    """

    def __init__(self, prices: Prices, costs_of: Callable[[str], ModelCosts | None] = nothing_known) -> None:
        self._prices = prices
        self._costs_of = costs_of
        self._calls: dict[str, Mapping[str, _Calls]] = {}
        # Scenarios of the same calls share them, and what they cost at most is known once until a call is settled.
        self._shared: dict[_Calls, _Calls] = {}
        self._maxima: dict[int, tuple[_Known, Usd]] = {}

    def add(self, arm: ArmInputs) -> "ArmCosts":
        """Know an arm's costs, all but the cross-check's.

        Raises:
            ConfigurationError: a model has no price.
        """
        per_turn = arm.configuration.system.price_per_turn_usd or Usd(0)
        found: dict[str, _Calls] = {}
        for scenario, system, judge in _calls(arm, self._prices):
            votes = tuple(_votes(arm, scenario, judge))
            calls = _Calls(per_turn * _max_turns(scenario), tuple(system), tuple(judge), votes)
            found[scenario.id] = self._shared.setdefault(calls, calls)
        self._calls[arm.arm.name] = found
        return self

    def maximum(self, trial: Trial) -> Usd:
        """The most that a trial is expected to cost."""
        calls = self._calls[trial.arm.name][trial.scenario.id]
        known = self._known(calls)
        before, found = self._maxima.get(id(calls), (None, Usd(0)))
        if before != known:
            found = _maximum(_after(calls, known))
            self._maxima[id(calls)] = known, found
        return found

    def expected(self, trials: Sequence[Trial], *, learned: bool = False) -> tuple[Expected, ...]:
        """What each of some trials is expected to cost.

        Args:
            learned: by what the run's own calls have cost, which is about right, instead of usual sizes, which are
                large enough for trials that have to be run to their end all together.
        """
        found = []
        for trial in trials:
            calls = self._calls[trial.arm.name][trial.scenario.id]
            calls = _after(calls, self._known(calls)) if learned else calls
            by_payer: dict[Party, Usd] = {}
            for party, asked, more in ((Party.SYSTEM, calls.system, calls.turns), (Party.JUDGE, calls.judge, Usd(0))):
                on = payer(party, trial.arm.name)
                by_payer[on] = by_payer.get(on, Usd(0)) + more + sum(map(_cost, asked))
            found.append(Expected(trial.scenario.id, by_payer, _maximum(calls)))
        return tuple(found)

    def _known(self, calls: _Calls) -> _Known:
        return {model: self._costs_of(model) for model in {call.model for call in (*calls.system, *calls.judge)}}


def _after(calls: _Calls, known: _Known) -> _Calls:
    """The calls as those of the run have shown them."""
    system, judge, votes = (
        tuple(call.after(known[call.model]) for call in asked) for asked in (calls.system, calls.judge, calls.votes)
    )
    return _Calls(calls.turns, system, judge, votes)


def _maximum(calls: _Calls) -> Usd:
    votes = calls.votes if all(call.learned for call in calls.votes) else ()
    return calls.turns + envelope([*calls.system, *calls.judge, *votes])


def forecast(inputs: RunInputs) -> Forecast | None:
    """What the selected scenarios are expected to cost; None for a run that calls no model.

    Raises:
        ConfigurationError: models have no price; names all of them.
        SuiteError: recordings cannot be read.
        LedgerError: the shared ledger, or the write-ahead journal of a run that is resumed, cannot be read.
    """
    if inputs.llm == Llm.REPLAY:
        return None
    head, prices = head_inputs(inputs), price_list(inputs.configuration, inputs.settings.base_urls)
    prices.require(_models(inputs, head))
    earlier = earlier_spending(journal_place(inputs, head))
    expected = ArmCosts(prices).add(head).expected(head.plan.trials)
    require_reachable_servers(inputs.environment, inputs.settings.ledger_url)
    paid = earlier.total if earlier is not None else Usd(0)
    return Forecast(
        limits=asyncio.run(limits_before(inputs.settings, inputs.decided.change.subject, paid)),
        conversations=without_paid(expected, earlier.calls if earlier is not None else ()),
        as_needed=inputs.llm is Llm.AUTO,
        edited_prompts=tuple(head.edited_prompts),
        system_known=inputs.configuration.system.costs_are_declared or bool(expected_models(head)),
    )


def _models(inputs: RunInputs, head: ArmInputs) -> set[tuple[str, str]]:
    """Every model that the run may call, as far as it is known before."""
    judge, second = inputs.configuration.judge, inputs.configuration.judge.cross_check
    models = set(expected_models(head))
    if head.judged:
        models.add((judge.model, judge.provider))
    if second is not None and second.share and second.provider in inputs.keys:
        models.add((second.model, second.provider))
    return models


def _calls(arm: ArmInputs, prices: Prices) -> Iterator[tuple[Scenario, list[ExpectedCall], list[ExpectedCall]]]:
    """Each scenario with the calls of the system and of the judge that it is expected to make."""
    models = tuple(sorted(expected_models(arm)))
    calls = 1 if arm.configuration.system.prompt is not None else _CALLS_PER_TURN
    simulator = arm.configuration.simulator
    for scenario in arm.scenarios:
        if scenario.id in arm.free:
            yield scenario, [], []
            continue
        yield (
            scenario,
            _system_calls(scenario, arm, models, prices, calls)
            + _simulator_calls((simulator.model, simulator.provider), scenario, arm, prices),
            _judge_calls(arm.configuration.judge, scenario, arm, prices),
        )


def _system_calls(
    scenario: Scenario, arm: ArmInputs, models: Sequence[tuple[str, str]], prices: Prices, per_turn: int
) -> list[ExpectedCall]:
    if scenario.script is not None:
        return []
    trials: dict[int, list[ExpectedCall]] = {}
    for line in arm.recordings.get(scenario.id, ()):
        if isinstance(line, ModelRecording):
            trials.setdefault(line.trial, []).append(_call(line.model, line.provider, _usage_of(line), prices))
    if trials:
        return max(trials.values(), key=lambda calls: sum(map(_cost, calls)))
    # Which model answers is not known before it is asked: any that answers other conversations may.
    candidates = [_call(model, provider, None, prices) for model, provider in models]
    dearest = max(candidates, key=_cost, default=None)
    return [dearest] * (per_turn * _max_turns(scenario)) if dearest is not None else []


def _simulator_calls(
    simulator: tuple[str, str], scenario: Scenario, arm: ArmInputs, prices: Prices
) -> list[ExpectedCall]:
    """Those of a simulated customer of which nothing is recorded; what is recorded lies among the system's calls."""
    if scenario.simulated_user is None or arm.recordings.get(scenario.id):
        return []
    return [_call(*simulator, None, prices)] * (scenario.simulated_user.max_turns + 1)


def _judge_calls(judge: JudgeBlock, scenario: Scenario, arm: ArmInputs, prices: Prices) -> list[ExpectedCall]:
    lines = arm.recordings.get(scenario.id, ())
    recorded = _judged_lines(scenario, arm)
    turns, claims = _max_turns(scenario), _claims([line for line in lines if isinstance(line, ModelRecording)])
    if scenario.test is not None:
        return _calls_of_test(judge, recorded, prices)
    asked = (*scenario.assertions, *refusal_assertions(scenario.rules))
    count = sum(_questions(assertion, turns, recorded, claims, judge.samples) for assertion in asked)
    if not count:
        return []
    count += sum(_missing_votes(judge, assertion, recorded) for assertion in asked)
    usages: list[Usage | None] = [_judged_usage(line) for line in recorded]
    return [max((_call(judge.model, judge.provider, usage, prices) for usage in usages or [None]), key=_cost)] * count


def _calls_of_test(judge: JudgeBlock, recorded: Sequence[JudgeRecording], prices: Prices) -> list[ExpectedCall]:
    """As many as were recorded; a usual number where nothing is. Each is reserved for itself when it is made."""
    usages: list[Usage | None] = [_judged_usage(line) for line in recorded]
    return [_call(judge.model, judge.provider, usage, prices) for usage in usages or [None] * _CALLS_OF_A_TEST]


def _missing_votes(judge: JudgeBlock, assertion: Assertion, recorded: Sequence[JudgeRecording]) -> int:
    """Calls of votes about a recorded score that is near its threshold, and whose votes are not recorded."""
    if judge.samples > 1 or not recorded:
        return 0
    name = metric_version(assertion.metric, "").partition(":")[0]
    lines = [line for line in recorded if line.metric.partition(":")[0] == name and line.score is not None]
    rule = VotingRule(votes=judge.votes) if judge.band is None else VotingRule(judge.band, judge.votes)
    near = [
        line
        for line in lines
        if line.ordinal == 0 and line.score is not None and rule.calls_for_a_vote(line.score, assertion.threshold)
    ]
    missing = [line for line in near if not any(o.transcript == line.transcript and o.ordinal for o in lines)]
    return (judge.votes - 1) if missing else 0


def _votes(arm: ArmInputs, scenario: Scenario, judge: Sequence[ExpectedCall]) -> list[ExpectedCall]:
    described = arm.configuration.judge
    return [] if described.samples > 1 or _judged_lines(scenario, arm) else [*judge] * (described.votes - 1)


def _judged_lines(scenario: Scenario, arm: ArmInputs) -> list[JudgeRecording]:
    return [line for line in arm.recordings.get(scenario.id, ()) if isinstance(line, JudgeRecording)]


def _questions(assertion: Assertion, turns: int, recorded: Sequence[JudgeRecording], claims: int, samples: int) -> int:
    """Those that were asked when it was recorded, else the most that there can be; one of one is always asked.

    Args:
        turns: most of the scenario.
        claims: most sentences of the system's recorded answers that a metric by claim verifies; 0 where none is known.
        samples: measurements that a score is the mean of.
    """
    maximum = judge_calls(assertion.metric, turns, assertion.parameters)
    name, _, _ = metric_version(assertion.metric, "").partition(":")
    if maximum <= 1:
        return max(samples, _of_one_transcript(name, recorded)) if maximum else 0
    if name == _BY_CLAIM and claims:
        maximum = min(maximum, claims)
    return sum(line.metric.partition(":")[0] == name for line in recorded) or maximum * samples


def _of_one_transcript(name: str, recorded: Sequence[JudgeRecording]) -> int:
    """The most recorded answers about one conversation: the score, and its votes."""
    if not recorded:
        return 0
    counts = Counter(line.transcript for line in recorded if line.metric.partition(":")[0] == name)
    return max(counts.values(), default=0)


def _claims(recorded: Sequence[ModelRecording]) -> int:
    """Sentences with content in the recorded answers of a trial, of the trial that has most."""
    trials: dict[int, int] = {}
    for line in recorded:
        found = sum(has_content(claim) for text in line.texts() for claim in split_claims(text))
        trials[line.trial] = trials.get(line.trial, 0) + found
    return max(trials.values(), default=0)


def _max_turns(scenario: Scenario) -> int:
    """Turns that are written, and those that a simulated customer may add."""
    return len(scenario.turns) + (scenario.simulated_user.max_turns if scenario.simulated_user is not None else 0)


def _cost(call: ExpectedCall) -> Usd:
    return call.cost


def _call(model: str, provider: str, usage: Usage | None, prices: Prices) -> ExpectedCall:
    price, bound = partial(prices.price, model, provider), partial(prices.upper_bound, model, provider)
    return expected_call(model, usage, price, bound)


def _judged_usage(line: JudgeRecording) -> Usage:
    return Usage(line.usage["input_tokens"], line.usage["output_tokens"])


def _usage_of(line: ModelRecording) -> Usage | None:
    """The tokens of a recorded answer, by the endpoint that its shape names; None where it has none."""
    try:
        return endpoint_of_answer(line.provider, line.response).usage(line.response)
    except RecordingError:
        return None
