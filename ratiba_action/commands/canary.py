"""``ratiba canary``: promote a canary, wait, or roll it back?"""

import argparse
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.commands.alerts import alert_kinds, send_alert
from ratiba_action.commands.options import (
    add_json,
    between,
    length_of_time,
    moment,
    parse_option,
    print_warning,
    share,
)
from ratiba_action.errors import ConfigurationError, InfrastructureError, PublishError, UsageError
from ratiba_action.settings.run_deadline import parse_seconds
from ratiba_action.settings.settings import REDIS_URL, Settings, read_settings
from ratiba_action.util.installation import install_command
from ratiba_action.util.text import printable

if TYPE_CHECKING:
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.production.canary import CanaryLook, CanaryRules, Watched

DESCRIPTION = """Compare the conversations of a canary with those of the stable version: scores of `ratiba sample`,
feedback and failures. The answer is promote (exit code 0), roll back (1) or wait (3). You may run it as often as you
like: a canary that is not worse is rolled back with a probability of at most --level, however often you run it.
Without --samples the conversations are read from Langfuse, with the keys in RATIBA_LANGFUSE_HOST,
RATIBA_LANGFUSE_PUBLIC_KEY and RATIBA_LANGFUSE_SECRET_KEY."""
EXAMPLE = """example:
  ratiba canary --stable prompt-a1b2c3d --canary prompt-e4f5a6b
  ratiba canary --by model --stable gpt-5 --canary gpt-5-mini --margin 0.03 --json
  ratiba canary --stable prompt-a1b2c3d --canary prompt-e4f5a6b --stop booking_orchestrator --events events.jsonl"""

