"""The console script: reads ``os.environ``, runs one command, and catches whatever no other place caught."""

import os
import sys
import traceback
from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING

from ratiba_action.cli import COMMANDS, build_parser
from ratiba_action.core.printable import printable_lines
from ratiba_action.errors import ConfigurationError, RatibaError, UsageError
from ratiba_action.interruption import interruptible
from ratiba_action.settings import read_settings_leniently

if TYPE_CHECKING:
    from ratiba_action.core.masking import Redactor

_REPORT_AT = "the issues of the ratiba-eval-gate repository"
_UNEXPECTED = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this process; returns its exit code."""
    with interruptible():
        return run(sys.argv[1:] if arguments is None else arguments, os.environ)


def run(
    arguments: Sequence[str], environment: MutableMapping[str, str], commands: Mapping[str, tuple[str, str]] = COMMANDS
) -> int:
    """Run one command with a given environment; returns its exit code.

    Args:
        arguments: of the command line, without the program's name.
        environment: variables that the command may read.
        commands: the table of commands.
    """
    try:
        parsed = build_parser(arguments, commands).parse_args(arguments)
        code: int = parsed.run(parsed, environment)
    except RatibaError as error:
        sys.stderr.write(f"ratiba: {printable_lines(_shown(error, environment))}\n")
        return error.exit_code
    except BrokenPipeError:
        # Whoever read the output has gone; Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _UNEXPECTED
    except Exception as error:  # noqa: BLE001 - the last resort, which says what to do
        sys.stderr.write(f"ratiba: unexpected {type(error).__name__}; please report it at {_REPORT_AT}.\n")
        if environment.get("RATIBA_DEBUG") == "1":
            sys.stderr.write(_redactor(environment).text("".join(traceback.format_exception(error))))
        else:
            sys.stderr.write("Set RATIBA_DEBUG=1 to see where it happened.\n")
        return _UNEXPECTED
    return code


def _shown(error: RatibaError, environment: Mapping[str, str]) -> str:
    """What a person typed or wrote is shown as it is; what a system, a server or a model said may name anybody."""
    theirs = isinstance(error, UsageError | ConfigurationError)
    return str(error) if theirs else _redactor(environment).text(str(error))


def _redactor(environment: Mapping[str, str]) -> "Redactor":
    """For what ends a command before it has one, or in spite of it."""
    from ratiba_action.core.masking import Redactor  # noqa: PLC0415 - `--help` is quicker without it

    return Redactor(read_settings_leniently(environment, {})[0].secrets)
