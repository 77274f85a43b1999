"""The help of an option says what applies without it."""

import argparse
import re
from collections.abc import Iterator

from ratiba_action.cli import build_whole_parser
from ratiba_action.settings.settings import INPUTS

OF_INPUTS = {each.environment_variable: each.default for each in INPUTS if each.default}


def options(parser: argparse.ArgumentParser, command: str = "") -> Iterator[tuple[str, argparse.Action]]:
    """Every option of every command, with its command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, each in action.choices.items():
                yield from options(each, f"{command} {name}".strip())
        elif action.help != argparse.SUPPRESS:
            yield f"{command} {'/'.join(action.option_strings)}", action


OPTIONS = dict(options(build_whole_parser()))


def test_each_option_with_a_default_shows_one() -> None:
    missing = [
        name
        for name, action in OPTIONS.items()
        if isinstance(action.default, str) and action.default not in ("", argparse.SUPPRESS)
        if "default" not in str(action.help)
    ]
    assert ("promote --owner" in OPTIONS, missing) == (True, [])


def test_each_option_that_is_an_input_shows_the_inputs_default() -> None:
    named = {name: re.findall(r"\bRATIBA_[A-Z_]+", str(action.help)) for name, action in OPTIONS.items()}
    defaults = {
        name: OF_INPUTS[variable] for name, found in named.items() for variable in found if variable in OF_INPUTS
    }
    missing = [name for name, default in defaults.items() if f"default: {default}" not in str(OPTIONS[name].help)]
    assert ("gate --budget-usd" in defaults, missing) == (True, [])
