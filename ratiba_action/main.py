"""The console script: takes the secrets out of ``os.environ``, runs one command, catches what nobody else caught.

Whatever takes time to import is imported after the signals' handlers are installed: a signal that comes before them is
lost in a container, whose first process has no default action for it.
"""

import contextlib
import errno
import gc
import os
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING

from ratiba_action.util.interruption import CancelledBySignal, Interruption, current

if TYPE_CHECKING:
    from ratiba_action.errors import RatibaError
    from ratiba_action.privacy.masking import Redactor

_YOUNG = 10_000
"""New objects after which the garbage collector looks at them. What a command imports and nearly all objects of a large
suite live until the end, so that Python's 700 only costs time: a tenth of a merge of 10,000 scenarios."""

_REPORT_AT = "the issues of the ratiba-eval-gate repository"
_UNEXPECTED = 3
_CANCELLED = 3
_USAGE = 2
_NO_PATH = (errno.ENAMETOOLONG, errno.ELOOP)
_REPORTS_ITSELF = "gate"
"""The command that publishes a report however early it is cancelled; a signal ends every other one where it is.

In the action's container it does so from the moment when it knows what it reports on. Before that it ends at once, and
the action's last step says what happened: that one has less to load.
"""


def main(arguments: Sequence[str] | None = None, kept: object = None) -> int:
    """Run the command line of this process; returns its exit code.

    Args:
        arguments: of the command line, without the program's name; None for the process's own.
        kept: what a run of the gate finds started; see ``gate_run.run``.
    """
    interruption = Interruption()
    interruption.install()
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
    from ratiba_action.errors import RatibaError
    from ratiba_action.settings.environment import protect_process, take_secrets  # the handlers come first
    from ratiba_action.settings.step_output import keep_harmless, leave

    # Before the first child, which the filter of the output is: what is protected now is so in its copy, too.
    protect_process()
    keep_harmless(os.environ)
    try:
        environment = take_secrets(os.environ)
    except RatibaError as error:
        sys.stderr.write(f"ratiba: {error}\n")
        return error.exit_code
    code = run(sys.argv[1:] if arguments is None else arguments, environment, kept=kept)
    if interruption.name is not None:
        leave(code)  # what is left of the run is not waited for
    if arguments is None:
        gc.freeze()  # the process ends: looking for garbage in a large run once more would take a tenth of a second
    return code


def run(
    arguments: Sequence[str],
    environment: MutableMapping[str, str],
    commands: Mapping[str, tuple[str, str]] | None = None,
    kept: object = None,
) -> int:
    """Run one command with a given environment; returns its exit code.

    Args:
        arguments: of the command line, without the program's name.
        environment: variables that the command may read.
        commands: the table of commands; None for the program's own.
        kept: see ``main``.
    """
    from ratiba_action.cli import COMMANDS, build_parser  # the handlers come first
    from ratiba_action.errors import RatibaError
    from ratiba_action.settings.step_output import COMMANDS_FILE
    from ratiba_action.util.text import printable_lines

    interruption = current()
    reports = arguments[:1] == [_REPORTS_ITSELF] and not environment.get(COMMANDS_FILE)
    try:
        with contextlib.nullcontext() if reports else interruption.raising():
            parsed = build_parser(arguments, commands or COMMANDS).parse_args(arguments)
            parsed.kept = kept
            code: int = parsed.run(parsed, environment)
    except CancelledBySignal:
        sys.stderr.write(f"ratiba: The run was cancelled by {interruption.name}. Run it again.\n")
        return _CANCELLED
    except RatibaError as error:
        sys.stderr.write(f"ratiba: {printable_lines(_masked_message(error, environment))}\n")
        return error.exit_code
    except BrokenPipeError:
        # Whoever read the output has gone; Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _UNEXPECTED
    except Exception as error:  # noqa: BLE001 - the last resort, which says what to do
        if isinstance(error, OSError) and error.errno in _NO_PATH:
            shown = printable_lines(f"{error.filename!s:.80}")
            sys.stderr.write(f"ratiba: {shown} is no path: {error.strerror}. Give a shorter one without loops.\n")
            return _USAGE
        sys.stderr.write(f"ratiba: unexpected {type(error).__name__}; please report it at {_REPORT_AT}.\n")
        if environment.get("RATIBA_DEBUG") == "1":
            import traceback  # for this alone

            sys.stderr.write(_redactor(environment).text("".join(traceback.format_exception(error))))
        else:
            sys.stderr.write("Set RATIBA_DEBUG=1 to see where it happened.\n")
        return _UNEXPECTED
    return code


def _masked_message(error: "RatibaError", environment: Mapping[str, str]) -> str:
    """What a person typed or wrote is shown as it is; what a system, a server or a model said may name anybody."""
    from ratiba_action.errors import ConfigurationError, UsageError  # the handlers come first

    theirs = isinstance(error, UsageError | ConfigurationError)
    return str(error) if theirs else _redactor(environment).text(str(error))


def _redactor(environment: Mapping[str, str]) -> "Redactor":
    """For what ends a command before it has one, or in spite of it."""
    from ratiba_action.privacy.masking import Redactor  # `--help` is quicker without it
    from ratiba_action.settings.settings import read_settings_leniently

    return Redactor(read_settings_leniently(environment, {})[0].secrets)
