"""Selects the scenarios that a mode runs."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ratiba_action.checks.custom_code import is_address, rule_addresses
from ratiba_action.checks.failure_rules import CUSTOM
from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision
from ratiba_action.model.plan import Selection
from ratiba_action.model.scenario import Scenario, Strategy, Suite
from ratiba_action.util.gitignore import PatternList

_LENIENT = frozenset({"least_mean", "passes"})
"""Defaults of the suite that do not apply to critical scenarios."""


def with_defaults(scenario: Scenario, defaults: Strategy) -> Scenario:
    """The scenario with the suite's defaults for fields that its file does not set.

    ``trials`` and ``passes`` belong together: if a scenario sets one, neither is taken from the suite.
    """
    open_fields = defaults.given - scenario.strategy.given
    if scenario.critical:
        open_fields -= _LENIENT
    if scenario.strategy.given & {"trials", "passes"}:
        open_fields -= {"trials", "passes"}
    taken = {name: getattr(defaults, name) for name in open_fields}
    if not taken:
        return scenario
    return replace(scenario, strategy=replace(scenario.strategy, **taken))


def with_least_trials(scenario: Scenario, least: int) -> Scenario:
    """The scenario with a minimum number of trials; the number that may fail does not grow."""
    strategy = scenario.strategy
    more = max(least - strategy.trials, 0)
    if not more:
        return scenario
    passes = None if strategy.passes is None else strategy.passes + more
    return replace(scenario, strategy=replace(strategy, trials=strategy.trials + more, passes=passes))


def edited_code(suite: Suite, root: str, changed: Iterable[str]) -> tuple[str, ...]:
    """A note for each custom rule or metric whose module the change edits.

    Args:
        suite: with the rules and metrics.
        root: folder of the system, where modules are looked up.
        changed: paths from the repository's root.
    """
    paths = set(changed)
    return tuple(
        f"{address} is edited by this change, so the change is measured by its own code."
        for address in sorted(set(_addresses(suite)))
        if paths & set(_files(root, address))
    )


def _addresses(suite: Suite) -> Iterator[str]:
    for scenario in suite.scenarios:
        yield from (entry.metric for entry in scenario.assertions if is_address(entry.metric))
        for rule in scenario.rules:
            yield from rule_addresses(rule) if rule.type == CUSTOM else ()


def _files(root: str, address: str) -> Iterator[str]:
    """The module's file and the ``__init__.py`` files of its packages."""
    folder = [part for part in root.split("/") if part not in {"", "."}]
    parts = address.partition(":")[0].split(".")
    yield "/".join([*folder, *parts]) + ".py"
    yield from ("/".join([*folder, *parts[:depth], "__init__.py"]) for depth in range(1, len(parts) + 1))


def _none(_: Scenario) -> bool:
    return False


def select(
    decision: ModeDecision, suite: Suite, changed: ChangedFiles, is_free: Callable[[Scenario], bool] = _none
) -> Selection:
    """The scenarios that a mode runs.

    Blocking runs every scenario, skip none. Advisory runs those tagged ``smoke``, those whose ``touches`` match a
    changed file, and all others that cost nothing.

    Args:
        decision: the mode.
        suite: every scenario.
        changed: the files that the change touches.
        is_free: whether all answers of a scenario are recorded or mocked.
    """
    if decision.mode is not Mode.ADVISORY:
        chosen = suite.scenarios if decision.mode is Mode.BLOCKING else ()
        return Selection(decision, chosen, () if chosen else tuple(scenario.id for scenario in suite.scenarios))
    covering = {
        scenario.id for scenario in suite.scenarios if "smoke" in scenario.tags or touches_any(scenario, changed.paths)
    }
    free = tuple(scenario.id for scenario in suite.scenarios if scenario.id not in covering and is_free(scenario))
    chosen = tuple(scenario for scenario in suite.scenarios if scenario.id in covering or scenario.id in free)
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