_CODES = {"promote": 0, "roll back": 1, "wait": 3}
_STATES = {"promote": "success", "roll back": "failure", "wait": "pending"}
_ROLE = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_MARKS = ("tag", "prompt_version", "model")
_REDIS_SECONDS = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add = parser.add_argument
    add("--stable", metavar="NAME", required=True, help="tag, prompt version or model of the stable conversations")
    add("--canary", metavar="NAME", required=True, help="tag, prompt version or model of the canary's conversations")
    add("--by", default="tag", choices=_MARKS, help="what these names are (default: tag)")
    add(
        "--samples",
        metavar="FILE",
        action="append",
        default=[],
        help="an events.jsonl of `ratiba sample`; may be repeated",
    )
    add("--since", metavar="WHEN", default="7d", help="a time before the canary began, or how long ago (default: 7d)")
    add("--until", metavar="WHEN", default="1h", help="end: a time, or how long ago (default: 1h)")
    add("--share", metavar="0..1", default="0.05", help="the --share of `ratiba sample` (default: 0.05)")
    add("--margin", metavar="0..1", default="0.05", help="how much worse a promoted canary may be (default: 0.05)")
    add("--level", metavar="P", default="0.025", help="probability of a false answer (default: 0.025)")
    add("--at-least", metavar="TIME", default="24h", help="how long a canary runs before promotion (default: 24h)")
    add(
        "--metric",
        metavar="NAME",
        action="append",
        default=[],
        help="metric to compare; may be repeated (default: all)",
    )
    add("--feedback", metavar="NAME", default="user_feedback", help="the feedback scores (default: user_feedback)")
    add("--environment", metavar="NAME", default="", help="Langfuse environment (default: all except the gate's)")
    add("--stop", metavar="ROLE", help="at a roll-back, set the rollout of this role to 0 percent")
    add("--rollout", metavar="FILE", help=f"JSON file with the rollouts (default: the Redis of {REDIS_URL})")
    add("--commit", metavar="SHA", help="set a status of this commit (GITHUB_REPOSITORY and RATIBA_GITHUB_TOKEN)")
    add("--events", metavar="FILE", help="append a `canary` event to this file")
    add(
        "--config",
        metavar="PATH",
        help="the configuration with `notifications` (default: .github/ratiba.yml; RATIBA_CONFIG)",
    )
    add("--seconds", metavar="N", default="120", help="time limit for reading Langfuse (default: 120)")
    add_json(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Look once.

    Returns:
        The exit code: 0 to promote, 1 to roll back, 3 to wait.

    Raises:
        UsageError: an option is invalid, or there are no keys.
        RatibaError: samples or Langfuse cannot be read.
    """
    from ratiba_action.privacy.own_names import KeepingRedactor
    from ratiba_action.production.canary import canary_json, canary_lines, look

    settings = read_settings(environment, {"config": arguments.config})
    now = datetime.now(UTC)
    rules = _rules(arguments, now)
    redactor = KeepingRedactor(settings.secrets, (rules.stable, rules.canary))
    kinds = alert_kinds(settings, required=bool(arguments.config))
    _check_rollout(arguments, settings)
    found = look(_conversations(arguments, settings, environment, rules, now), rules)
    if arguments.json:
        sys.stdout.write(json.dumps(canary_json(found, redactor), indent=2, allow_nan=False) + "\n")
    else:
        sys.stdout.write("".join(f"{printable(line)}\n" for line in canary_lines(found, redactor)))
    sys.stdout.flush()
    _act(arguments, settings, environment, found, kinds=kinds, redactor=redactor)
    return _CODES[found.answer.value]


def _act(
    arguments: argparse.Namespace,
    settings: Settings,
    environment: Mapping[str, str],
    found: "CanaryLook",
    *,
    kinds: Any,
    redactor: "Redactor",
) -> None:
    """Do what follows from the answer; the rollout first. A failure is a warning and does not change the exit code."""
    from ratiba_action.model.note import Alert, AlertKind

    stopped = text = ""
    rolled_back = found.answer.value == "roll back"
    before: int | None = None
    if rolled_back and arguments.stop:
        try:
            before = _stop(arguments, settings)
            stopped = arguments.stop if before else ""
            text = f"The rollout of {arguments.stop} was {before} percent and is 0 now." if before else ""
        except InfrastructureError as error:
            text = f"The rollout of {arguments.stop} is NOT stopped: {error}"
        if text:
            print_warning(redactor.text(text))
    _publish_status(arguments, settings, environment, found, redactor)
    _write_event(arguments, found, stopped, redactor)
    # A canary that is stopped already was reported by the look that stopped it.
    if rolled_back and before != 0:
        reason = f"Roll back {found.rules.canary}: {'; '.join(found.reasons)}"
        send_alert(settings, environment, Alert(AlertKind.CANARY, f"{text} {reason}".strip()), kinds, redactor)


def _conversations(
    arguments: argparse.Namespace,
    settings: Settings,
    environment: Mapping[str, str],
    rules: "CanaryRules",
    now: datetime,
) -> "tuple[Watched, ...]":
    from ratiba_action.observability.langfuse_asking import LangfuseError
    from ratiba_action.production.canary import watched_in_files, watched_in_langfuse
    from ratiba_action.run.event_logging import required_access

    if arguments.samples:
        return watched_in_files(map(Path, arguments.samples), rules, now)
    seconds = parse_option("--seconds", arguments.seconds, parse_seconds)
    access = replace(required_access(settings, environment, "conversations cannot be read"), seconds=seconds)
    try:
        return watched_in_langfuse(access, rules)
    except LangfuseError as error:
        problem = f"Conversations could not be read from {access.host}: {error}."
        raise InfrastructureError(problem, "Nothing was decided. Run it again, or give --samples.") from error


def _rules(arguments: argparse.Namespace, now: datetime) -> "CanaryRules":
    from ratiba_action.production.canary import CanaryRules
    from ratiba_action.production.conversation import GroupMark

    for option in ("stable", "canary"):
        parse_option(f"--{option}", getattr(arguments, option), _name)
    if arguments.stable == arguments.canary:
        raise UsageError(f"--stable and --canary are both {arguments.stable!r}.", "Give two different names.")
    since = parse_option("--since", arguments.since, lambda text: _past(text, now))
    until = parse_option("--until", arguments.until, lambda text: _past(text, now))
    if since >= until:
        problem = f"--since ({since.isoformat()}) is not before --until ({until.isoformat()})."
        raise UsageError(problem, "Give an earlier --since.")
    return CanaryRules(
        stable=arguments.stable,
        canary=arguments.canary,
        since=since,
        until=until,
        mark=GroupMark(arguments.by),
        margin=parse_option("--margin", arguments.margin, between),
        level=parse_option("--level", arguments.level, between),
        at_least=parse_option("--at-least", arguments.at_least, length_of_time),
        share=parse_option("--share", arguments.share, share),
        metrics=tuple(dict.fromkeys(arguments.metric)),
        environment=arguments.environment,
        feedback=arguments.feedback,
    )


def _name(text: str) -> str:
    if not text.strip() or len(text) > 200:  # noqa: PLR2004 - Langfuse drops a longer tag
        raise ValueError("1 to 200 characters, as in the traces")
    return text


def _past(text: str, now: datetime) -> datetime:
    found = moment(text, now)
    if found > now:
        raise ValueError("a time that is not in the future")
    return found


def _check_rollout(arguments: argparse.Namespace, settings: Settings) -> None:
    """Refuse a rollout that could not be stopped, before anything is read."""
    if arguments.stop is None:
        if arguments.rollout:
            raise UsageError("--rollout is given without --stop.", "Give --stop ROLE, or leave --rollout out.")
        return
    if not _ROLE.fullmatch(arguments.stop):
        raise UsageError(f"--stop is {arguments.stop!r}.", "Give a role: 1 to 64 letters, digits, '_', '-' or '.'.")
    if arguments.rollout:
        _percentage(arguments.rollout, arguments.stop, _read_rollouts(arguments.rollout))
    elif not settings.redis_url:
        raise UsageError("--stop has no rollout to set.", f"Give --rollout FILE, or set {REDIS_URL}.")


def _read_rollouts(name: str) -> dict[str, Any]:
    try:
        found = json.loads(Path(name).read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{name}: it cannot be read: {error.strerror}.", "Give a file of rollouts.") from error
    except (ValueError, RecursionError) as error:
        problem = f"{name}:{getattr(error, 'lineno', 1)}: this is no JSON."
        raise ConfigurationError(problem, 'Write {"ROLE": {"percentage": 5}}.') from error
    if not isinstance(found, dict):
        raise ConfigurationError(f"{name}:1: this is no JSON object.", 'Write {"ROLE": {"percentage": 5}}.')
    return found


def _percentage(name: str, role: str, rollouts: dict[str, Any]) -> int:
    rollout = rollouts.get(role)
    found = rollout.get("percentage") if isinstance(rollout, dict) else None
    if type(found) is not int or not 0 <= found <= 100:  # noqa: PLR2004 - a percentage
        problem = f"{name}: the percentage of {role!r} is {found!r}; it must be an integer from 0 to 100."
        raise ConfigurationError(problem, f'Write {{"{role}": {{"percentage": 5}}}}.')
    return found


def _stop(arguments: argparse.Namespace, settings: Settings) -> int:
    """Set the rollout to 0 percent.

    Returns:
        What it was.
    """
    from ratiba_action.util.whole_files import write_whole_files

    role: str = arguments.stop
    if not arguments.rollout:
        return _stop_in_redis(role, settings.redis_url)
    try:
        rollouts = _read_rollouts(arguments.rollout)
        before = _percentage(arguments.rollout, role, rollouts)
        rollouts[role]["percentage"] = 0
        if before:
            write_whole_files({Path(arguments.rollout): (json.dumps(rollouts, indent=2) + "\n").encode()})
    except (ConfigurationError, OSError) as error:
        raise InfrastructureError(
            f"{arguments.rollout} could not be written: {error}", "Set it to 0 by hand."
        ) from error
    return before


def _stop_in_redis(role: str, url: str) -> int:
    key, remedy = f"ratiba:canary:rollout:{role}", "Set the percentage to 0 by hand."
    try:
        import redis  # an extra
    except ImportError as error:
        problem = f"the package redis is not installed: run {install_command('redis')}."
        raise InfrastructureError(problem, remedy) from error
    try:
        with redis.Redis.from_url(
            url, socket_timeout=_REDIS_SECONDS, socket_connect_timeout=_REDIS_SECONDS, decode_responses=True
        ) as client:
            before = str(client.hget(key, "percentage") or "0")
            client.hset(key, "percentage", "0")
    except (redis.RedisError, OSError, ValueError) as error:
        # Their messages may have the address, which holds a password.
        raise InfrastructureError(f"Redis did not take it ({type(error).__name__}).", remedy) from error
    return int(before) if before.isascii() and before.isdigit() else 1


def _publish_status(
    arguments: argparse.Namespace,
    settings: Settings,
    environment: Mapping[str, str],
    found: "CanaryLook",
    redactor: "Redactor",
) -> None:
    if not arguments.commit:
        return
    from ratiba_action.decide.event import subject_of
    from ratiba_action.github.clients import by_pygithub
    from ratiba_action.github.github_api import GITHUB_API
    from ratiba_action.github.status import CommitStatus

    subject = replace(subject_of({}, None, environment), head=arguments.commit)
    api_url = environment.get("GITHUB_API_URL") or GITHUB_API
    status = CommitStatus(settings.github_token, api_url, environment=environment, connect=by_pygithub)
    answer, counts = found.answer.value, f"{found.canary} conversations, e = {found.e_worse:.3g}"
    name = f"canary {arguments.stop}" if arguments.stop else "canary"
    try:
        status.set_status(subject, name, _STATES[answer], f"{answer}: {counts}")
    except PublishError as error:
        print_warning(redactor.text(str(error)))


def _write_event(arguments: argparse.Namespace, found: "CanaryLook", stopped: str, redactor: "Redactor") -> None:
    if not arguments.events:
        return
    from ratiba_action.model.event import CanaryLooked, Event
    from ratiba_action.production.inline import open_inline_events

    rules, reason = found.rules, "; ".join(found.reasons)
    looked = CanaryLooked(found.answer.value, rules.stable, rules.canary, reason, found.canary, found.e_worse, stopped)
    try:
        with open_inline_events(arguments.events, print_warning, redactor=redactor) as log:
            log.emit(Event(looked))
    except ConfigurationError as error:
        print_warning(str(error))
