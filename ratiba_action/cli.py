"""The command line: a literal table of commands, each imported only when it is asked for."""

import argparse
from collections.abc import Mapping, Sequence
from importlib import import_module

COMMANDS: Mapping[str, tuple[str, str]] = {
    "gate": ("ratiba_action.commands.gate", "run the golden conversations and say whether a change may merge"),
    "validate": ("ratiba_action.commands.validate", "say every mistake of configuration, scenarios and recordings"),
    "decide": ("ratiba_action.commands.decide", "choose blocking, advisory or skip from the changed paths"),
}
"""Name of a command, its module and its summary.

A module has ``DESCRIPTION``, ``EXAMPLE``, ``add_arguments(parser)`` and ``run(arguments, environment) -> int``.
"""


def build_parser(arguments: Sequence[str], table: Mapping[str, tuple[str, str]] = COMMANDS) -> argparse.ArgumentParser:
    """The parser for these arguments; only the module of the named command is imported."""
    parser = argparse.ArgumentParser(
        prog="ratiba",
        description="A merge gate for changes to conversational LLM systems.",
        epilog="example:\n  ratiba decide --json\n\n'ratiba COMMAND --help' explains one command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module_name, summary) in table.items():
        command = commands.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        if name in arguments[:1]:
            module = import_module(module_name)
            command.description, command.epilog = module.DESCRIPTION, module.EXAMPLE
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser
