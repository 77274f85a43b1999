"""Which of a repository's own rules and metrics a change edits: it is measured by code of its own then."""

from collections.abc import Iterable, Iterator

from ratiba_action.checks.custom_code import is_address, rule_addresses
from ratiba_action.checks.failure_rules import CUSTOM
from ratiba_action.model.scenario import Suite


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
