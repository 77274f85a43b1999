"""``ratiba sample``: measure a sample of production conversations, and write the scores to their traces."""

import argparse
import sys
from collections.abc import Mapping, MutableMapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.commands.options import add_json, add_repo, moment, parse_option, print_json, repository_of, share
from ratiba_action.errors import UsageError
from ratiba_action.model.canonical import digest
from ratiba_action.model.scenario import SystemType
from ratiba_action.settings.run_deadline import parse_seconds, read_deadline
from ratiba_action.settings.settings import Settings, read_settings
from ratiba_action.util.text import printable

if TYPE_CHECKING:
    from ratiba_action.observability.langfuse_asking import LangfuseAccess
    from ratiba_action.production.sample_reading import SampleRules
    from ratiba_action.production.sampling import SampleRun
    from ratiba_action.production.tenants import TenantFacts

DESCRIPTION = """Measure production conversations: a share of them, and each one with an error or negative feedback. No
system is run. Judges are paid from the budget, and the scores are written to the traces in Langfuse. For conversations
in files, the scores are in events.jsonl, and each one with a slow reply or low confidence is measured too.
The Langfuse keys are read from RATIBA_LANGFUSE_HOST, RATIBA_LANGFUSE_PUBLIC_KEY and RATIBA_LANGFUSE_SECRET_KEY."""
EXAMPLE = """example:
  ratiba sample
  ratiba sample --since 6h --share 0.05 --budget-usd 2
  ratiba sample conversations.jsonl spans.json --share 1
  ratiba sample --since 2026-11-22T06:00:00+03:00 --until 2026-11-22T12:00:00+03:00 --json"""

