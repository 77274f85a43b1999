"""Which scenarios a mode runs."""

from ratiba_action.core.gitignore import PatternList
from ratiba_action.core.model.change import ChangedFiles, Mode, ModeDecision
from ratiba_action.core.model.plan import Selection
from ratiba_action.core.model.scenario import Scenario, Suite


def select(decision: ModeDecision, suite: Suite, changed: ChangedFiles) -> Selection:
    """The scenarios that a mode runs.

    Blocking runs every scenario; advisory those tagged ``smoke`` and those whose ``touches`` match a changed file;
    skip none.
    """
    if decision.mode is Mode.BLOCKING:
        chosen = suite.scenarios
    elif decision.mode is Mode.SKIP:
        chosen = ()
    else:
        chosen = tuple(one for one in suite.scenarios if "smoke" in one.tags or _touched(one, changed))
    ids = {scenario.id for scenario in chosen}
    return Selection(decision, chosen, tuple(one.id for one in suite.scenarios if one.id not in ids))


def _touched(scenario: Scenario, changed: ChangedFiles) -> bool:
    if not scenario.touches:
        return False
    try:
        patterns = PatternList(scenario.touches)
    except ValueError:
        return True  # a pattern that cannot be read must not hide its scenario
    return any(patterns.match(path) is not None for path in changed.paths)
