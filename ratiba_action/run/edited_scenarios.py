"""What a change leaves of the scenarios that its base would be compared by: who edits them all silences the base."""

from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from ratiba_action.checks.failure_rules import CUSTOM, REFUSE, RISK
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.decide.deciding import Decided
from ratiba_action.model.change import Mode
from ratiba_action.model.scenario import Expectation, Scenario, Suite, TurnLimits
from ratiba_action.settings.settings import Settings
from ratiba_action.suite.load import is_data_file, is_scenario_file
from ratiba_action.verdict.pairing import ContentDigests, content_digest


@dataclass(frozen=True, slots=True)
class EditedScenarios:
    """Scenarios of the base by which the change is not compared, since it edits or removes them."""

    total: int = 0
    edited: int = 0
    with_system: bool = False

    @property
    def silence_base(self) -> bool:
        """Whether a change of the system leaves no scenario that could show that it is worse."""
        return self.with_system and 0 < self.total == self.edited


def run_alike(suite: Suite, base: Suite, digests: ContentDigests) -> frozenset[str]:
    """Ids of the scenarios that the base can run as they are here, so that the change is compared by them.

    What a change asserts otherwise takes nothing from the base: both sides are measured by what the change asserts.

    Args:
        suite: of the change, after the ratchet.
        digests: of both suites.
    """
    theirs = {scenario.id: scenario for scenario in base.scenarios}
    return frozenset(
        scenario.id
        for scenario in suite.scenarios
        if (before := theirs.get(scenario.id)) is not None
        and (digests.of(before) == digests.of(scenario) or _as_run(before) == _as_run(scenario))
    )


def _as_run(scenario: Scenario) -> str:
    """A digest of all but what is asserted by the gate itself: that needs no recording, table or module of the base."""
    turns = tuple(replace(turn, expect=_unasserted(turn.expect)) for turn in scenario.turns)
    rules = tuple(rule for rule in scenario.rules if rule.type in (CUSTOM, REFUSE, RISK))
    assertions = tuple(replace(entry, threshold=0.0) for entry in scenario.assertions)
    asserted = replace(scenario, turns=turns, rules=rules, assertions=assertions)
    return content_digest(replace(asserted, limits=TurnLimits(), critical=False, provenance={}))


def _unasserted(expect: Expectation) -> Expectation:
    return replace(expect, state=None, payment=None, tools=None, events=(), transitions=(), reply=None)


def edited_scenarios(
    decided: Decided, settings: Settings, alike: frozenset[str], base: Suite, systems: tuple[SystemBlock, SystemBlock]
) -> EditedScenarios:
    """What a change leaves to compare by.

    Args:
        settings: say where scenarios and configuration are.
        alike: see ``run_alike``.
        systems: section of the change's configuration and of its base's.
    """
    watched = {reason.path for reason in decided.decision.reasons if reason.mode is not Mode.SKIP}
    of_system = {path for path in decided.change.files.paths if path in watched and not _measures(path, settings)}
    edited = sum(scenario.id not in alike for scenario in base.scenarios)
    return EditedScenarios(len(base.scenarios), edited, bool(of_system) or systems[0] != systems[1])


def _measures(path: str, settings: Settings) -> bool:
    """Whether a file says how the system is measured, and not how it answers."""
    folder = settings.scenarios
    if is_scenario_file(path, folder) or is_data_file(path, folder) or path == settings.config:
        return True
    place = PurePosixPath(path)
    return place.is_relative_to(PurePosixPath(folder) / "recordings") or place.is_relative_to(".github/workflows")
