"""Whose rules and metrics judge a change: its base's, but for those that the change openly edits or adds."""

from collections.abc import Iterator
from dataclasses import dataclass

from ratiba_action.checks.custom_code import is_address, needs_custom_code, rule_addresses
from ratiba_action.checks.failure_rules import CUSTOM
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.decide.judging_code import Modules
from ratiba_action.model.scenario import Suite
from ratiba_action.run.base_commit import BaseCommit


@dataclass(frozen=True, slots=True)
class JudgingBase:
    """What rules and metrics run with that a change leaves alone: files, set-up and packages of its base.

    Args:
        commit: full id of the base.
        system: section of the base's configuration.
        own: addresses of the code that the change edits or adds; it runs as the change has it.
    """

    commit: str
    system: SystemBlock
    own: frozenset[str]


def judging_base(
    base: BaseCommit, system: SystemBlock | None, suite: Suite, base_suite: Suite, root: str
) -> tuple[JudgingBase | None, tuple[str, ...]]:
    """Whose code judges, and a note for each rule and metric that is the change's own.

    Args:
        base: of the change, open.
        system: section of the base's configuration; None where it has none that can be used.
        suite: of the change, after the ratchet.
        base_suite: of the base.
        root: folder of the change's system, where modules are looked up.

    Returns:
        None for the base where the checkout's own files judge: there is no base, or nothing differs from it, or nothing
        of the repository judges.

    Raises:
        InfrastructureError: the names of the base's files cannot be read from this clone.
    """
    addresses, files = frozenset(_addresses(suite)), base.change.files
    edited = frozenset(_edited(addresses, base, {root, system.root if system is not None else root}))
    notes = [f"{each} is edited by this change, so the change is measured by its own code." for each in sorted(edited)]
    usable = system is not None and files.base is not None and files.paths and needs_custom_code(suite.scenarios)
    if not usable or system is None or files.base is None:
        return None, tuple(notes)
    added = addresses - frozenset(_addresses(base_suite)) - edited
    notes += [f"{each} is new in this change, so it runs with the change's own packages." for each in sorted(added)]
    return JudgingBase(files.base, system, edited | added), tuple(notes)


def _addresses(suite: Suite) -> Iterator[str]:
    for scenario in suite.scenarios:
        yield from (entry.metric for entry in scenario.assertions if is_address(entry.metric))
        for rule in scenario.rules:
            yield from rule_addresses(rule) if rule.type == CUSTOM else ()


def _edited(addresses: frozenset[str], base: BaseCommit, roots: set[str]) -> Iterator[str]:
    """Addresses of which a file that the module is, or imports, is among the changed ones."""
    changed = frozenset(base.change.files.paths)
    if not addresses or not changed:
        return
    everything = base.contents.links().paths | changed
    modules = [Modules(root, everything, base.contents.both) for root in sorted(roots)]
    for address in addresses:
        if any(changed & each.files(address.partition(":")[0]) for each in modules):
            yield address
