"""Whose rules and metrics judge a change: its base's, but for those that the change openly edits or adds."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ratiba_action.checks.custom_code import is_address, needs_custom_code, rule_addresses
from ratiba_action.checks.failure_rules import CUSTOM
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.decide.contents import Contents
from ratiba_action.decide.judging_code import Modules
from ratiba_action.model.scenario import Scenario, Suite
from ratiba_action.run.base_commit import BaseCommit

_VERSION = re.compile(rb"^__version__[^=\n]*=\s*[\"']([^\"'\n]{1,40})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class JudgingBase:
    """What rules and metrics run with that a change leaves alone: files, set-up and packages of its base.

    Args:
        commit: full id of the base.
        own: addresses of the code that the change edits or adds; it runs as the change has it.
    """

    commit: str
    system: SystemBlock
    own: frozenset[str]


@dataclass(frozen=True, slots=True)
class JudgingCode:
    """Whose rules and metrics judge a run.

    Args:
        base: of the change; None where the checkout's own files judge: there is no base, or nothing differs from it.
        edited: addresses of the code that the change edits.
        with_system: addresses of the code that runs as the change has it and imports the change's system.
    """

    base: JudgingBase | None = None
    edited: tuple[str, ...] = ()
    with_system: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def judging_code(
    base: BaseCommit, before: SystemBlock | None, system: SystemBlock, suite: Suite, base_suite: Suite
) -> JudgingCode:
    """Whose code judges.

    Args:
        before: section of the base's configuration; None where it has none that can be used.
        suite: of the change, after the ratchet.

    Raises:
        InfrastructureError: the names of files cannot be read from this clone.
    """
    addresses, changed = frozenset(_addresses(suite)), frozenset(base.change.files.paths)
    files = _files(addresses, base, {system.root, *([before.root] if before is not None else [])})
    edited = frozenset(address for address in addresses if files[address] & changed)
    notes = [f"{each} is edited by this change, so the change is measured by its own code." for each in sorted(edited)]
    notes += _kept_versions(sorted(frozenset().union(*(files[each] for each in edited)) & changed), base.contents)
    judged_by, own = None, addresses
    if before is not None and base.change.files.base is not None and changed and needs_custom_code(suite.scenarios):
        added = addresses - frozenset(_addresses(base_suite)) - edited
        notes += [f"{each} is new in this change, so it runs with the change's own packages." for each in sorted(added)]
        own = edited | added
        judged_by = JudgingBase(base.change.files.base, before, own)
    theirs = _files(frozenset(_system_addresses(system)), base, {system.root}) if own else {}
    of_system = frozenset(path for paths in theirs.values() for path in paths if not path.endswith("__init__.py"))
    with_system = frozenset(address for address in own if files[address] & of_system)
    return JudgingCode(judged_by, tuple(sorted(edited)), with_system, tuple(notes))


def _kept_versions(paths: Iterable[str], contents: Contents) -> Iterator[str]:
    """What is said of edited modules with a ``__version__`` that is still that of the base."""
    for path in paths:
        versions = [_VERSION.search(text) for text in contents.both(path)]
        found = {version[1].decode("utf-8", "replace") for version in versions if version is not None}
        if len(versions) == 2 and all(versions) and len(found) == 1:  # noqa: PLR2004 - base and head
            version = f"`__version__` is {found.pop()} as before"
            yield f"{path} is edited by this change, and its {version}: raise it if a rubric or a rule changed."


def addresses_of(scenario: Scenario) -> Iterator[str]:
    """The repository's own rules and metrics that measure a scenario."""
    yield from (entry.metric for entry in scenario.assertions if is_address(entry.metric))
    for rule in scenario.rules:
        yield from rule_addresses(rule) if rule.type == CUSTOM else ()


def _addresses(suite: Suite) -> Iterator[str]:
    for scenario in suite.scenarios:
        yield from addresses_of(scenario)


def _files(addresses: frozenset[str], base: BaseCommit, roots: set[str]) -> Mapping[str, frozenset[str]]:
    """The files that each address needs, of both sides."""
    if not addresses:
        return {}
    everything = base.contents.links().paths | frozenset(base.change.files.paths)
    modules = [Modules(root, everything, base.contents.both) for root in sorted(roots)]
    return {
        address: frozenset(path for each in modules for path in each.files(address.partition(":")[0]))
        for address in addresses
    }


def _system_addresses(system: SystemBlock) -> Iterator[str]:
    """What the configuration names of the system as ``module:attribute``."""
    block = getattr(system, system.kind)
    values = [block, *(vars(block).values() if hasattr(block, "model_fields_set") else ())]
    yield from (value for value in values if isinstance(value, str) and is_address(value))
