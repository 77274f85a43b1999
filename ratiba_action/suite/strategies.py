"""What a scenario's strategy becomes by the suite's defaults, and by a person who asks for more trials."""

from dataclasses import replace

from ratiba_action.model.scenario import Scenario, Strategy

_LENIENT = frozenset({"least_mean", "passes"})
"""What a critical scenario does not take from the suite: all of it is exact."""


def with_defaults(scenario: Scenario, defaults: Strategy) -> Scenario:
    """The scenario with what its file leaves open taken from the suite.

    ``trials`` and ``passes`` belong together: who gives one of them takes neither from the suite.
    """
    open_fields = defaults.given - scenario.strategy.given
    if scenario.critical:
        open_fields -= _LENIENT
    if scenario.strategy.given & {"trials", "passes"}:
        open_fields -= {"trials", "passes"}
    taken = {name: getattr(defaults, name) for name in open_fields}
    return replace(scenario, strategy=replace(scenario.strategy, **taken))


def with_least_trials(scenario: Scenario, least: int) -> Scenario:
    """The scenario held at least so often; no more of its trials may fail than before."""
    strategy = scenario.strategy
    more = max(least - strategy.trials, 0)
    passes = None if strategy.passes is None else strategy.passes + more
    return replace(scenario, strategy=replace(strategy, trials=strategy.trials + more, passes=passes))
