"""Which scenarios a mode runs."""

from collections.abc import Callable

from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision
from ratiba_action.model.plan import Selection
from ratiba_action.model.scenario import Scenario, Suite
from ratiba_action.util.gitignore import PatternList


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