_INPUTS = ("config", "budget-usd", "report-dir", "name")
_FIRST = timedelta(hours=6)
_LATEST = timedelta(minutes=2)
"""How long before now the period ends: a server needs half a minute to show new traces."""
_OVERLAP = timedelta(days=1)
"""Overlap with the last period, for conversations that ended later; measured ones are not measured again."""
_SECONDS = "120"
_BLOCKED, _INCOMPLETE = 2, 3
_SHOWN = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="JSON Lines of conversations, or OpenTelemetry exports (OTLP in JSON), instead of Langfuse",
    )
    parser.add_argument("--slow", metavar="SECONDS", default="10", help="flag replies that took longer (default: 10)")
    parser.add_argument(
        "--low-confidence", metavar="0..1", default="0.5", help="flag replies of less confidence (default: 0.5)"
    )
    parser.add_argument(
        "--since", metavar="WHEN", help="start: 6h, 7d, or a time (default: a day before the last run's end, or 6h)"
    )
    parser.add_argument("--until", metavar="WHEN", help="end: a time, or how long ago (default: 2m)")
    parser.add_argument(
        "--share",
        metavar="0..1",
        default="0.05",
        help="share of conversations to measure, also by system type: 0.05,rag=0.2 (default: 0.05)",
    )
    parser.add_argument(
        "--budget-usd", metavar="VALUE", help="maximum cost in US dollars (default: 20; RATIBA_EVAL_BUDGET_USD)"
    )
    parser.add_argument(
        "--config", metavar="PATH", help="the gate's configuration file (default: .github/ratiba.yml; RATIBA_CONFIG)"
    )
    parser.add_argument(
        "--report-dir", metavar="VALUE", help="folder of events.jsonl (default: ratiba-report; RATIBA_REPORT_DIR)"
    )
    add_repo(parser)
    parser.add_argument(
        "--cursor", metavar="FILE", help="file that records where the last run ended (default: in ~/.local/state)"
    )
    parser.add_argument(
        "--feedback",
        metavar="NAME",
        default="user_feedback",
        help="name of the feedback scores (default: user_feedback)",
    )
    parser.add_argument(
        "--environment",
        metavar="NAME",
        default="",
        help="Langfuse environment of the traces (default: all except the gate's)",
    )
    parser.add_argument(
        "--language",
        metavar="CODE",
        default="und",
        help="language of traces that name none (default: und, undetermined)",
    )
    parser.add_argument(
        "--system-type",
        default="chatbot",
        choices=[kind.value for kind in SystemType],
        help="system type of traces that name none (default: chatbot)",
    )
    parser.add_argument(
        "--tenants",
        metavar="FILE",
        help="YAML file with vertical and names of each tenant; keep it outside the checkout",
    )
    parser.add_argument(
        "--seconds", metavar="N", default=_SECONDS, help="time limit for reading Langfuse (default: 120)"
    )
    parser.add_argument("--deadline", metavar="SECONDS", help="end measuring after this time (RATIBA_DEADLINE)")
    add_json(parser)


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Sample production once.

    Returns:
        The exit code: 0 if everything selected was measured, 2 if a conversation is blocked because it is unknown what
        to mask, 3 if something was left for the next run.

    Raises:
        UsageError: an option is invalid, or keys are missing.
        RatibaError: the configuration is invalid, or production could not be read.
    """
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.production.sampling import sample, sample_json, sample_lines, write_cursor

    settings = read_settings(environment, {name: getattr(arguments, name.replace("-", "_"), None) for name in _INPUTS})
    request, cursor = _request(arguments, settings, environment)
    sampled, redactor = sample(request), Redactor(settings.secrets)
    if not arguments.until and not arguments.files:
        write_cursor(cursor, sampled.next_since)
    if arguments.json:
        print_json(sample_json(sampled, redactor))
    else:
        sys.stdout.write("".join(f"{printable(line)}\n" for line in sample_lines(sampled, redactor)))
    return _BLOCKED if sampled.blocked else 0 if sampled.complete else _INCOMPLETE


def _request(
    arguments: argparse.Namespace, settings: Settings, environment: MutableMapping[str, str]
) -> "tuple[SampleRun, Path]":
    """The request, and the cursor file."""
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.production.sampling import SampleRun
    from ratiba_action.production.tenants import tenants_outside
    from ratiba_action.reporting.terminal import make_progress
    from ratiba_action.run.authority import authorized_configuration
    from ratiba_action.run.event_logging import required_access

    repository = repository_of(arguments, environment)
    settings, configuration = authorized_configuration(settings, repository, environment)
    access = None if arguments.files else required_access(settings, environment, "production cannot be read")
    cursor = _cursor(arguments, environment, access, repository)
    seconds = parse_option("--seconds", arguments.seconds, parse_seconds)
    request = SampleRun(
        settings=settings,
        configuration=configuration,
        repository=repository,
        environment=environment,
        access=None if access is None else replace(access, seconds=seconds),
        files=tuple(Path(name) for name in arguments.files),
        rules=_rules(arguments, cursor, tenants_outside(arguments.tenants, repository)),
        progress=make_progress(sys.stderr, environment, Redactor(settings.secrets)),
        seconds=parse_option("--deadline", arguments.deadline or "", lambda given: read_deadline(given, environment)),
    )
    return request, cursor


def _cursor(
    arguments: argparse.Namespace, environment: Mapping[str, str], access: "LangfuseAccess | None", repository: Path
) -> Path:
    """The cursor file: each Langfuse project and each checkout has its own."""
    from ratiba_action.run.provider_keys import state_folder

    if arguments.cursor:
        return Path(arguments.cursor)
    server = [] if access is None else [access.host, access.public_key]
    name = digest([*server, str(repository)])[:_SHOWN]
    return state_folder(environment) / "samples" / f"{name}.json"


def _rules(arguments: argparse.Namespace, cursor: Path, tenants: "Mapping[str, TenantFacts]") -> "SampleRules":
    from ratiba_action.production.sample_reading import SampleRules
    from ratiba_action.production.sampling import read_cursor

    now = datetime.now(UTC)
    until = (
        parse_option("--until", arguments.until, lambda text: moment(text, now)) if arguments.until else now - _LATEST
    )
    if arguments.since:
        since = parse_option("--since", arguments.since, lambda text: moment(text, now))
    elif arguments.files:
        since = datetime.fromtimestamp(0, UTC)
    else:
        ended = read_cursor(cursor)
        since = now - _FIRST if ended is None else ended - _OVERLAP
    if since >= until:
        raise UsageError(
            f"--since ({since.isoformat()}) is not before --until ({until.isoformat()}).", "Give an earlier --since."
        )
    general, shares = parse_option("--share", arguments.share, _shares)
    return SampleRules(
        since=since,
        until=until,
        share=general,
        shares=shares,
        feedback=arguments.feedback,
        environment=arguments.environment,
        language=arguments.language,
        system_type=SystemType(arguments.system_type),
        tenants=tenants,
        slow=parse_option("--slow", arguments.slow, parse_seconds),
        low_confidence=parse_option("--low-confidence", arguments.low_confidence, share),
    )


def _shares(text: str) -> tuple[float, dict[SystemType, float]]:
    """The share of all conversations, and of kinds of systems that have their own."""
    general, *others = text.split(",")
    named = [(kind.strip(), share(own)) for kind, _, own in (other.partition("=") for other in others)]
    kinds = [kind for kind, _ in named]
    if not set(kinds) <= set(SystemType) or len(set(kinds)) < len(kinds):
        raise ValueError(f"a share, and shares by type ({', '.join(SystemType)}) such as 0.05,rag=0.2")
    return share(general), {SystemType(kind): own for kind, own in named}
