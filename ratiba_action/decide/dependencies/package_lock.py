"""``package-lock.json`` and ``npm-shrinkwrap.json``, versions 1 to 3."""

import json
from collections.abc import Iterator
from typing import Any

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather


def parse(text: str) -> Manifest:
    """Read the file; workspace members of the repository itself are not dependencies.

    Raises:
        ValueError: it is not JSON.
        KeyError: it has neither packages nor dependencies.
    """
    document = json.loads(text)
    if "packages" in document:
        entries = [
            (entry.get("name") or path.rpartition("node_modules/")[2], entry)
            for path, entry in document["packages"].items()
            if "node_modules/" in path and not entry.get("link")
        ]
        return Manifest(gather((name, _pin(name, entry)) for name, entry in entries))
    return Manifest(gather(_nested(document["dependencies"])))


def _nested(table: dict[str, Any]) -> Iterator[tuple[str, Pin]]:
    for name, entry in table.items():
        yield name, _pin(name, entry)
        yield from _nested(entry.get("dependencies", {}))


def _pin(name: str, entry: dict[str, Any]) -> Pin:
    version, resolved = str(entry.get("version", "")), str(entry.get("resolved", ""))
    if ":" in version:
        resolved, version = version, ""
    registry, own_path, _ = resolved.partition(f"/{name}/-/")
    source = registry if own_path else resolved
    integrity = entry.get("integrity")
    return Pin(version, source, frozenset({("tarball", str(integrity))}) if integrity else frozenset())
