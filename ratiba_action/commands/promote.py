"""``ratiba promote``: conversations that customers disliked become candidates for scenarios."""

import argparse
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.commands.options import parse_option
from ratiba_action.errors import UsageError
from ratiba_action.settings.run_deadline import parse_seconds
from ratiba_action.settings.settings import Settings, read_settings
from ratiba_action.util.text import printable

if TYPE_CHECKING:
    from ratiba_action.production.promotion import Promotion, PromotionRequest

DESCRIPTION = """Write a candidate below from_production/ in the folder of the scenarios for each conversation that
customers disliked: masked, in quarantine, and for a person to complete. No file that is there is ever changed.
The keys of Langfuse are read from RATIBA_LANGFUSE_HOST, RATIBA_LANGFUSE_PUBLIC_KEY and RATIBA_LANGFUSE_SECRET_KEY."""
EXAMPLE = """example:
  ratiba promote --since 7d --tenants ../tenants.yaml
  ratiba promote --since 7d --dry-run --json"""

_AGO = re.compile(r"([1-9][0-9]{0,3})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_BLOCKED, _INCOMPLETE = 2, 3
_SHOWN = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--since", default="7d", metavar="AGO", help="feedback from then on: 24h, 7d, 2w (default: 7d)")
    parser.add_argument("--tenants", metavar="FILE", help="verticals and names by tenant, outside the checkout")
    parser.add_argument(
        "--state", metavar="FILE", help="what was promoted already (default: in the user's state folder)"
    )
    parser.add_argument("--owner", default="the reviewers", metavar="NAME", help="who completes the candidates")
    parser.add_argument("--review-days", default="30", metavar="N", help="they decide nothing so long (default: 30)")
    parser.add_argument("--most", default="20", metavar="N", help="candidates that are written at most (default: 20)")
    parser.add_argument("--seconds", default="300", metavar="N", help="everything may take so long (default: 300)")
    parser.add_argument("--dry-run", action="store_true", help="say what would be written; write nothing")
    parser.add_argument("--repo", metavar="DIR", help="the checkout (default: this folder)")
    parser.add_argument("--scenarios", metavar="PATH", help="folder of the scenarios (RATIBA_SCENARIOS)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Promote, and print what came of it.

    Returns:
        The exit code: 2 when a tenant is blocked, 3 when the server could not be read to its end.

    Raises:
        ConfigurationError: scenarios, inputs or the file of tenants are wrong.
        UsageError: an option is wrong, there are no keys, or something cannot be written.
    """
    from ratiba_action.production.candidate import known_scenarios  # noqa: PLC0415 - for this command only
    from ratiba_action.production.promotion import (  # noqa: PLC0415 - loaded where it is used
        promote,
        promotion_log,
    )
    from ratiba_action.run.event_logging import required_access  # noqa: PLC0415 - the same

    settings = read_settings(environment, {"scenarios": arguments.scenarios})
    seconds = parse_option("--seconds", arguments.seconds, parse_seconds)
    access = replace(required_access(settings, environment, "nothing can be promoted"), seconds=seconds)
    request = _request(arguments, settings)
    known = known_scenarios(request.repository, request.folder)
    with promotion_log(_state(arguments.state, request.repository, settings, environment)) as log:
        came = promote(access, request, known, log)
    if arguments.json:
        sys.stdout.write(json.dumps(_as_json(came, dry_run=request.dry_run), indent=2) + "\n")
    else:
        sys.stdout.write("".join(f"{printable(line)}\n" for line in _told(came, dry_run=request.dry_run)))
    for line in _complaints(came):
        sys.stderr.write(f"ratiba: {printable(line)}\n")
    return _BLOCKED if came.blocked else _INCOMPLETE if came.problem else 0


def _request(arguments: argparse.Namespace, settings: Settings) -> "PromotionRequest":
    from ratiba_action.privacy.masking import Redactor  # noqa: PLC0415 - for this command only
    from ratiba_action.production.candidate import Review  # noqa: PLC0415 - the same
    from ratiba_action.production.promotion import PromotionRequest  # noqa: PLC0415 - the same
    from ratiba_action.production.tenants import tenants_outside  # noqa: PLC0415 - the same

    repository = Path(arguments.repo or ".").resolve()
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Name the checkout with --repo.")
    now = datetime.now(UTC)
    days = parse_option("--review-days", arguments.review_days, _whole_number)
    return PromotionRequest(
        repository=repository,
        folder=settings.scenarios,
        since=now - parse_option("--since", arguments.since, _duration),
        until=now,
        tenants=tenants_outside(arguments.tenants, repository),
        redactor=Redactor(settings.secrets),
        review=Review(arguments.owner, (now + timedelta(days=days)).date()),
        most=parse_option("--most", arguments.most, _whole_number),
        dry_run=arguments.dry_run,
    )


def _duration(text: str) -> timedelta:
    match = _AGO.fullmatch(text.strip())
    if match is None:
        raise ValueError("a number of hours, days or weeks such as 24h, 7d or 2w")
    return int(match[1]) * _UNITS[match[2]]


def _whole_number(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text.strip()):
        raise ValueError("a whole number from 1 to 9999")
    return int(text)


def _state(name: str | None, repository: Path, settings: Settings, environment: Mapping[str, str]) -> Path:
    from ratiba_action.model.canonical import digest  # noqa: PLC0415 - for this command only
    from ratiba_action.run.provider_keys import state_folder  # noqa: PLC0415 - the same

    if name is None:
        place = digest([str(repository), settings.langfuse_host, settings.langfuse_public_key])[:_SHOWN]
        return state_folder(environment) / "promotions" / f"{place}.jsonl"
    if Path(name).resolve().is_relative_to(repository):
        raise UsageError(f"--state is {name!r}, inside the checkout.", "Name a file outside it.")
    return Path(name)


def _told(came: "Promotion", *, dry_run: bool) -> list[str]:
    lines = [f"{'Would be written' if dry_run else 'Written'}: {path}" for path in came.written]
    lines += [f"There already: {path}" for path in came.duplicates]
    lines += [f"No scenario can be made of {trace}: {why}" for trace, why in came.unusable.items()]
    if came.left_out:
        lines.append(f"Left out, since their tenants are not promoted: {came.left_out}.")
    if came.left:
        lines.append(f"For another run: {came.left}.")
    lines.append(f"{len(came.written)} candidates of {came.negative} thumbs-down.")
    if came.written:
        lines.append(
            "Read each, say what must hold in it, take the tag and the quarantine away, run `ratiba validate`."
        )
    return lines


def _complaints(came: "Promotion") -> list[str]:
    lines = [f"The tenant {tenant!r} is blocked. {why}" for tenant, why in came.blocked.items()]
    if came.problem:
        goes_on = "What was written stays; the next run goes on behind it."
        lines.append(f"Langfuse could not be read to the end: {came.problem}. {goes_on}")
    return lines


def _as_json(came: "Promotion", *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "negative": came.negative,
        "written": came.written,
        "duplicates": came.duplicates,
        "blocked": [{"tenant": tenant, "why": why} for tenant, why in came.blocked.items()],
        "unusable": [{"trace": trace, "why": why} for trace, why in came.unusable.items()],
        "left_out": came.left_out,
        "left": came.left,
        "problem": came.problem,
    }
