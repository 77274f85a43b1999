"""Parses options that are not inputs of the action."""

import argparse
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from ratiba_action.errors import UsageError
from ratiba_action.model.comparison import Rules

Value = TypeVar("Value")

_DURATION = re.compile(r"(\d{1,4})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def parse_option(name: str, text: str, parse: Callable[[str], Value]) -> Value:
    """The value of an option.

    Args:
        name: with its dashes.
        text: as given.
        parse: raises ``ValueError`` with the allowed values.

    Raises:
        UsageError: it is invalid.
    """
    try:
        return parse(text)
    except ValueError as error:
        raise UsageError(f"{name} is {text!r}.", f"Give {error}.") from error


def add_variant(parser: argparse.ArgumentParser) -> None:
    """Add the option to run a variant of the system instead."""
    parser.add_argument(
        "--variant", default="", metavar="NAME", help="run this variant of system.variants instead of the system"
    )


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the option for the rules that compare existing results."""
    description = (
        "configuration file with the `comparison` rules (default: .github/ratiba.yml if it exists; RATIBA_CONFIG)"
    )
    parser.add_argument("--config", metavar="PATH", help=description)


def read_rules(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Rules:
    """The rules for comparing results.

    Raises:
        ConfigurationError: the configuration is invalid, or one that was given cannot be read.
    """
    from ratiba_action.config.configuration import configured_rules  # noqa: PLC0415 - needs the package's dependencies
    from ratiba_action.settings.settings import read_settings  # noqa: PLC0415 - the same

    name = read_settings(environment, {"config": arguments.config}).config
    return configured_rules(Path(), name, required=bool(arguments.config or environment.get("RATIBA_CONFIG")))


def moment(text: str, now: datetime) -> datetime:
    """A time with its offset, or how long before ``now``.

    Raises:
        ValueError: it is neither; tells what is allowed.
    """
    if match := _DURATION.fullmatch(text):
        return now - timedelta(**{_UNITS[match[2]]: int(match[1])})
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise ValueError("how long ago, such as 90m, 6h or 7d, or a time with its offset, 2026-11-22T06:00:00+03:00")
    return found


def share(text: str) -> float:
    """A share.

    Raises:
        ValueError: it is none.
    """
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise ValueError("a share from 0 to 1")
    return found
