"""``ratiba decide``: choose the mode from the changed paths. Standard library only."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ratiba_action.core.model.change import Mode, ModeDecision, Reason
from ratiba_action.core.printable import printable
from ratiba_action.deciding import Decided, DecideRequest, decide
from ratiba_action.errors import PublishError, UsageError

DESCRIPTION = """Choose blocking, advisory or skip from the paths that a change touches, and say why.
A mode is always printed: whatever cannot be found out makes it blocking."""
EXAMPLE = """example:
  ratiba decide --event event.json --event-name pull_request --repo . --json
  ratiba decide --rules 'advisory *
  blocking prompts/'"""

_SHOWN = 50  # reasons on a terminal
_OUTPUT_REASONS = 200  # reasons in a step's output, which is bounded


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--event", metavar="FILE", help="payload of the event (default: GITHUB_EVENT_PATH)")
    parser.add_argument("--event-name", metavar="NAME", help="its name (default: GITHUB_EVENT_NAME; none: work tree)")
    parser.add_argument("--repo", metavar="DIR", help="the checkout (default: GITHUB_WORKSPACE or this folder)")
    parser.add_argument("--rules", metavar="TEXT|@FILE", help="one 'mode pattern…' per line (default: built in)")
    parser.add_argument("--mode", metavar="FLOOR", help="auto, advisory or blocking; can only make the mode stricter")
    parser.add_argument("--config", metavar="PATH", help="the gate's configuration, protected")
    parser.add_argument("--scenarios", metavar="DIR", help="the folder of scenarios, protected")
    parser.add_argument("--pull-request", metavar="NUMBER", help="pull request that a manual run is about")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Decide, print, and write the step's outputs.

    Raises:
        UsageError: the mode is not a floor that exists.
    """
    decided = decide(read_request(arguments, environment), environment)
    sys.stdout.write(json_text(decided.decision) if arguments.json else text(decided))
    target = environment.get("GITHUB_OUTPUT")
    if target:
        _write_outputs(Path(target), decided.decision)
    return 0


def read_request(arguments: argparse.Namespace, environment: Mapping[str, str]) -> DecideRequest:
    """Options first, then the environment, then the defaults; an empty value counts as none.

    Raises:
        UsageError: the mode is not a floor that exists.
    """
    event = arguments.event or environment.get("GITHUB_EVENT_PATH")
    return DecideRequest(
        repository=Path(arguments.repo or environment.get("GITHUB_WORKSPACE") or "."),
        event_name=arguments.event_name or ("" if arguments.event else environment.get("GITHUB_EVENT_NAME", "")),
        event_path=Path(event) if event else None,
        rules=arguments.rules or environment.get("RATIBA_RULES", ""),
        floor=_floor(arguments.mode or environment.get("RATIBA_MODE") or "auto"),
        config=arguments.config or environment.get("RATIBA_CONFIG") or ".github/ratiba.yml",
        scenarios=arguments.scenarios or environment.get("RATIBA_SCENARIOS") or "scenarios",
        pull_request=arguments.pull_request or environment.get("RATIBA_PULL_REQUEST", ""),
    )


def _floor(value: str) -> Mode | None:
    if value == "auto":
        return None
    from ratiba_action.settings import parse_mode_floor  # noqa: PLC0415 - milliseconds, and most runs have no floor

    try:
        return parse_mode_floor(value)
    except ValueError as error:
        raise UsageError(f"The mode is {value!r}.", f"Use {error}; it can only make a run stricter.") from error


def as_json(decision: ModeDecision) -> dict[str, Any]:
    """The decision in the shape that ``--json`` prints."""
    return {
        "mode": decision.mode.value,
        "reasons": [_reason(one) for one in decision.reasons],
        "dependencies": [
            {
                "package": printable(one.package),
                "from": _shown(one.before),
                "to": _shown(one.after),
                "change": one.change,
                "file": printable(one.file),
            }
            for one in decision.dependencies
        ],
    }


def _shown(version: str | None) -> str | None:
    return None if version is None else printable(version)


def _reason(reason: Reason) -> dict[str, str]:
    return {
        "path": printable(reason.path),
        "rule": printable(reason.rule),
        "mode": reason.mode.value,
        "why": printable(reason.why),
    }


def json_text(decision: ModeDecision) -> str:
    """The decision as one line of JSON in ASCII."""
    return json.dumps(as_json(decision)) + "\n"


def text(decided: Decided) -> str:
    """The decision for a person."""
    decision, subject = decided.decision, decided.change.subject
    lines = [f"Mode: {decision.mode}"]
    if subject.pull_request is not None:
        fork = ", from a fork" if decided.change.fork else ""
        about = f"Pull request {subject.pull_request} by {subject.author}{fork}: {subject.title}"
        lines.append(printable(about))
    for one in decision.reasons[:_SHOWN]:
        where = f"{one.path}: " if one.path else ""
        lines.append(printable(f"- {one.mode}: {where}{one.why}"))
    hidden = len(decision.reasons) - _SHOWN
    if hidden > 0:
        lines.append(f"and {hidden} more, none of them stricter; --json prints them all")
    return "\n".join(lines) + "\n"


def _write_outputs(target: Path, decision: ModeDecision) -> None:
    """Append ``mode`` and ``reasons`` to the step's output file; a failure there is only a warning."""
    from ratiba_action.github.step_file import remember  # noqa: PLC0415 - only a step has outputs
    from ratiba_action.github.step_files import write_outputs  # noqa: PLC0415 - only a step has outputs

    reasons = json.dumps([_reason(one) for one in decision.reasons[:_OUTPUT_REASONS]])
    try:
        write_outputs(remember(target), {"mode": decision.mode.value, "reasons": reasons})
    except PublishError as error:
        sys.stderr.write(f"ratiba: {printable(str(error))}\n")
