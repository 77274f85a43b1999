"""Which scenarios depend on a file, and whose outcome a change may alter."""

from collections.abc import Callable, Collection, Iterable
from pathlib import PurePosixPath

from ratiba_action.model.change import NAMED_BY_SYSTEM, ChangedFiles, ModeDecision, Reason
from ratiba_action.model.reads import Reads, above_of
from ratiba_action.model.scenario import Scenario, Suite
from ratiba_action.suite.scenario_selection import touches_any


def depends_on(scenario: Scenario, path: str, folder: str, seen: Reads | None = None) -> bool:
    """Whether a scenario depends on a file.

    It does on its own file, its recording, whatever its ``touches`` names and what it was seen to read. Without
    ``touches`` and observation it depends on every file that is not in the folder of scenarios. One whose
    turns are rows depends on every case file.

    Args:
        path: from the repository's root.
        seen: what it was seen to read; None where nobody looked.
    """
    place = PurePosixPath(path)
    if touches_any(scenario, [path]) or (seen is not None and seen.reads_any([path])):
        return True
    if not place.is_relative_to(folder):
        return seen is None and not scenario.touches
    if place.is_relative_to(f"{folder}/recordings"):
        return place.stem in {scenario.id, scenario.data_set}
    return path == scenario.path or (bool(scenario.data_set) and place.suffix in {".csv", ".json", ".jsonl"})


_OF_ALL = frozenset({"protected", "doubt", "dependencies"})
"""Built-in rules about files that the gate or every system rests on."""


def affected(
    decision: ModeDecision,
    suite: Suite,
    changed: ChangedFiles,
    folder: str,
    *,
    seen: Callable[[str], Reads | None],
    new: Collection[str] = (),
) -> tuple[Scenario, ...]:
    """The scenarios whose outcome a change may alter; all where that is not known of a changed file.

    A file that the gate itself or what judges reads is seen in no system: the configuration, a rule, a metric, a lock
    file. It concerns every scenario, unless it is a scenario's own.

    Args:
        decision: with a reason for each changed file.
        suite: every scenario.
        seen: what the base's scenarios were seen to read, by their id.
        new: changed files that the base does not have. One beside or below a file that is read may be found there.
    """
    own = [path for path in changed.paths if PurePosixPath(path).is_relative_to(folder)]
    read = [reads for scenario in suite.scenarios if (reads := seen(scenario.id)) is not None]
    for reason in decision.reasons:
        of_all = reason.rule in _OF_ALL or (reason.rule == "named" and not _is_read(reason, read))
        if of_all and reason.path not in own and (reason.path or reason.rule == "doubt"):
            return suite.scenarios
    return tuple(
        scenario
        for scenario in suite.scenarios
        if any(depends_on(scenario, path, folder, seen(scenario.id)) for path in changed.paths)
        or _may_find(seen(scenario.id), new)
    )


def _may_find(seen: Reads | None, new: Collection[str]) -> bool:
    """Whether a new file lies where a system finds files, such as a module before another of its name."""
    looked = {path.rpartition("/")[0] for path in (*seen.files, *seen.sent)} if seen is not None else set[str]()
    return any(folder in looked for path in new for folder in above_of(path))


def _is_read(reason: Reason, observations: Iterable[Reads]) -> bool:
    """Whether a file that the configuration names is one of a system, and scenarios are known that read it."""
    return reason.why.startswith(NAMED_BY_SYSTEM) and any(each.reads_any([reason.path]) for each in observations)
