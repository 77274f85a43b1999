"""Which scenarios a mode runs."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ratiba_action.checks.custom_code import is_address, rule_addresses
from ratiba_action.checks.failure_rules import CUSTOM
from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision
from ratiba_action.model.plan import Selection
from ratiba_action.model.scenario import Scenario, Strategy, Suite
from ratiba_action.util.gitignore import PatternList

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


def edited_code(suite: Suite, root: str, changed: Iterable[str]) -> tuple[str, ...]:
    """One note for each custom rule or metric whose module the change touches.

    Args:
        suite: that names them.
        root: folder of the system, in which modules are looked up.
        changed: paths from the repository's root.
    """
    paths = set(changed)
    return tuple(
        f"{address} is code that this change edits: it is measured by code of its own."
        for address in sorted(set(_addresses(suite)))
        if paths & set(_files(root, address))
    )


def _addresses(suite: Suite) -> Iterator[str]:
    for scenario in suite.scenarios:
        yield from (entry.metric for entry in scenario.assertions if is_address(entry.metric))
        for rule in scenario.rules:
            yield from rule_addresses(rule) if rule.type == CUSTOM else ()


def _files(root: str, address: str) -> Iterator[str]:
    """The module's own file and the package files on the way to it."""
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

    Blocking runs every scenario; skip none. Advisory runs those tagged ``smoke``, those whose ``touches`` match a
    changed file, and every other one that costs nothing.

    Args:
        decision: the mode.
        suite: every scenario.
        changed: the files that the change touches.
        is_free: whether all answers of a scenario are recorded or scripted.
    """
    if decision.mode is not Mode.ADVISORY:
        chosen = suite.scenarios if decision.mode is Mode.BLOCKING else ()
        return Selection(decision, chosen, () if chosen else tuple(one.id for one in suite.scenarios))
    covering = {one.id for one in suite.scenarios if "smoke" in one.tags or _touched(one, changed)}
    free = tuple(one.id for one in suite.scenarios if one.id not in covering and is_free(one))
    chosen = tuple(one for one in suite.scenarios if one.id in covering or one.id in free)
    left_out = tuple(one.id for one in suite.scenarios if one not in chosen)
    return Selection(decision, chosen, left_out, free, covered=bool(covering) or not changed.paths)


def _touched(scenario: Scenario, changed: ChangedFiles) -> bool:
    if not scenario.touches:
        return False
    try:
        patterns = PatternList(scenario.touches)
    except ValueError:
        return True  # a pattern that cannot be read must not hide its scenario
    return any(patterns.match(path) is not None for path in changed.paths)
