"""The packages that differ between two states of a manifest or lock file, and how much."""

import re
from collections.abc import Callable, Iterable

from ratiba_action.decide.dependencies.constraints import parse_range, range_step
from ratiba_action.decide.dependencies.manifest import Manifest, Pin
from ratiba_action.decide.dependencies.versions import VersionParser, step
from ratiba_action.model.change import DependencyChange

SEVERITY = ("added", "patch", "minor", "removed", "major", "downgrade", "source", "unreadable")
"""Kinds of change from the least to the most worrying."""

_LONGEST_SHOWN = 200

StepOf = Callable[[str, str], str | None]
"""Size of the step between two requirements of one package."""


def version_steps(version: VersionParser) -> StepOf:
    """Steps between exact versions, as in a lock file."""

    def steps(before: str, after: str) -> str | None:
        try:
            return step(version(before), version(after))
        except ValueError:
            return "unreadable"

    return steps


def constraint_steps(version: VersionParser) -> StepOf:
    """Steps between constraints, as in a manifest."""

    def steps(before: str, after: str) -> str | None:
        try:
            return range_step(parse_range(before, version), parse_range(after, version))
        except ValueError:
            return "unreadable"

    return steps


def compare(before: Manifest, after: Manifest, path: str, steps: StepOf) -> list[DependencyChange]:
    """Every package that differs, by name.

    A package that is pinned more than once is judged by the worst of its pins: each new pin against the old one that
    it is closest to, and each pin that went against the new one that it is closest to.
    """
    changes: list[DependencyChange] = []
    familiar = {pin.source for pins in before.pins.values() for pin in pins} | {""}
    for name in sorted(before.pins.keys() | after.pins.keys()):
        old, new = before.pins.get(name, frozenset()), after.pins.get(name, frozenset())
        if old == new:
            continue
        if not old:
            foreign = any(pin.source not in familiar for pin in new)
            kind = "source" if foreign else "added"
            changes.append(DependencyChange(name, None, _versions(new, sources=foreign), kind, path))
        elif not new:
            changes.append(DependencyChange(name, _versions(old), None, "removed", path))
        else:
            change = _worst(name, old, new, path, steps)
            changes += [change] if change is not None else []
    return [*changes, *_source_changes(before, after, path)]


def _source_changes(before: Manifest, after: Manifest, path: str) -> list[DependencyChange]:
    """Each setting of where packages come from that differs: other code may stand under the same names."""
    names = sorted(before.sources.keys() | after.sources.keys())
    pairs = [(name, before.sources.get(name), after.sources.get(name)) for name in names]
    return [
        DependencyChange(name, old and _public(old), new and _public(new), "source", path)
        for name, old, new in pairs
        if old != new
    ]


def _public(text: str) -> str:
    """A source as it may be shown: without user and password, and no longer than a line."""
    shown = re.sub(r"//[^/@\s]*@", "//***@", text)
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"


def _versions(pins: Iterable[Pin], *, sources: bool = False) -> str:
    """Versions for a reader, with their sources where those are what matters."""
    shown = (
        f"{pin.requirement or 'any'} ({_public(pin.source)})" if sources and pin.source else pin.requirement or "any"
        for pin in pins
    )
    return ", ".join(sorted(set(shown)))


def _worst(name: str, old: frozenset[Pin], new: frozenset[Pin], path: str, steps: StepOf) -> DependencyChange | None:
    pairs = [
        min(((_rank(other_pin, pin, steps), other_pin, pin) for other_pin in old), key=_first) for pin in new - old
    ]
    pairs += [
        min(((_rank(pin, other_pin, steps), pin, other_pin) for other_pin in new), key=_first) for pin in old - new
    ]
    rank, before, after = max(pairs, key=_first)
    if rank < 0:
        return None
    sources = before.source != after.source
    return DependencyChange(
        name, _versions([before], sources=sources), _versions([after], sources=sources), SEVERITY[rank], path
    )


def _first(pair: tuple[int, Pin, Pin]) -> int:
    return pair[0]


def _rank(before: Pin, after: Pin, steps: StepOf) -> int:
    """Position in ``SEVERITY``; -1 when nothing that counts differs."""
    change: str | None
    if before.source != after.source or _other_content(before, after):
        change = "source"
    elif before.requirement == after.requirement:
        change = None
    else:
        change = steps(before.requirement, after.requirement)
    rank = SEVERITY.index(change) if change else -1
    return max(rank, SEVERITY.index("minor")) if before.qualifier != after.qualifier else rank


def _other_content(before: Pin, after: Pin) -> bool:
    """Whether the same file of the same version has another hash: it was replaced.

    Hashes without names of files are compared as a whole.
    """
    if before.requirement != after.requirement:
        return False
    if all(file == value for file, value in before.hashes | after.hashes):
        return before.hashes != after.hashes
    old = dict(before.hashes)
    return any(old.get(file, value) != value for file, value in after.hashes)
