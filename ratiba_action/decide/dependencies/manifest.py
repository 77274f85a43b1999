"""What a manifest or lock file says about packages, in one shape for every ecosystem."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


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
        sources: settings that decide where packages come from, or which of them are taken, by their names.
    """

    pins: Mapping[str, frozenset[Pin]]
    rest: object = None
    sources: Mapping[str, str] = field(default_factory=dict)


def gather(pins: Iterable[tuple[str, Pin]]) -> dict[str, frozenset[Pin]]:
    """Pins by package name."""
    result: dict[str, set[Pin]] = {}
    for name, pin in pins:
        result.setdefault(name, set()).add(pin)
    return {name: frozenset(found) for name, found in result.items()}


def gather_sources(settings: Iterable[tuple[str, object]]) -> dict[str, str]:
    """Settings by name, in the order in which they are written; what is not a text is spelled out."""
    result: dict[str, str] = {}
    for name, value in settings:
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
        result[name] = f"{result[name]}, {text}" if name in result else text
    return result


def with_hosts(source: str, addresses: Iterable[str]) -> str:
    """A pin's source with where its files are downloaded from: a lock file's addresses are used as they are."""
    hosts = {re.sub(r"^[^/]*//([^/]*).*", r"\1", address, flags=re.DOTALL) for address in addresses}
    others = sorted(host for host in hosts if f"//{host}/" not in f"{source}/")
    return f"{source} (files from {', '.join(others)})".strip() if others else source


def parse_interpreters(text: str) -> Manifest:
    """Read ``.python-version``, ``.node-version``, ``.nvmrc`` or ``.tool-versions``: a version a line.

    Where there are several, the tool's name stands before it.

    Raises:
        ValueError: it names nothing.
    """
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    pins = [(words[0] if len(words) > 1 else "interpreter", Pin(words[-1])) for words in lines if words]
    if not pins:
        raise ValueError("it names no version")
    return Manifest(gather(pins))
