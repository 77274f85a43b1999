"""``package.json``."""

import json
import re
from typing import Any

from ratiba_action.core.dependencies.manifest import Manifest, Pin, gather

_TABLES = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")


def parse(text: str) -> Manifest:
    """Read the file.

    Raises:
        ValueError: it is not JSON.
        AttributeError: a table is not an object.
    """
    document = json.loads(text)
    pins = [(name, _pin(value)) for table in _TABLES for name, value in document.pop(table, {}).items()]
    pins += [(name, Pin(value)) for name, value in document.pop("engines", {}).items()]
    return Manifest(gather(pins), document)


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
