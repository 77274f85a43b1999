"""Results from a process that ran the system's code too: a claim, and no proof for a critical scenario."""

from collections.abc import Iterator

from ratiba_action.checks.custom_code import is_address
from ratiba_action.checks.failure_rules import CUSTOM
from ratiba_action.errors import FileProblem
from ratiba_action.metrics.registry import is_judged
from ratiba_action.model.scenario import Scenario, Suite
from ratiba_action.run.inputs import RunInputs
from ratiba_action.run.judging_base import JudgingCode, addresses_of


def self_reported(inputs: RunInputs) -> tuple[str, ...]:
    """Ids of the selected scenarios of which some result comes from a process that runs the system's code too.

    Tests are, since a test imports the system. A rule or metric is, where it runs as the change has it and imports the
    module that the configuration names as the system.
    """
    return tuple(sorted(one.id for one in inputs.selection.scenarios if _is_self_reported(one, inputs.judging)))


def critical_problems(suite: Suite, judging: JudgingCode) -> tuple[FileProblem, ...]:
    """A problem for each critical scenario that would be proved by nothing but what is self-reported.

    Args:
        suite: after the ratchet.
    """
    return tuple(
        FileProblem(
            scenario.path,
            scenario.line,
            f"the critical scenario {scenario.id!r} asserts nothing that the gate checks itself: "
            f"{', '.join(sorted(judging.with_system.intersection(addresses_of(scenario))))} imports the system, so its "
            "answer is self-reported. Add `expect`, a built-in rule or a deterministic metric",
        )
        for scenario in suite.scenarios
        if scenario.critical and _is_self_reported(scenario, judging) and not any(_own_assertions(scenario))
    )


def _is_self_reported(scenario: Scenario, judging: JudgingCode) -> bool:
    return scenario.test is not None or not judging.with_system.isdisjoint(addresses_of(scenario))


def _own_assertions(scenario: Scenario) -> Iterator[bool]:
    """Whether each part of a scenario is a deterministic assertion that the gate checks itself."""
    yield bool(scenario.rows or scenario.replies)
    yield from (turn.expect.is_exact for turn in scenario.turns)
    yield from (rule.type != CUSTOM for rule in scenario.rules)
    for entry in scenario.assertions:
        yield not is_address(entry.metric) and entry.threshold > 0 and not is_judged(entry.metric, entry.parameters)
