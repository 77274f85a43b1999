"""``ratiba drift``: do live scores drift from the golden baseline, or from the window before?"""

import argparse
import json
import math
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.commands.alerts import alert_kinds, send_alert
from ratiba_action.commands.options import (
    add_json,
    between,
    count_option,
    length_of_time,
    moment,
    parse_option,
    share,
)
from ratiba_action.errors import InfrastructureError
from ratiba_action.settings.run_deadline import parse_seconds
from ratiba_action.settings.settings import Settings, read_settings
from ratiba_action.util.text import printable

if TYPE_CHECKING:
    from ratiba_action.production.drift import DriftRules, Measurement

DESCRIPTION = """Compare the newest scores of `ratiba sample` with those of the golden scenarios and of the window
before. For each metric: Mann-Whitney with Holm's correction, Kolmogorov-Smirnov, and Cliff's delta with its interval.
Scores of another judge or version begin a new series. The command measures nothing and costs nothing.
Without --samples the scores are read from Langfuse, with the keys in RATIBA_LANGFUSE_HOST,
RATIBA_LANGFUSE_PUBLIC_KEY and RATIBA_LANGFUSE_SECRET_KEY."""
EXAMPLE = """example:
  ratiba drift --baseline main/results.json --fail
  ratiba drift --samples events.jsonl --window 7d --until 2026-11-22T06:00:00+03:00 --json"""

_INCOMPLETE = 3
_FIRST_YEAR = 2000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--baseline", metavar="RESULTS", help="a results.json of the golden scenarios, or its folder")
    parser.add_argument(
        "--samples",
        metavar="FILE",
        action="append",
        default=[],
        help="an events.jsonl of `ratiba sample`; may be repeated",
    )
    parser.add_argument("--window", metavar="TIME", default="7d", help="length of a window, such as 24h (default: 7d)")
    parser.add_argument("--until", metavar="WHEN", default="0m", help="end: a time, or how long ago (default: now)")
    parser.add_argument(
        "--share", metavar="0..1", default="0.05", help="the --share of `ratiba sample`; 1 for all (default: 0.05)"
    )
    parser.add_argument(
        "--minimum", metavar="N", default="200", help="conversations that a window needs (default: 200)"
    )
    parser.add_argument(
        "--level", metavar="P", default="0.05", help="significance over all metrics of a reference (default: 0.05)"
    )
    parser.add_argument(
        "--effect",
        metavar="POINTS",
        default="3",
        help="smallest change of a mean that counts, of 100; kolmogorov-smirnov does not look at it (default: 3)",
    )
    parser.add_argument(
        "--test",
        default="mann-whitney",
        choices=["mann-whitney", "kolmogorov-smirnov"],
        help="what decides; kolmogorov-smirnov finds other changes of the distribution too (default: mann-whitney)",
    )
    parser.add_argument(
        "--config",
        metavar="PATH",
        help="the configuration with `notifications` (default: .github/ratiba.yml; RATIBA_CONFIG)",
    )
    parser.add_argument("--seconds", metavar="N", default="120", help="time limit for reading Langfuse (default: 120)")
    parser.add_argument("--fail", action="store_true", help="exit with 1 if a metric drifted or was lost")
    add_json(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Compare and print.

    Returns:
        The exit code: 1 with --fail if a metric drifted or was lost, 3 if no metric could be compared, else 0.

    Raises:
        UsageError: an option is invalid, or there are no keys.
        RatibaError: baseline or samples cannot be read.
    """
    from ratiba_action.history.files import read_named_runs
    from ratiba_action.model.note import Alert, AlertKind
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.production.drift import drift_json, drift_lines, find_drift

    settings, rules = read_settings(environment, {"config": arguments.config}), _rules(arguments)
    baseline = read_named_runs([arguments.baseline])[0] if arguments.baseline else None
    kinds = alert_kinds(settings, required=bool(arguments.config))
    drift = find_drift(_measurements(arguments, settings, environment, rules), baseline, rules)
    redactor = Redactor(settings.secrets)
    if arguments.json:
        sys.stdout.write(json.dumps(drift_json(drift, redactor), indent=2, allow_nan=False) + "\n")
    else:
        sys.stdout.write("".join(f"{printable(line)}\n" for line in drift_lines(drift, redactor)))
    if drift.findings:
        names = ", ".join(f"{entry.metric} ({entry.reference}: {entry.status.value})" for entry in drift.findings)
        send_alert(settings, environment, Alert(AlertKind.DRIFT, f"Scores of production drift: {names}"), kinds)
    if arguments.fail and drift.findings:
        return 1
    return 0 if drift.compared else _INCOMPLETE


def _measurements(
    arguments: argparse.Namespace, settings: Settings, environment: Mapping[str, str], rules: "DriftRules"
) -> "tuple[Measurement, ...]":
    from dataclasses import replace

    from ratiba_action.observability.langfuse_asking import LangfuseError
    from ratiba_action.production.drift import read_samples, sampled_scores
    from ratiba_action.run.event_logging import required_access

    if arguments.samples:
        return read_samples(map(Path, arguments.samples))
    seconds = parse_option("--seconds", arguments.seconds, parse_seconds)
    access = replace(required_access(settings, environment, "scores cannot be read"), seconds=seconds)
    try:
        return sampled_scores(access, rules.since - rules.window, rules.until)
    except LangfuseError as error:
        problem = f"Scores could not be read from {access.host}: {error}."
        raise InfrastructureError(problem, "Run it again, or give --samples.") from error


def _moment(text: str, now: datetime) -> datetime:
    """The end of the window; two windows before it are looked at, so that it is no year of antiquity."""
    found = moment(text, now)
    if found.year < _FIRST_YEAR:
        raise ValueError(f"a time from {_FIRST_YEAR} on")
    return found


def _rules(arguments: argparse.Namespace) -> "DriftRules":
    from ratiba_action.production.drift import DriftRules, DriftTest

    now = datetime.now(UTC)
    return DriftRules(
        until=parse_option("--until", arguments.until, lambda text: _moment(text, now)),
        window=parse_option("--window", arguments.window, length_of_time),
        minimum=count_option("--minimum", arguments.minimum),
        level=parse_option("--level", arguments.level, between),
        effect=parse_option("--effect", arguments.effect, _points) / 100,
        test=DriftTest(arguments.test),
        share=parse_option("--share", arguments.share, share),
    )


def _points(text: str) -> float:
    points = _number(text)
    if not 0 <= points <= 100:  # noqa: PLR2004 - the whole scale
        raise ValueError("points from 0 to 100")
    return points


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
