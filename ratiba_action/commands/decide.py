"""``ratiba decide``: choose the mode from the changed paths. Uses only the standard library."""

import argparse
import gc
import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from ratiba_action.commands.options import add_json, add_repo
from ratiba_action.decide.deciding import Decided, DecideRequest, decide, decide_or_doubt, event_of, request_of
from ratiba_action.errors import PublishError, UsageError
from ratiba_action.model.change import FLOORS, Mode, ModeDecision
from ratiba_action.util.text import printable, unreadable_as_command

DESCRIPTION = """Choose blocking, advisory or skip from the changed paths, and say why.
The command always prints a mode. If it cannot tell what changed, the mode is blocking."""
EXAMPLE = """example:
  ratiba decide --event event.json --event-name pull_request --repo . --json
  ratiba decide --rules 'advisory *
  blocking prompts/'
  ratiba decide --publish    # first step of a workflow: also publishes a skipped run"""

_SHOWN = 50  # most reasons in text output
_YOUNG = 100_000  # objects; of a large change nearly all are kept, and looking for others takes 5 % of the time
_GROUPED = 10  # more reasons than this are folded in a workflow's log
_INPUTS = ("config", "scenarios", "rules", "mode", "pull_request")  # options that are also inputs of the gate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--event", metavar="FILE", help="JSON file with the event's payload (default: GITHUB_EVENT_PATH)"
    )
    parser.add_argument(
        "--event-name",
        metavar="NAME",
        help="name of the event (default: GITHUB_EVENT_NAME; without an event: the working tree)",
    )
    add_repo(parser)
    parser.add_argument(
        "--rules", metavar="TEXT|@FILE", help="mode rules, one 'mode pattern…' per line (default: built-in rules)"
    )
    parser.add_argument(
        "--mode",
        metavar=f"{{{','.join(FLOORS)}}}",
        help="minimum mode; it only makes the mode stricter (default: auto)",
    )
    parser.add_argument(
        "--config",
        metavar="PATH",
        help="configuration file; changes to it are always blocking (default: .github/ratiba.yml; RATIBA_CONFIG)",
    )
    parser.add_argument(
        "--scenarios",
        metavar="DIR",
        help="scenarios folder; changes in it are always blocking (default: scenarios; RATIBA_SCENARIOS)",
    )
    parser.add_argument("--pull-request", metavar="NUMBER", help="pull request of a manual run")
    parser.add_argument(
        "--publish",
        action="store_true",
        help="publish comment, summary and files for a run that is skipped or cannot start",
    )
    add_json(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Decide, print, and write the step's outputs.

    Raises:
        UsageError: the mode is invalid.
    """
    collecting = gc.get_threshold()
    gc.set_threshold(_YOUNG, *collecting[1:])
    try:
        if arguments.publish:
            return _publish(arguments, environment)
        request = read_request(arguments, environment)
        decided = decide(request, environment)
        _print(decided, environment, as_json=arguments.json)
        _write_outputs(decided.decision, request.config, environment)
    finally:
        gc.set_threshold(*collecting)
    return 0


def _publish(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Decide, and publish the report of a run that is skipped or must not start."""
    from ratiba_action.settings.settings import read_settings_leniently  # who only decides need not wait
    from ratiba_action.util.persisted_credentials import persisted_credentials  # for a job's step only

    options = {name.replace("_", "-"): getattr(arguments, name) for name in _INPUTS}
    settings, problems = read_settings_leniently(environment, options)
    stream = sys.stderr if arguments.json else sys.stdout
    _mask(settings.secrets, environment, stream)
    problems = (*problems, *_earlier_results(settings.report_dir, environment))
    decided = decide_or_doubt(request_of(settings, _event_of(arguments, environment)), environment)
    # The container may not see the files with these credentials; masks that are set here apply to the whole job.
    _mask(persisted_credentials(decided.change.git, environment).secrets, environment, stream)
    _print(decided, environment, as_json=arguments.json)
    if not problems and not decided.change.refused and decided.decision.mode is not Mode.SKIP:
        _write_outputs(decided.decision, settings.config, environment)
        return 0
    from ratiba_action.publish.concluding import conclude  # most runs are not concluded here

    return conclude(settings, decided, environment, stream, problems=problems)


def _mask(secrets: Iterable[str], environment: Mapping[str, str], stream: TextIO) -> None:
    """Have the runner mask secrets before anything is printed."""
    if environment.get("GITHUB_ACTIONS") == "true":
        from ratiba_action.github.workflow import WorkflowLog  # only a step has such a log

        for secret in secrets:
            WorkflowLog(stream).mask(secret)


def _earlier_results(folder: str, environment: Mapping[str, str]) -> list[str]:
    """Remove earlier results; returns problems with removing them."""
    if not environment.get("GITHUB_RUN_ID"):
        return []
    from ratiba_action.settings.report_folder import remove_earlier_results  # the settings have imported it

    try:
        remove_earlier_results(Path(folder))
    except PublishError as error:
        return [str(error)]
    return []


def _event_of(arguments: argparse.Namespace, environment: Mapping[str, str]) -> DecideRequest:
    repository = Path(arguments.repo or environment.get("GITHUB_WORKSPACE") or ".")
    return event_of(environment, repository, arguments.event, arguments.event_name)


def read_request(arguments: argparse.Namespace, environment: Mapping[str, str]) -> DecideRequest:
    """Options first, then the environment, then defaults; empty values are ignored.

    Raises:
        UsageError: the mode is invalid.
    """
    return replace(
        _event_of(arguments, environment),
        rules=arguments.rules or environment.get("RATIBA_RULES", ""),
        floor=_floor(arguments.mode or environment.get("RATIBA_MODE") or "auto"),
        config=arguments.config or environment.get("RATIBA_CONFIG") or ".github/ratiba.yml",
        scenarios=arguments.scenarios or environment.get("RATIBA_SCENARIOS") or "scenarios",
        pull_request=arguments.pull_request or environment.get("RATIBA_PULL_REQUEST", ""),
    )


def _floor(value: str) -> Mode | None:
    if value == "auto":
        return None
    from ratiba_action.settings.input_values import parse_mode_floor  # milliseconds, and most runs have no floor

    try:
        return parse_mode_floor(value)
    except ValueError as error:
        raise UsageError(f"The mode is {value!r}.", f"Use {error}; it can only make a run stricter.") from error


def json_text(decision: ModeDecision) -> str:
    """The decision as one line of JSON in ASCII."""
    from ratiba_action.reporting.decision_json import decision_values  # for programs only

    return unreadable_as_command(json.dumps(decision_values(decision))) + "\n"


def text(decided: Decided) -> str:
    """The decision as text."""
    return "".join(f"{line}\n" for line in [*_about(decided), *_reasons(decided.decision)])


def _about(decided: Decided) -> list[str]:
    subject = decided.change.subject
    lines = [f"Mode: {decided.decision.mode}"]
    if subject.pull_request is not None:
        fork = ", from a fork" if decided.change.fork else ""
        author = f" by {subject.author}" if subject.author else ""
        lines.append(f"Pull request {subject.pull_request}{author}{fork}: {subject.title}")
    return [printable(line) for line in lines]


def _reasons(decision: ModeDecision) -> list[str]:
    lines = [
        printable(f"- {reason.mode}: {f'{reason.path}: ' if reason.path else ''}{reason.why}")
        for reason in decision.reasons[:_SHOWN]
    ]
    omitted = len(decision.reasons) - _SHOWN
    if omitted > 0:
        lines.append(f"and {omitted} more, none stricter; print all with --json")
    return lines


def _print(decided: Decided, environment: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json_text(decided.decision))
    elif environment.get("GITHUB_ACTIONS") == "true":
        _log(decided)
    else:
        sys.stdout.write(text(decided))
    sys.stdout.flush()


def _log(decided: Decided) -> None:
    """Print the decision to a workflow's log, where a title could otherwise be read as a command."""
    from ratiba_action.github.workflow import WorkflowLog  # only a step has such a log

    log, reasons = WorkflowLog(sys.stdout), _reasons(decided.decision)
    with log.plain():
        sys.stdout.write("".join(f"{line}\n" for line in _about(decided)))
    with log.group(f"Why ({len(decided.decision.reasons)})") if len(reasons) > _GROUPED else nullcontext(), log.plain():
        sys.stdout.write("".join(f"{line}\n" for line in reasons))


def _write_outputs(decision: ModeDecision, config: str, environment: Mapping[str, str]) -> None:
    """Append ``mode``, ``reasons`` and, for the next step, whether the configuration changed; failure is a warning."""
    target = environment.get("GITHUB_OUTPUT")
    if not target:
        return
    from ratiba_action.github.step_files import (
        remember,
        write_outputs,
    )
    from ratiba_action.reporting.decision_json import reasons_output

    try:
        changed = {"config-changed": "true"} if any(reason.path == config for reason in decision.reasons) else {}
        outputs = {"mode": decision.mode.value, "reasons": reasons_output(decision), **changed}
        write_outputs(remember(Path(target)), outputs)
    except PublishError as error:
        sys.stderr.write(f"ratiba: {printable(str(error))}\n")
