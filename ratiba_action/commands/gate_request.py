"""Reads the options of ``ratiba gate``: the change to decide about, and the scenarios to run."""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ratiba_action.decide.deciding import DecideRequest, event_of, problems_of_options, request_of
from ratiba_action.errors import UsageError
from ratiba_action.github.clients import by_pygithub
from ratiba_action.history.files import NO_BASELINE, read_named_baseline
from ratiba_action.model.change import Mode
from ratiba_action.reporting.results_json import load_report
from ratiba_action.run.earlier_runs import AUTO, NONE
from ratiba_action.run.inputs import Choice, RunRequest
from ratiba_action.settings.settings import Settings
from ratiba_action.verdict.trials import Standing, outcomes_of

_OTHERS = "Run: ratiba gate. Or name scenarios with --scenario."


def decide_request(
    arguments: argparse.Namespace, environment: Mapping[str, str], settings: Settings, repository: Path
) -> DecideRequest:
    """The input of the decision: event, checkout, rules and minimum mode."""
    event = event_of(environment, repository, arguments.event, arguments.event_name)
    return replace(
        request_of(settings, event),
        floor=_floor(arguments, settings),
        floor_why=_floor_why(arguments),
        connect=by_pygithub,
    )


def problems_of_given(
    arguments: argparse.Namespace, environment: Mapping[str, str], settings: Settings, repository: Path
) -> tuple[str, ...]:
    """What is wrong with the rules, the event and the files that somebody has named, before anything is run.

    Args:
        arguments: of the command.
        environment: of the process.
        settings: its inputs.
        repository: the checkout.
    """
    request = decide_request(arguments, environment, settings, repository)
    problems = list(problems_of_options(request, environment, event=bool(arguments.event)))
    out = Path(arguments.baseline_out) if arguments.baseline_out else None
    if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        wrong = "is a folder" if out.is_dir() else "lies in a folder that does not exist"
        problems.append(f"--baseline-out: {str(out)!r} {wrong}. Give a file in a folder that exists.")
    return tuple(problems)


def problems_of_baseline(request: RunRequest) -> tuple[str, ...]:
    """Why a baseline that somebody has named cannot be compared with.

    What the change itself edits there is no mistake of theirs: it is read as the base has it, or the run is incomplete.
    """
    named, change = request.settings.baseline, request.decided.change
    if named in (AUTO, NONE):
        return ()
    found = read_named_baseline(named, request.repository, change.files, git=change.git, pooled=1)
    if found.runs or found.lost is not None:
        return ()
    wrong = [note.removeprefix(NO_BASELINE) for note in found.notes if note.startswith(NO_BASELINE)]
    remedy = "Name results of an earlier run, or give auto or none."
    return tuple(f"baseline (RATIBA_BASELINE): {why} {remedy}" for why in wrong)


def _floor(arguments: argparse.Namespace, settings: Settings) -> Mode | None:
    """The minimum mode; blocking if scenarios were selected by option, so that they run whatever has changed."""
    if arguments.scenario or arguments.tag or arguments.failed:
        return Mode.BLOCKING
    return settings.mode if settings.mode is not Mode.SKIP else None


def _floor_why(arguments: argparse.Namespace) -> str:
    """Which options require a blocking run; empty if none do."""
    chosen = (("--scenario", arguments.scenario), ("--tag", arguments.tag), ("--failed", arguments.failed))
    named = [option for option, value in chosen if value]
    return f"{' and '.join(named)} selects the scenarios to run" if named else ""


def chosen_scenarios(arguments: argparse.Namespace, settings: Settings) -> Choice:
    """The selected scenarios and tags, including the scenarios of --failed.

    Raises:
        UsageError: there is no last run, or everything passed in it.
    """
    scenarios = list(arguments.scenario)
    if arguments.failed:
        scenarios += _not_passed(Path(settings.report_dir) / "results.json")
    return Choice(tuple(scenarios), tuple(arguments.tag))


def _not_passed(results: Path) -> list[str]:
    """Ids of the scenarios that did not pass in the last run.

    Raises:
        UsageError: there is no last run, or everything passed in it.
    """
    try:
        report = load_report(results.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"The last run's {str(results)!r} cannot be read: {error}.", _OTHERS) from error
    if not report.results:
        raise UsageError(f"The last run in {str(results)!r} measured nothing.", _OTHERS)
    ids = sorted(
        {outcome.scenario.id for outcome in outcomes_of(report.results) if outcome.standing is not Standing.PASSED}
    )
    if not ids:
        raise UsageError(f"Every scenario of the last run in {str(results)!r} passed.", _OTHERS)
    return ids
