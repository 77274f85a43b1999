"""The command line: a literal table of commands, each imported only when it is asked for."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("ratiba_action.commands.init", "write workflow, configuration and first scenario"),
    "import": ("ratiba_action.commands.import_tests", "make scenarios of tests of promptfoo, DeepEval, …"),
    "generate": ("ratiba_action.commands.generate", "write a scenario from a captured session or a template"),
    "doctor": ("ratiba_action.commands.doctor", "say what is missing, and the command that fixes it"),
    "validate": ("ratiba_action.commands.validate", "check configuration, scenarios and recordings"),
    "gate": ("ratiba_action.commands.gate", "run the scenarios; say whether a change may merge"),
    "record": ("ratiba_action.commands.record", "run scenarios with live models; keep the answers"),
    "chat": ("ratiba_action.commands.chat", "write a scenario by talking with the system"),
    "report": ("ratiba_action.commands.report", "show or publish the last run's report"),
    "compare": ("ratiba_action.commands.compare", "show two to six runs side by side"),
    "site": ("ratiba_action.commands.site", "write the history of runs as static pages"),
    "view": ("ratiba_action.commands.view", "look at runs in a browser, also while they go on"),
    "explain": ("ratiba_action.commands.explain", "find the lines of a change that make scenarios fail"),
    "mutate": ("ratiba_action.commands.mutate", "find lines of the system that no scenario protects"),
    "sample": ("ratiba_action.commands.sample", "measure a sample of production conversations"),
    "promote": ("ratiba_action.commands.promote", "turn disliked conversations into scenario candidates"),
    "drift": ("ratiba_action.commands.drift", "compare live scores with baseline and window before"),
    "canary": ("ratiba_action.commands.canary", "say whether to promote a canary or roll it back"),
    "check": ("ratiba_action.commands.check", "check answers in production: pass, flag or block"),
    "calibrate": ("ratiba_action.commands.calibrate", "compare judges with people, each month"),
    "dataset": ("ratiba_action.commands.dataset", "keep the suite as a dataset in Langfuse"),
    "decide": ("ratiba_action.commands.decide", "choose blocking, advisory or skip from the paths"),
    "merge": ("ratiba_action.commands.merge", "decide from the reports of all shards of a run"),
    "status": ("ratiba_action.commands.status", "show the last runs of this gate"),
    "wait": ("ratiba_action.commands.wait", "wait until a run has ended; exit with its exit code"),
    "completion": ("ratiba_action.commands.completion", "complete commands and options in your shell"),
}
"""Name of a command, its module and its summary, which fits a line of ``--help``.

A module has ``DESCRIPTION``, ``EXAMPLE``, ``add_arguments(parser)`` and ``run(arguments, environment) -> int``.
"""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "start": ("init", "doctor", "import", "chat", "generate", "validate"),
    "run": ("gate", "record"),
    "understand": ("report", "compare", "site", "view", "explain", "mutate"),
    "production": ("sample", "promote", "drift", "canary", "check", "calibrate", "dataset"),
    "advanced": ("decide", "merge", "status", "wait", "completion"),
}
"""Commands under the heading that ``--help`` lists them by."""

_LAST_LINE = "example: ratiba init && ratiba gate; 'ratiba help COMMAND' explains a command."


def build_parser(arguments: Sequence[str], table: Mapping[str, tuple[str, str]] = COMMANDS) -> "CommandLine":
    """The parser for these arguments; only the module of the named command is imported."""
    parser = _program()
    named = [name for name in _without_help(arguments)[:1] if name in table]
    _add_commands(parser, named or list(table), table, with_options=bool(named))
    return parser


def build_whole_parser() -> "CommandLine":
    """The parser with every option of every command, for which every command's module is imported."""
    parser = _program()
    _add_commands(parser, list(COMMANDS), COMMANDS, with_options=True)
    return parser


def _program() -> "CommandLine":
    parser = CommandLine(prog="ratiba", allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    return parser


def _add_commands(
    parser: "CommandLine", names: Sequence[str], table: Mapping[str, tuple[str, str]], *, with_options: bool
) -> None:
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser, prog="ratiba")
    for name in names:  # a parser takes a millisecond, and no message of a command names the others
        module_name, summary = table[name]
        command = commands.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        if with_options:
            module = import_module(module_name)
            command.description, command.epilog = module.DESCRIPTION, module.EXAMPLE
            module.add_arguments(command)
            command.set_defaults(run=module.run, reporting_parser=command, whole_parser=build_whole_parser)


def _without_help(arguments: Sequence[str]) -> list[str]:
    """``help X`` as ``X --help``."""
    return [*arguments[1:], "--help"] if arguments[:1] == ["help"] else list(arguments)


class _Parser(argparse.ArgumentParser):
    """Suggests what was probably meant by an unknown command, choice or option, and refuses empty values.

    An empty value is a variable of the shell that is not set: no budget, baseline or shard is a silent default. What
    people said may be empty, and ``ratiba decide`` prints a mode whatever it is given.
    """

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if value == "" and action.metavar != "TEXT" and not self.prog.endswith(" decide"):
            raise argparse.ArgumentError(action, "it is empty. Give a value, or leave it out.")
        if action.choices is None or value in action.choices:
            return
        known = [*map(str, action.choices), *(["help"] if isinstance(self, CommandLine) else [])]
        message = f"{value!r} is not one of {', '.join(known)}.{_suggestion(str(value), known)}"
        raise argparse.ArgumentError(action, message)

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Report arguments that the parser does not know, and exit with code 2."""
        options = (word.partition("=")[0] for word in unknown if word.startswith("-"))
        suggested = (_suggestion(option, self._option_string_actions) for option in options)
        self.error(f"unrecognized arguments: {' '.join(unknown)}.{''.join(dict.fromkeys(suggested))}")


class CommandLine(_Parser):
    """Groups the commands in its help, and reports a command's unknown options with that command's usage."""

    def parse_args(  # type: ignore[override] # the overloads of the base differ in the namespace's type only
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parse; for ``argparse``."""
        parsed, unknown = self.parse_known_args(_without_help(sys.argv[1:] if args is None else args), namespace)
        if unknown:
            reporting_parser: _Parser = getattr(parsed, "reporting_parser", self)
            reporting_parser.refuse(unknown)
        if parsed.command is None:  # argparse would report this before an unknown option
            self.print_help(sys.stderr)
            self.exit(2)
        return parsed

    def format_help(self) -> str:
        """The commands by group, on one screen."""
        return "\n".join((self.format_usage().rstrip(), *_grouped_commands(), _LAST_LINE, ""))


def _grouped_commands() -> Iterator[str]:
    for group, names in GROUPS.items():
        for place, name in enumerate(names):
            yield f"{'' if place else group:<12}{name:<11}{COMMANDS[name][1]}"


def _suggestion(word: str, known: Iterable[str]) -> str:
    """What is close to a word; dashes, which all options have in common, do not make two of them alike."""
    import difflib

    meant = {each.lstrip("-"): each for each in known}
    close = difflib.get_close_matches(word.lstrip("-"), meant, n=1)
    return f" Did you mean {meant[close[0]]}?" if close else ""


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
