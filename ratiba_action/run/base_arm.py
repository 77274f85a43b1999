"""The base of a change as an arm: what its conversations would be held with, and how its files are fetched."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.config.configuration import Configuration
from ratiba_action.decide.export import export_commit
from ratiba_action.decide.read import Change
from ratiba_action.errors import InfrastructureError, RatibaError
from ratiba_action.llm.recordings.lines import Recording
from ratiba_action.model.scenario import Suite
from ratiba_action.run.base_side import BaseSide
from ratiba_action.verdict.scenario_content import content_digest

_ELSEWHERE = frozenset({"url", "http"})
"""Kinds of system that the gate does not start."""


@dataclass(frozen=True, slots=True)
class BaseInputs:
    """What the base's conversations would be held with.

    Args:
        commit: full id of the merge base.
        configuration: the run's own, with the base's system and rows: all else is the same on both arms.
        scenarios: ids of those that are the same on both arms; a score of any other cannot be compared.
        recordings: of these, as the base commit holds them.
    """

    commit: str
    configuration: Configuration
    scenarios: frozenset[str]
    recordings: Mapping[str, tuple[Recording, ...]]


def read_base_inputs(
    base: BaseSide, held: Configuration, own: Configuration | None, suite: Suite, base_suite: Suite
) -> BaseInputs | str:
    """What a base arm would be held with, or why there can be none.

    Args:
        base: reads the base commit.
        held: the configuration of this run.
        own: the base's configuration.
        suite: of this run, held to the base.
        base_suite: of the base, with the metrics of its languages.
    """
    commit = base.change.files.base
    if base.change.git is None or commit is None:
        return "the base of this change is not in this clone"
    if own is None:
        return "the base has no configuration that can be used"
    refusal = _refusal(own, held)
    if refusal:
        return refusal
    theirs = {scenario.id: content_digest(scenario) for scenario in base_suite.scenarios}
    same = frozenset(one.id for one in suite.scenarios if theirs.get(one.id) == content_digest(one))
    if not same:
        return "no conversation of this change is one of the base's"
    try:
        recordings = {name: base.recordings(name) for name in sorted(same)}
    except RatibaError as error:
        return f"the base's recordings cannot be read: {error}"
    configuration = held.model_copy(update={"system": own.system, "rows": own.rows})
    return BaseInputs(commit, configuration, same, recordings)


def _refusal(own: Configuration, held: Configuration) -> str:
    if {own.system.kind, held.system.kind} & _ELSEWHERE:
        return "the system runs elsewhere, where only one version of it can be asked"
    if own.system.has_database != held.system.has_database:
        return "only one of both sides has a database"
    return ""


def fetch_base(change: Change, commit: str, scratch: Path) -> Path:
    """Write the base's files below the run's own folder; it is removed with it.

    Args:
        change: whose base it is.
        commit: full id of the base.
        scratch: outside the work tree.

    Raises:
        InfrastructureError: they are not in this clone or cannot be written.
    """
    if change.git is None:
        raise InfrastructureError("The base cannot be fetched: there is no repository.")
    folder = scratch / "base"
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise InfrastructureError(f"The base cannot be written to {str(folder)!r}: {error}.") from error
    export_commit(change.git, commit, folder)
    return folder
