"""Options that several commands have, and values of those that are no inputs of the action; standard library only."""

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ratiba_action.errors import UsageError
from ratiba_action.settings.input_values import parse_count
from ratiba_action.util.git import find_checkout
from ratiba_action.util.text import printable

Value = TypeVar("Value")

RUN_SOURCES = (
    "a folder of results.json and results.json.gz files, a branch that has them, or 'github' for the artifacts of the "
    "default branch's workflow runs"
)
"""What ``--from`` of the commands that look at the history names."""

_DURATION = re.compile(r"([0-9]{1,4})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_option(name: str, text: str, parse: Callable[[str], Value]) -> Value:
    """The value of an option.

    Args:
        parse: raises ``ValueError`` with the allowed values.

    Raises:
        UsageError: it is invalid.
    """
    try:
        return parse(text)
    except ValueError as error:
        raise UsageError(f"{name} is {text!r}.", f"Give {error}.") from error


def count_option(name: str, text: str, maximum: int | None = None, minimum: int = 1) -> int:
    """The value of an option that is a whole number.

    Raises:
        UsageError: it is none, or outside of these bounds.
    """
    return parse_option(name, text, partial(parse_count, maximum=maximum, minimum=minimum))


class OptionGroup(Protocol):
    """A parser, or a group of its options under a heading of their own."""

    def add_argument(self, *names: str, **facts: Any) -> argparse.Action:
        """Add an option; see ``argparse``."""
        ...


class FormerOption(argparse.Action):
    """An option by the name of the version before: a warning names the one of today."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        """Keep the value; for ``argparse``."""
        print_warning(f"{parser.prog}: {option} is now --{self.dest}.")
        setattr(namespace, self.dest, values)


def add_max(parser: argparse.ArgumentParser, description: str, default: str | None = None) -> None:
    """Add ``--max``, which the version before named ``--most``; one of them may be given.

    Args:
        default: of the option.
    """
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--max", default=default, metavar="N", help=description)
    either.add_argument("--most", dest="max", default=default, action=FormerOption, help=argparse.SUPPRESS)


def add_repo(parser: OptionGroup, default: str = "GITHUB_WORKSPACE or this folder's repository") -> None:
    """Add the option for the checkout."""
    parser.add_argument("--repo", metavar="DIR", help=f"the checkout (default: {default})")


def repository_of(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Path:
    """The folder that ``--repo`` names, or else GITHUB_WORKSPACE, or else the repository that this one lies in."""
    return Path(arguments.repo).resolve() if arguments.repo else checkout_of(environment.get("GITHUB_WORKSPACE") or ".")


def checkout_of(folder: str = ".") -> Path:
    """The root of the repository that a folder lies in; the folder itself outside of any."""
    return find_checkout(Path(folder)) or Path(folder).resolve()


def add_json(parser: OptionGroup, description: str = "print JSON") -> None:
    """Add the option for JSON instead of text."""
    parser.add_argument("--json", action="store_true", help=description)


def print_json(value: Any) -> None:
    """Print a value as ``--json`` does."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def add_variant(parser: OptionGroup) -> None:
    """Add the option to run a variant of the system instead."""
    parser.add_argument(
        "--variant", default="", metavar="NAME", help="run this variant of system.variants instead of the system"
    )


def print_warning(text: str) -> None:
    """Print a warning on standard error, on one line."""
    sys.stderr.write(f"ratiba: warning: {printable(text)}\n")


def length_of_time(text: str) -> timedelta:
    """A length of time.

    Raises:
        ValueError: it is none.
    """
    match = _DURATION.fullmatch(text)
    if match is None or not int(match[1]):
        raise ValueError("a length of time, such as 90m, 24h, 7d or 2w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def moment(text: str, now: datetime) -> datetime:
    """A time with its offset, or how long before ``now``.

    Raises:
        ValueError: it is neither; says what is allowed.
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


def between(text: str) -> float:
    """A number between 0 and 1, and neither of them.

    Raises:
        ValueError: it is none.
    """
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 1:
        raise ValueError("a number between 0 and 1")
    return found
