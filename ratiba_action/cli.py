"""The command line: a literal table of commands, each imported only when it is asked for."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

COMMANDS: Mapping[str, tuple[str, str]] = {
    "gate": ("ratiba_action.commands.gate", "run the golden scenarios and say whether a change may merge"),
    "merge": ("ratiba_action.commands.merge", "decide from the reports of all shards of a run"),
    "init": ("ratiba_action.commands.init", "set the gate up in a repository: workflow, configuration, first scenario"),
    "import": ("ratiba_action.commands.import_tests", "make scenarios of tests of promptfoo, DeepEval and other tools"),
    "generate": ("ratiba_action.commands.generate", "write a scenario from a captured session or a template"),
    "validate": ("ratiba_action.commands.validate", "say every mistake of configuration, scenarios and recordings"),
    "record": ("ratiba_action.commands.record", "run scenarios with live models and record the answers"),
    "report": ("ratiba_action.commands.report", "show the last run's report, or publish it for a run that could not"),
    "mutate": ("ratiba_action.commands.mutate", "find the lines of the system that no scenario protects"),
    "explain": ("ratiba_action.commands.explain", "find the lines of a change that make scenarios fail"),
    "compare": ("ratiba_action.commands.compare", "show two to six runs side by side"),
    "status": ("ratiba_action.commands.status", "show the last runs of this gate, going on or ended"),
    "wait": ("ratiba_action.commands.wait", "wait until a run has ended, and exit with its exit code"),
    "dataset": (
        "ratiba_action.commands.dataset",
        "the suite as a dataset in Langfuse: push, pull, run, add a trace, verify",
    ),
    "promote": (
        "ratiba_action.commands.promote",
        "turn conversations that customers disliked into scenario candidates",
    ),
    "sample": ("ratiba_action.commands.sample", "measure a sample of production conversations, and score their traces"),
    "drift": ("ratiba_action.commands.drift", "compare live scores with the golden baseline and the window before"),
    "canary": ("ratiba_action.commands.canary", "say whether to promote a canary, to wait, or to roll it back"),
    "calibrate": (
        "ratiba_action.commands.calibrate",
        "compare judges with people, on conversations labelled each month",
    ),
    "check": ("ratiba_action.commands.check", "check answers of a system in production: pass, flag or block"),
    "decide": ("ratiba_action.commands.decide", "choose blocking, advisory or skip from the changed paths"),
}
"""Name of a command, its module and its summary.

A module has ``DESCRIPTION``, ``EXAMPLE``, ``add_arguments(parser)`` and ``run(arguments, environment) -> int``.
"""


def build_parser(arguments: Sequence[str], table: Mapping[str, tuple[str, str]] = COMMANDS) -> argparse.ArgumentParser:
    """The parser for these arguments; only the module of the named command is imported."""
    parser = _CommandLine(
        prog="ratiba",
        description="A merge gate for changes to conversational LLM systems.",
        epilog="example:\n  ratiba decide --json\n\n'ratiba COMMAND --help' explains one command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=argparse.ArgumentParser, prog="ratiba"
    )
    named = [name for name in arguments[:1] if name in table]
    for name in named or table:  # a parser takes a millisecond, and no message of a command names the others
        module_name, summary = table[name]
        command = commands.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        if named:
            module = import_module(module_name)
            command.description, command.epilog = module.DESCRIPTION, module.EXAMPLE
            module.add_arguments(command)
            command.set_defaults(run=module.run, reporting_parser=command)
    return parser


class _CommandLine(argparse.ArgumentParser):
    """Tells a command's unknown options with that command's usage, which argparse tells with the program's."""

    def parse_args(  # type: ignore[override] # the overloads of the base differ in the namespace's type only
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            reporting_parser: argparse.ArgumentParser = getattr(parsed, "reporting_parser", self)
            reporting_parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed


class _Version(argparse.Action):
    """Prints the installed version; looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            shown = version("ratiba-eval-gate")
        except PackageNotFoundError:
            shown = "of an unknown version, since it is not installed"
        sys.stdout.write(f"ratiba {shown}\n")
        parser.exit()
