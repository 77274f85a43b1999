"""Turns a conversation that a customer disliked into a masked scenario for a person to complete."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from datetime import timezone as FixedOffset  # noqa: N812 - a parameter has its name
from pathlib import Path
from typing import Any

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.canonical import arguments_digest
from ratiba_action.model.scenario import DEFAULT_CUSTOMER, Customer, Layer, Scenario, SystemType
from ratiba_action.model.values import JsonObject
from ratiba_action.privacy.credentials import MASK
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.conversation import ProductionConversation, ProductionTurn
from ratiba_action.production.feedback import Feedback
from ratiba_action.production.tenants import TenantFacts
from ratiba_action.suite.load import load_suite, read_scenario_files
from ratiba_action.suite.scenario_clock import local_now
from ratiba_action.suite.scenario_schema import title_of
from ratiba_action.verdict.quarantine import PROPOSED

REASON = "Promoted from production; nobody has reviewed it or added assertions yet."
UNDETERMINED = "und"
"""ISO 639 code of an undetermined language: no fluency metric is attached for it."""

_FROM_PRODUCTION = "from_production"
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_SHOWN = 12
_EAST_AFRICA = FixedOffset(timedelta(hours=3))
_KENYAN = frozenset({"sw", "mixed"})
"""Languages of conversations whose clock and customer are Kenya's where nothing else says whose they are."""
_KENYAN_CUSTOMER = Customer("Achieng", "+254 700 000 101")
_LANGUAGE = re.compile(r"([a-z]{2,3}|mixed)(?:[-_].*)?")


@dataclass(frozen=True, slots=True)
class Review:
    """Who reviews the candidates, and until when they are in quarantine."""

    owner: str
    until: date


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed scenario.

    Args:
        id: derived from the turns, so that the same conversation always gets the same id.
        fingerprint: of the masked user messages and events.
    """

    id: str
    fingerprint: str
    data: Mapping[str, Any]


def make_candidate(
    conversation: ProductionConversation,
    feedback: Feedback,
    facts: TenantFacts,
    redactor: Redactor,
    review: Review,
    *,
    timezone: str = "",
) -> Candidate:
    """The candidate of one conversation.

    It has no assertions, since a person must say what went wrong. So it is in quarantine: it runs and does not count.

    Args:
        conversation: with at least one turn.
        facts: of its tenant, for values that its traces lack.
        timezone: of the configuration; empty for East Africa's of a conversation in Swahili, and for UTC of others.
    """
    turns = [_masked(turn, redactor) for turn in conversation.turns]
    fingerprint = _fingerprint((turn.user, turn.event) for turn in turns)
    # Letters only: digits could look like a phone or ID number.
    name = f"production_{fingerprint[:_SHOWN].translate(_LETTERS)}"
    system_type = conversation.system_type
    language = _language(conversation.language) or facts.language or UNDETERMINED
    zone = _EAST_AFRICA if language in _KENYAN else UTC
    started = conversation.started
    data = {
        "id": name,
        **title_of(next((turn.user for turn in turns if turn.user), "")),
        "language": language,
        "layer": Layer.PRODUCTION.value,
        **({"system_type": system_type} if system_type in set(SystemType) else {}),
        "vertical": next(iter(sorted(conversation.verticals)), facts.vertical),
        "tags": [PROPOSED, _FROM_PRODUCTION],
        "now": local_now(started, timezone) if timezone else _written(started.astimezone(zone)),
        "customer": fictional_customer(language),
        "turns": [{"user": turn.user} if turn.user is not None else {"event": turn.event} for turn in turns],
        "quarantine": {"reason": REASON, "owner": review.owner, "until": review.until.isoformat()},
        "provenance": _provenance(conversation, replace(feedback, at=feedback.at.astimezone(zone)), turns, redactor),
    }
    return Candidate(name, fingerprint, data)


def fictional_customer(language: str) -> JsonObject:
    """The customer that stands in for the real one; the number is Kenyan where the conversation is in Swahili.

    Args:
        language: ISO 639 code of the conversation, or ``mixed``.
    """
    customer = _KENYAN_CUSTOMER if language in _KENYAN else DEFAULT_CUSTOMER
    return {"name": customer.name, "phone": customer.phone}


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _language(tag: str) -> str:
    """The language code of a tag such as ``sw-KE``; empty if it has none."""
    match = _LANGUAGE.fullmatch(tag.strip().lower())
    return match[1] if match else ""


def fingerprint_of(scenario: Scenario) -> str:
    """The fingerprint of an existing scenario, comparable with a candidate's."""
    return _fingerprint((turn.user, turn.event) for turn in scenario.turns)


