"""Runs commands of the product in the test's own process."""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pytest

from ratiba_action.cli import COMMANDS
from ratiba_action.main import run


@dataclass
class CommandRun:
    """Runs a command by its name and options, and has what it printed.

    Args:
        capsys: pytest's.
        environment: of every command.
        start: runs the command line to its exit code.
        out: what the last command printed.
        err: what the last command printed as errors.
    """

    capsys: pytest.CaptureFixture[str]
    environment: dict[str, str] = field(default_factory=dict)
    start: Callable[[Sequence[str], dict[str, str]], int] = run
    out: str = ""
    err: str = ""

    def __call__(self, *words: str, code: int = 0, environment: Mapping[str, str] | None = None) -> str:
        """Run a command to this exit code; returns what it printed.

        Args:
            environment: further variables, for this command alone.
        """
        ended = self.start(words, {**self.environment, **(environment or {})})
        self.out, self.err = self.capsys.readouterr()
        assert ended == code, self
        return self.out

    def json(self, *words: str, code: int = 0, environment: Mapping[str, str] | None = None) -> Any:
        """Run a command with ``--json``."""
        return json.loads(self(*words, "--json", code=code, environment=environment))


def start_unguarded(words: Sequence[str], environment: dict[str, str]) -> int:
    """Run a command without what makes a message of its errors."""
    name, *given = words
    module, parser = import_module(COMMANDS[name][0]), ArgumentParser()
    module.add_arguments(parser)
    code: int = module.run(parser.parse_args(given), environment)
    return code
