"""Finding what the configuration names as ``module:attribute``."""

from __future__ import annotations

import importlib
from typing import Any


class AdapterError(Exception):
    """What the configuration names is not there, or does not have the shape that the gate needs."""


def find(address: str) -> Any:
    """What ``module:attribute`` names; the attribute may have dots.

    Raises:
        AdapterError: the module has no such attribute. What importing the module raises is not caught.
    """
    module, _, attribute = address.partition(":")
    found: Any = importlib.import_module(module)
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise AdapterError(f"module {module!r} has no attribute {attribute!r}")
        found = getattr(found, name)
    return found
