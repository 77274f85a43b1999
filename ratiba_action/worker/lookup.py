"""What the configuration names as ``module:attribute``, or what the factory there makes."""

from __future__ import annotations

import importlib
import inspect
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
            raise AdapterError(f"module {module!r} has no attribute {attribute!r}{_nearest(found, name)}")
        found = getattr(found, name)
    return found


def _nearest(owner: Any, name: str) -> str:
    """The end of a message with the name that may be meant: one that the module or class defines itself."""
    import difflib  # only where something is wrong

    module = getattr(owner, "__module__", getattr(owner, "__name__", None))
    held = {key: value for key, value in getattr(owner, "__dict__", {}).items() if not key.startswith("_")}
    own = [key for key, value in held.items() if getattr(value, "__module__", module) == module]
    near = difflib.get_close_matches(name, own, 1, 0.7)
    return f" (did you mean {near[0]!r}?)" if near else ""


async def create_tables(address: str | None, database_url: str) -> None:
    """Have the repository's own function create its tables in the schema of the search path, where one is named."""
    if address is not None:
        done = find(address)(database_url)
        if inspect.isawaitable(done):
            await done


async def make(address: str, methods: tuple[str, ...], *offered: Any) -> Any:
    """The object at an address, or what a function or class there returns.

    Args:
        address: ``module:attribute``.
        methods: what the object must have one of.
        offered: given to a factory in this order, as many as it takes.

    Raises:
        AdapterError: neither the object nor what the factory gives has such a method.
    """
    found = find(address)
    if not _fits(found, methods):
        if not callable(found):
            raise AdapterError(_refusal(address, found, methods))
        found = found(*offered[: _places(found)])
        if inspect.isawaitable(found):
            found = await found
    if not _fits(found, methods):
        raise AdapterError(_refusal(address, found, methods))
    return found


def _fits(found: Any, methods: tuple[str, ...]) -> bool:
    return not isinstance(found, type) and any(callable(getattr(found, name, None)) for name in methods)


def _refusal(address: str, found: Any, methods: tuple[str, ...]) -> str:
    names = " or ".join(f"{name}()" for name in methods)
    return f"{address!r} gives {type(found).__name__}, which has no {names}"


def _places(factory: Any) -> int | None:
    """How many positional arguments a factory takes; None for any number."""
    parameters = inspect.signature(factory).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in positional for parameter in parameters)