def _fingerprint(turns: Iterable[tuple[str | None, JsonObject | None]]) -> str:
    """Ignores case and white space."""
    return arguments_digest(
        [" ".join(user.casefold().split()) if user is not None else {"event": event} for user, event in turns]
    )


def _masked(turn: ProductionTurn, redactor: Redactor) -> ProductionTurn:
    user = None if turn.user is None else redactor.text(turn.user)
    event = None if turn.event is None else redactor.value(dict(turn.event))
    return ProductionTurn(user, event, redactor.text(turn.reply))


def _provenance(
    conversation: ProductionConversation, feedback: Feedback, turns: Iterable[ProductionTurn], redactor: Redactor
) -> JsonObject:
    """Where it comes from. Ids are masked too: some systems use a phone number as session id."""
    values = {
        "source": "langfuse",
        "trace": redactor.text(conversation.trace_ids[0]),
        "score": redactor.text(feedback.score_id),
        "feedback": redactor.text(feedback.value if isinstance(feedback.value, str) else json.dumps(feedback.value)),
        "feedback_at": _written(feedback.at),
        "comment": redactor.text(feedback.comment),
        "prompt_version": redactor.text(conversation.prompt_version),
        "replies": [turn.reply for turn in turns],
    }
    return {name: value for name, value in values.items() if value}


FOLDER = "from_production"

_NOTE = """\
# A customer disliked this conversation. It is masked, but check every line. Then add what must be true of it
# (`expect`, `rules`, `assertions`), compare with the replies below `provenance`, and remove the tag `proposed` and
# the quarantine.
"""


@dataclass(slots=True)
class KnownScenarios:
    """Existing scenarios that a candidate may duplicate.

    Args:
        by_id: path by id.
        by_fingerprint: path by fingerprint of the turns.
        by_trace: path by the trace that a scenario was promoted from.
    """

    by_id: dict[str, str] = field(default_factory=dict)
    by_fingerprint: dict[str, str] = field(default_factory=dict)
    by_trace: dict[str, str] = field(default_factory=dict)

    def path_of_duplicate(self, candidate: Candidate) -> str:
        """Path of the scenario that this candidate duplicates; empty for none."""
        return (
            self.by_trace.get(_trace(candidate), "")
            or self.by_fingerprint.get(candidate.fingerprint, "")
            or self.by_id.get(candidate.id, "")
        )

    def add(self, candidate: Candidate, path: str) -> None:
        """Add a candidate that was written."""
        self.by_id[candidate.id] = self.by_fingerprint[candidate.fingerprint] = path
        if trace := _trace(candidate):
            self.by_trace[trace] = path


def _trace(candidate: Candidate) -> str:
    """Its trace; empty if the id was masked, since different ids may then look the same."""
    trace = str(candidate.data["provenance"].get("trace", ""))
    return "" if MASK in trace else trace


def known_scenarios(repository: Path, folder: str) -> KnownScenarios:
    """The scenarios of a checkout.

    Args:
        folder: of the scenarios in it; may be empty or missing.

    Raises:
        SuiteError: they cannot be read, so duplicates cannot be detected.
    """
    known = KnownScenarios()
    files = read_scenario_files(repository, folder) if (repository / folder).is_dir() else {}
    if not files:
        return known
    # What they say counts here, and not when; the zone of those that name none stands in the configuration.
    for scenario in load_suite(files, metric_problems, validate_rule, timezone=None).scenarios:
        known.by_id[scenario.id] = scenario.path
        known.by_fingerprint.setdefault(fingerprint_of(scenario), scenario.path)
        trace = scenario.provenance.get("trace")
        if isinstance(trace, str):
            known.by_trace.setdefault(trace, scenario.path)
    return known


def path_of(candidate: Candidate, folder: str) -> str:
    """Path of a candidate's file in the repository."""
    return f"{folder}/{FOLDER}/{candidate.id}.yaml"


def path_exists(repository: Path, path: str) -> bool:
    """Whether the path exists; existing files are never overwritten."""
    return os.path.lexists(repository / path)


def candidate_file(candidate: Candidate, path: str) -> Mapping[str, bytes]:
    """The file of a candidate, checked as `ratiba validate` checks it.

    Raises:
        SuiteError: it contains an unmasked identifier, or is not a valid scenario; every problem.
    """
    import yaml  # only what writes scenarios needs it

    text = _NOTE + yaml.safe_dump(dict(candidate.data), allow_unicode=True, sort_keys=False, width=110)
    load_suite({path: text.encode()}, metric_problems, validate_rule)
    return {path: text.encode()}
