"""``package.json``."""

import json
import re
from typing import Any

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather, gather_sources

_TABLES = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_SETTINGS = ("overrides", "resolutions", "pnpm", "bundleDependencies", "bundledDependencies", "patchedDependencies")
"""What takes other packages, or other versions of them, than the tables ask for."""


def parse(text: str) -> Manifest:
    """Read the file.

    Raises:
        ValueError: it is not JSON.
        AttributeError: a table is not an object.
    """
    document = json.loads(text)
    pins = [(name, _pin(value)) for table in _TABLES for name, value in document.pop(table, {}).items()]
    pins += [(name, Pin(value)) for name, value in document.pop("engines", {}).items()]
    pins += _package_manager(document.pop("packageManager", ""))
    settings = [(name, document.pop(name)) for name in _SETTINGS if name in document]
    return Manifest(gather(pins), document, gather_sources(settings))


def _package_manager(value: Any) -> list[tuple[str, Pin]]:
    """``name@version+hash``."""
    if not value:
        return []
    name, _, rest = str(value).partition("@")
    version, _, digest = rest.partition("+")
    return [(f"packageManager {name}", Pin(version, hashes=frozenset({("program", digest)} if digest else ())))]


def _pin(value: Any) -> Pin:
    if not isinstance(value, str):
        raise TypeError(f"a version must be text, not {value!r}")
    alias = re.fullmatch(r"npm:(@?[^@]+)@(.*)", value)
    if alias:
        return Pin(alias[2], f"npm:{alias[1]}")
    if value.startswith("workspace:"):
        return Pin(value.removeprefix("workspace:"), "workspace")
    if ":" in value or "/" in value:
        return Pin("", value)
    return Pin(value)
