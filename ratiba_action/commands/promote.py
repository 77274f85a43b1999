"""``ratiba promote``: turn conversations that customers disliked into scenarios to review."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.commands.options import (
    add_json,
    add_max,
    add_repo,
    count_option,
    length_of_time,
    parse_option,
    print_json,
    repository_of,
)
from ratiba_action.errors import UsageError
from ratiba_action.settings.run_deadline import parse_seconds
from ratiba_action.settings.settings import Settings, read_settings
from ratiba_action.util.text import printable

if TYPE_CHECKING:
    from ratiba_action.production.promotion import Promotion, PromotionRequest

DESCRIPTION = """Write a proposed scenario to from_production/ in the scenarios folder for each conversation that
customers disliked: masked, in quarantine, for a person to complete. Existing files are never changed.
The Langfuse keys are read from RATIBA_LANGFUSE_HOST, RATIBA_LANGFUSE_PUBLIC_KEY and RATIBA_LANGFUSE_SECRET_KEY."""
EXAMPLE = """example:
  ratiba promote --since 7d --tenants ../tenants.yaml
  ratiba promote --since 7d --dry-run --json"""

_MAX_COUNT = 9999
_BLOCKED, _INCOMPLETE = 2, 3
_SHOWN = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--since", default="7d", metavar="AGO", help="start of the period, such as 24h, 7d or 2w (default: 7d)"
    )
    parser.add_argument(
        "--tenants",
        metavar="FILE",
        help="YAML file with vertical and names of each tenant; keep it outside the checkout",
    )
    parser.add_argument(
        "--state", metavar="FILE", help="file that records what was promoted (default: in the user's state folder)"
    )
    parser.add_argument(
        "--owner", default="the reviewers", metavar="NAME", help="who reviews the scenarios (default: the reviewers)"
    )
    parser.add_argument(
        "--review-days", default="30", metavar="N", help="length of the quarantine in days (default: 30)"
    )
    add_max(parser, "maximum number of scenarios to write (default: 20)", "20")
    parser.add_argument(
        "--seconds", default="300", metavar="N", help="time limit for Langfuse in seconds (default: 300)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be written, and write nothing")
    add_repo(parser, "this folder's repository")
    parser.add_argument("--scenarios", metavar="PATH", help="scenarios folder (default: scenarios; RATIBA_SCENARIOS)")
    add_json(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Promote, and print the result.

    Returns:
        The exit code: 2 if a tenant is blocked, 3 if the server could not be read completely.

    Raises:
        ConfigurationError: scenarios, inputs or the tenants file are invalid.
        UsageError: an option is invalid, keys are missing, or a file cannot be written.
    """
    from ratiba_action.production.candidate import known_scenarios
    from ratiba_action.production.promotion import promote, promotion_log
    from ratiba_action.run.event_logging import required_access

    settings = read_settings(environment, {"scenarios": arguments.scenarios})
    seconds = parse_option("--seconds", arguments.seconds, parse_seconds)
    access = replace(required_access(settings, environment, "nothing can be promoted"), seconds=seconds)
    request = _request(arguments, settings)
    known = known_scenarios(request.repository, request.folder)
    with promotion_log(_state(arguments.state, request.repository, settings, environment)) as log:
        outcome = promote(access, request, known, log)
    if arguments.json:
        print_json(_as_json(outcome, dry_run=request.dry_run))
    else:
        sys.stdout.write("".join(f"{printable(line)}\n" for line in _lines(outcome, dry_run=request.dry_run)))
    for line in _complaints(outcome):
        sys.stderr.write(f"ratiba: {printable(line)}\n")
    return _BLOCKED if outcome.blocked else _INCOMPLETE if outcome.problem else 0


def _request(arguments: argparse.Namespace, settings: Settings) -> "PromotionRequest":
    from ratiba_action.config.configuration import optional_configuration
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.production.candidate import Review
    from ratiba_action.production.promotion import PromotionRequest
    from ratiba_action.production.tenants import tenants_outside

    repository = repository_of(arguments, {})
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Give the checkout with --repo.")
    configuration = optional_configuration(repository, settings.config, required=False)
    now = datetime.now(UTC)
    days = count_option("--review-days", arguments.review_days, _MAX_COUNT)
    return PromotionRequest(
        repository=repository,
        folder=settings.scenarios,
        since=now - parse_option("--since", arguments.since, length_of_time),
        until=now,
        tenants=tenants_outside(arguments.tenants, repository),
        redactor=Redactor(settings.secrets),
        review=Review(arguments.owner, (now + timedelta(days=days)).date()),
        maximum=count_option("--max", arguments.max, _MAX_COUNT),
        dry_run=arguments.dry_run,
        timezone=(configuration.timezone if configuration is not None else None) or "",
    )


def _state(name: str | None, repository: Path, settings: Settings, environment: Mapping[str, str]) -> Path:
    from ratiba_action.model.canonical import digest
    from ratiba_action.run.provider_keys import state_folder

    if name is None:
        place = digest([str(repository), settings.langfuse_host, settings.langfuse_public_key])[:_SHOWN]
        return state_folder(environment) / "promotions" / f"{place}.jsonl"
    if Path(name).resolve().is_relative_to(repository):
        raise UsageError(f"--state is {name!r}, inside the checkout.", "Give a file outside it.")
    return Path(name)


def _lines(outcome: "Promotion", *, dry_run: bool) -> list[str]:
    lines = [f"{'Would be written' if dry_run else 'Written'}: {path}" for path in outcome.written]
    lines += [f"Exists already: {path}" for path in outcome.duplicates]
    lines += [f"No scenario can be made of {trace}: {why}" for trace, why in outcome.unusable.items()]
    if outcome.left_out:
        lines.append(f"Left out, tenants with promote: false: {outcome.left_out}.")
    if outcome.left:
        lines.append(f"Left for the next run: {outcome.left}.")
    lines.append(f"{len(outcome.written)} candidates of {outcome.negative} thumbs-down.")
    if outcome.written:
        lines.append(
            "Review each, add assertions, remove the tag `proposed` and the quarantine, then run: ratiba validate"
        )
    return lines


def _complaints(outcome: "Promotion") -> list[str]:
    lines = [f"The tenant {tenant!r} is blocked. {why}" for tenant, why in outcome.blocked.items()]
    if outcome.problem:
        continued = "Written scenarios are kept; the next run continues."
        lines.append(f"Langfuse could not be read completely: {outcome.problem}. {continued}")
    return lines


def _as_json(outcome: "Promotion", *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "negative": outcome.negative,
        "written": outcome.written,
        "duplicates": outcome.duplicates,
        "blocked": [{"tenant": tenant, "why": why} for tenant, why in outcome.blocked.items()],
        "unusable": [{"trace": trace, "why": why} for trace, why in outcome.unusable.items()],
        "left_out": outcome.left_out,
        "left": outcome.left,
        "problem": outcome.problem,
    }
