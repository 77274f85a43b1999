"""``ratiba completion``: a script with which a shell completes commands, options and their values."""

import argparse
import sys
from collections.abc import Mapping

import shtab

DESCRIPTION = """Print a script for your shell that completes commands, options and their values. The examples show how
to load it."""
EXAMPLE = """example:
  ratiba completion fish > ~/.config/fish/completions/ratiba.fish
  eval "$(ratiba completion bash)"    # in ~/.bashrc
  eval "$(ratiba completion zsh)"     # in ~/.zshrc, after compinit"""

SHELLS = ("bash", "zsh", "fish")
_FOLDERS = frozenset({"DIR", "FOLDER"})
_FILES = frozenset({"FILE", "PATH", "RESULTS"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that the script is for")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:  # noqa: ARG001 - as every command
    """Print the script; returns 0."""
    parser: argparse.ArgumentParser = arguments.whole_parser()
    _complete_values(parser)
    sys.stdout.write(shtab.complete(parser, shell=arguments.shell) + "\n")
    return 0


def _complete_values(parser: argparse.ArgumentParser) -> None:
    """Have what the help names completed: files, folders, and the values of a closed set."""
    for action in parser._actions:  # noqa: SLF001 - argparse offers no other way to what it was given
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - the same
            for command in action.choices.values():
                _complete_values(command)
        elif isinstance(action.metavar, str) and action.metavar.startswith("{"):
            action.choices = action.metavar.strip("{}").split(",")
        elif action.metavar in _FOLDERS:
            setattr(action, "complete", shtab.DIRECTORY)  # noqa: B010 - shtab reads it, argparse does not declare it
        elif action.metavar in _FILES:
            setattr(action, "complete", shtab.FILE)  # noqa: B010 - the same
