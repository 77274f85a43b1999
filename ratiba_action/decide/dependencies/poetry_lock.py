"""``poetry.lock``."""

import tomllib
from typing import Any

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather
from ratiba_action.decide.dependencies.uv_lock import normalise


def parse(text: str) -> Manifest:
    """Read the file.

    Raises:
        ValueError: it is not TOML.
        KeyError: it has no metadata, or a package no name or version.
    """
    document = tomllib.loads(text)
    shared = document["metadata"].get("files", {})
    return Manifest(gather(_pin(package, shared) for package in document.get("package", [])))


def _pin(package: dict[str, Any], shared: dict[str, Any]) -> tuple[str, Pin]:
    source = package.get("source", {})
    shown = " ".join(f"{key}={value}" for key, value in sorted(source.items()))
    files = package.get("files") or shared.get(package["name"], [])
    hashes = frozenset((str(file["file"]), str(file["hash"])) for file in files)
    return normalise(package["name"]), Pin(str(package["version"]), shown, hashes)
