"""Reads the options of ``ratiba gate``: the change to decide about, and the scenarios to run."""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ratiba_action.decide.deciding import DecideRequest, event_of, request_of
from ratiba_action.errors import UsageError
from ratiba_action.github.clients import by_pygithub
from ratiba_action.model.change import Mode
from ratiba_action.reporting.results_json import load_report
from ratiba_action.run.inputs import Choice
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
