"""Selects the scenarios that a mode runs."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision
from ratiba_action.model.plan import Selection
from ratiba_action.model.reads import Reads
from ratiba_action.model.scenario import Scenario, Strategy, Suite
from ratiba_action.util.gitignore import PatternList

_LENIENT = frozenset({"min_mean", "passes"})
"""Defaults of the suite that do not apply to critical scenarios."""


def with_defaults(scenario: Scenario, defaults: Strategy) -> Scenario:
    """The scenario with the suite's defaults for fields that its file does not set.

    ``trials`` and ``passes`` belong together: if a scenario sets one, neither is taken from the suite. So do
    ``min_mean`` and the scenario's own history, which both stand for thresholds.
    """
    open_fields = defaults.given - scenario.strategy.given
    if scenario.critical:
        open_fields -= _LENIENT
    if scenario.strategy.given & {"trials", "passes"}:
        open_fields -= {"trials", "passes"}
    own = scenario.strategy.statistical is not None or "min_mean" in scenario.strategy.given
    if own:
        open_fields -= {"min_mean"}
    elif defaults.statistical is not None and not scenario.critical:
        open_fields |= {"statistical"}
    taken = {name: getattr(defaults, name) for name in open_fields}
    if not taken:
        return scenario
    return replace(scenario, strategy=replace(scenario.strategy, **taken))


def with_min_trials(scenario: Scenario, minimum: int) -> Scenario:
    """The scenario with a minimum number of trials; the number that may fail does not grow."""
    strategy = scenario.strategy
    more = max(minimum - strategy.trials, 0)
    if not more:
        return scenario
    passes = None if strategy.passes is None else strategy.passes + more
    return replace(scenario, strategy=replace(strategy, trials=strategy.trials + more, passes=passes))


def _none(_: Scenario) -> bool:
    return False


def _unseen(_: str) -> Reads | None:
    return None


def select(
    decision: ModeDecision,
    suite: Suite,
    changed: ChangedFiles,
    is_free: Callable[[Scenario], bool] = _none,
    seen: Callable[[str], Reads | None] = _unseen,
) -> Selection:
    """The scenarios that a mode runs.

    Blocking runs every scenario, skip none. Advisory runs those tagged ``smoke``, those that read a changed file or
    whose ``touches`` match one, and all others that cost nothing; where only cost chose, the critical ones too.

    Args:
        is_free: whether all answers of a scenario are recorded or mocked.
        seen: what the base's scenarios were seen to read, by their id.
    """
    if decision.mode is not Mode.ADVISORY:
        chosen = suite.scenarios if decision.mode is Mode.BLOCKING else ()
        return Selection(decision, chosen, () if chosen else tuple(scenario.id for scenario in suite.scenarios))
    covering = {
        scenario.id
        for scenario in suite.scenarios
        if "smoke" in scenario.tags
        or touches_any(scenario, changed.paths)
        or ((reads := seen(scenario.id)) is not None and reads.reads_any(changed.paths))
    }
    free = tuple(scenario.id for scenario in suite.scenarios if scenario.id not in covering and is_free(scenario))
    wanted = covering | {*free} | {scenario.id for scenario in suite.scenarios if scenario.critical and not covering}
    chosen = tuple(scenario for scenario in suite.scenarios if scenario.id in wanted)
    left_out = tuple(scenario.id for scenario in suite.scenarios if scenario not in chosen)
    return Selection(decision, chosen, left_out, free, covered=bool(covering) or not changed.paths)


def touches_any(scenario: Scenario, paths: Iterable[str]) -> bool:
    """Whether the scenario's ``touches`` match one of the paths from the repository's root."""
    if not scenario.touches:
        return False
    try:
        patterns = PatternList(scenario.touches)
    except ValueError:
        return True  # an invalid pattern must not exclude the scenario
    return any(patterns.match(path) is not None for path in paths)
