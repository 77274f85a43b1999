"""What a manifest or lock file says about packages, in one shape for every ecosystem."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pin:
    """One statement about one package.

    Args:
        requirement: a version (lock file) or a constraint (manifest); empty for any version.
        source: where the package comes from when that is not the ecosystem's registry.
        hashes: ``(file, hash)`` of what is downloaded.
        qualifier: extras, markers and the like.
    """

    requirement: str
    source: str = ""
    hashes: frozenset[tuple[str, str]] = frozenset()
    qualifier: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A parsed manifest or lock file.

    Args:
        pins: by package; a package may be pinned more than once.
        rest: everything else that the file says, comparable with ``==``.
    """

    pins: Mapping[str, frozenset[Pin]]
    rest: object = None


def gather(pins: Iterable[tuple[str, Pin]]) -> dict[str, frozenset[Pin]]:
    """Pins by package name."""
    result: dict[str, set[Pin]] = {}
    for name, pin in pins:
        result.setdefault(name, set()).add(pin)
    return {name: frozenset(found) for name, found in result.items()}
