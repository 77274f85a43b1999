"""Values of options that are no input of the action."""

import argparse
from collections.abc import Callable
from typing import TypeVar

from ratiba_action.errors import UsageError

Value = TypeVar("Value")


def parse_option(name: str, text: str, parse: Callable[[str], Value]) -> Value:
    """The value of an option.

    Args:
        name: with its dashes.
        text: as it was given.
        parse: raises ``ValueError``, which says what is allowed.

    Raises:
        UsageError: it is wrong.
    """
    try:
        return parse(text)
    except ValueError as error:
        raise UsageError(f"{name} is {text!r}.", f"Give {error}.") from error


def add_variant(parser: argparse.ArgumentParser) -> None:
    """Add the option of a command that may run a variant of the system in its place."""
    parser.add_argument("--variant", default="", metavar="NAME", help="run this one of system.variants in its place")
