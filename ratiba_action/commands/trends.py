"""The tasks of ``ratiba report`` that are about the metrics history."""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ratiba_action.commands.kept_runs import history_of, say_source
from ratiba_action.commands.options import count_option
from ratiba_action.errors import UsageError
from ratiba_action.history.keeping import create_tables, judge_drift, keep_run, read_agreements, read_trends
from ratiba_action.history.store import MetricsHistory, Series
from ratiba_action.model.codec import encode
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.results_json import read_results
from ratiba_action.reporting.terminal import make_console, print_comment
from ratiba_action.reporting.trends import render_agreements, render_trends
from ratiba_action.settings.settings import Settings


def show_trends(
    arguments: argparse.Namespace, settings: Settings, environment: Mapping[str, str], results: Path
) -> int:
    """Print each metric over the last runs of a branch.

    Args:
        settings: with the ledger's URL, unless kept runs are given or configured.
        results: of the last run, for repository and branch if they are not given.

    Raises:
        UsageError: there is no ledger, or the branch is unknown.
        LedgerError: the history cannot be read.
    """
    kept = history_of(arguments.source, settings, environment)
    history = kept or MetricsHistory(_ledger(settings, _FROM_BRANCH))
    last = count_option("--last", arguments.last)
    series = _series(arguments.branch, settings, environment, results, last)
    # Files were chosen by whoever named them: they may be of a fork, or of a checkout without a remote.
    asked = series if kept is None else replace(series, repository="")
    trends, agreements = read_trends(history, asked), read_agreements(history, asked)
    say_source(history)
    if arguments.json:
        result = {
            "repository": series.repository,
            "gate": series.gate,
            "branch": series.branch,
            "trends": encode(trends),
            "agreements": encode(agreements),
        }
        sys.stdout.write(json.dumps(result, indent=2, allow_nan=False) + "\n")
    else:
        shown = render_trends(trends, series.branch, last) + render_agreements(agreements, judge_drift(agreements))
        print_comment(shown, make_console(sys.stdout, environment))
    return 0


def write_to_history(settings: Settings, results: Path, *, named: bool) -> int:
    """Write a finished run to the history; a run that is in it is not changed.

    Without a run, as on the database owner's machine, only the tables are created.

    Args:
        settings: with the ledger's URL.
        named: whether they were given explicitly, so that they must exist.

    Raises:
        UsageError: there is no ledger.
        ConfigurationError: the results cannot be read.
        LedgerError: they could not be written.
    """
    url = _ledger(settings, _TO_BRANCH)
    if not named and not results.exists():
        create_tables(url)
        sys.stdout.write(f"The tables exist. There is no run in {str(results)!r} to write.\n")
        return 0
    new = keep_run(Redactor(settings.secrets).report(read_results(results)), url)
    sys.stdout.write("The run was written.\n" if new else "The run is in the history already.\n")
    return 0


_FROM_BRANCH = "Without a database, show trends of kept runs: ratiba report --trends --from ratiba-history"
_TO_BRANCH = "Without a database, keep the run on a branch: ratiba report --to-branch ratiba-history"


def _ledger(settings: Settings, otherwise: str) -> str:
    if not settings.ledger_url:
        raise UsageError("ledger-url is empty, so there is no metrics history.", f"Set RATIBA_LEDGER_URL. {otherwise}")
    return settings.ledger_url


def _series(
    branch: str | None,
    settings: Settings,
    environment: Mapping[str, str],
    results: Path,
    last: int,
) -> Series:
    subject = read_results(results).subject if results.exists() else None
    repository = environment.get("GITHUB_REPOSITORY") or (subject.repository if subject else "")
    meant = branch or (subject.base_branch or subject.branch if subject else "")
    if not meant:
        raise UsageError(
            f"Neither --branch nor {str(results)!r} names a branch to show trends of.", "Give --branch main."
        )
    return Series(repository, settings.name, meant, last)
