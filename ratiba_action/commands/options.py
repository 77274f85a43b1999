"""Values of options that are no input of the action."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from ratiba_action.errors import UsageError
from ratiba_action.model.comparison import Rules

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
    """Add the option of a command that may run a variant of the system instead."""
    parser.add_argument("--variant", default="", metavar="NAME", help="run this one of system.variants in its place")


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the option of a command that compares results which are there already."""
    told = "whose block comparison holds the rules (default: .github/ratiba.yml, if there is one; RATIBA_CONFIG)"
    parser.add_argument("--config", metavar="PATH", help=told)


def read_rules(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Rules:
    """The rules that results are compared by.

    Raises:
        ConfigurationError: the configuration is wrong, or one that was named cannot be read.
    """
    from ratiba_action.config.configured_rules import configured_rules  # noqa: PLC0415 - needs the package's dependencies
    from ratiba_action.settings.settings import read_settings  # noqa: PLC0415 - the same

    name = read_settings(environment, {"config": arguments.config}).config
    return configured_rules(Path(), name, asked=bool(arguments.config or environment.get("RATIBA_CONFIG")))
