"""A conversation that a customer disliked → a candidate for a scenario, masked, for a person to complete."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta, timezone
from pathlib import Path
from typing import Any

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.canonical import arguments_digest
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.values import JsonObject
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.privacy.masking import MASK, Redactor
from ratiba_action.production.conversation import ProductionConversation, ProductionTurn
from ratiba_action.production.feedback import Feedback
from ratiba_action.production.tenants import TenantFacts
from ratiba_action.suite.load import load_suite, read_scenario_files

PROPOSED = "proposed"
"""Tag of a scenario that nobody has read yet."""

REASON = "Promoted from production; nobody has read it yet, or said what must hold in it."
UNDETERMINED = "und"
"""ISO 639's code of a language that is not determined: no metric of fluency is attached for it."""

_FROM_PRODUCTION = "from_production"
_CUSTOMER = {"name": "Achieng", "phone": "+254 700 000 101"}
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_SHOWN = 12
_EAST_AFRICA = timezone(timedelta(hours=3))
_LANGUAGE = re.compile(r"([a-z]{2,3}|mixed)(?:[-_].*)?")
_SYSTEM_TYPES = ("chatbot", "agent", "rag", "search", "classifier")


@dataclass(frozen=True, slots=True)
class Review:
    """Who reads the candidates, and until when they decide nothing."""

    owner: str
    until: date


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scenario to be.

    Args:
        id: derived from what is said, so that the same conversation has the same one.
        fingerprint: of what the customer says and what happens, masked.
        data: the content of its file.
    """

    id: str
    fingerprint: str
    data: Mapping[str, Any]


def make_candidate(
    conversation: ProductionConversation, feedback: Feedback, facts: TenantFacts, redactor: Redactor, review: Review
) -> Candidate:
    """The candidate of one conversation.

    It asserts nothing: what went wrong is for a person to say. So it is in quarantine, runs and does not decide.

    Args:
        conversation: with at least one turn.
        feedback: why it is promoted.
        facts: of its tenant, for what its traces do not tell.
        redactor: the one redactor, knowing the conversation's names.
        review: who completes it.
    """
    turns = [_masked(turn, redactor) for turn in conversation.turns]
    fingerprint = _fingerprint((turn.user, turn.event) for turn in turns)
    # Letters only: a run of digits would look like a number that identifies a person.
    name = f"production_{fingerprint[:_SHOWN].translate(_LETTERS)}"
    system_type = conversation.system_type
    data = {
        "id": name,
        "language": _language(conversation.language) or facts.language or UNDETERMINED,
        "layer": "production",
        **({"system_type": system_type} if system_type in _SYSTEM_TYPES else {}),
        "vertical": next(iter(sorted(conversation.verticals)), facts.vertical),
        "tags": [PROPOSED, _FROM_PRODUCTION],
        "now": conversation.started.astimezone(_EAST_AFRICA).isoformat(timespec="seconds"),
        "customer": _CUSTOMER,
        "turns": [{"user": turn.user} if turn.user is not None else {"event": turn.event} for turn in turns],
        "quarantine": {"reason": REASON, "owner": review.owner, "until": review.until.isoformat()},
        "provenance": _provenance(conversation, feedback, turns, redactor),
    }
    return Candidate(name, fingerprint, data)


def _language(told: str) -> str:
    """The code of a tag such as ``sw-KE``; empty for what is none."""
    match = _LANGUAGE.fullmatch(told.strip().lower())
    return match[1] if match else ""


def fingerprint_of(scenario: Scenario) -> str:
    """Of what is said in a scenario that is there already, comparable with a candidate's."""
    return _fingerprint((turn.user, turn.event) for turn in scenario.turns)


def _fingerprint(said: Iterable[tuple[str | None, JsonObject | None]]) -> str:
    """Case and white space make no difference."""
    return arguments_digest(
        [" ".join(user.casefold().split()) if user is not None else {"event": event} for user, event in said]
    )


def _masked(turn: ProductionTurn, redactor: Redactor) -> ProductionTurn:
    user = None if turn.user is None else redactor.text(turn.user)
    event = None if turn.event is None else redactor.value(dict(turn.event))
    return ProductionTurn(user, event, redactor.text(turn.reply))


def _provenance(
    conversation: ProductionConversation, feedback: Feedback, turns: Iterable[ProductionTurn], redactor: Redactor
) -> JsonObject:
    """Where it comes from. Ids are masked too: a session may well be named by a phone number."""
    told = {
        "source": "langfuse",
        "trace": redactor.text(conversation.trace_ids[0]),
        "score": redactor.text(feedback.score_id),
        "feedback": redactor.text(_shown(feedback.value)),
        "feedback_at": feedback.at.astimezone(_EAST_AFRICA).isoformat(timespec="seconds"),
        "comment": redactor.text(feedback.comment),
        "prompt_version": redactor.text(conversation.prompt_version),
        "replies": [turn.reply for turn in turns],
    }
    return {name: value for name, value in told.items() if value}


def _shown(value: str | float | bool) -> str:  # noqa: FBT001 - a value, not a switch
    return value if isinstance(value, str) else json.dumps(value)


FOLDER = "from_production"

_NOTE = """\
# A customer disliked this conversation. It is masked; read every line all the same. Then say what must hold in it
# (`expect`, `rules`, `assertions`), compare with the replies below `provenance`, and take away the tag `proposed` and
# the quarantine.
"""


@dataclass(slots=True)
class KnownScenarios:
    """What a candidate may be a duplicate of, each with the scenario that stands for it.

    Args:
        by_id: path by id.
        by_fingerprint: path by what is said.
        by_trace: path by the trace that a scenario was promoted from.
    """

    by_id: dict[str, str] = field(default_factory=dict)
    by_fingerprint: dict[str, str] = field(default_factory=dict)
    by_trace: dict[str, str] = field(default_factory=dict)

    def stands_for(self, candidate: Candidate) -> str:
        """Path of the scenario that is this candidate already; empty for none."""
        return (
            self.by_trace.get(_trace(candidate), "")
            or self.by_fingerprint.get(candidate.fingerprint, "")
            or self.by_id.get(candidate.id, "")
        )

    def add(self, candidate: Candidate, path: str) -> None:
        """Know one more."""
        self.by_id[candidate.id] = self.by_fingerprint[candidate.fingerprint] = path
        if trace := _trace(candidate):
            self.by_trace[trace] = path


def _trace(candidate: Candidate) -> str:
    """Its trace; empty where the id had to be masked, so that others may look the same."""
    trace = str(candidate.data["provenance"].get("trace", ""))
    return "" if MASK in trace else trace


def known_scenarios(repository: Path, folder: str) -> KnownScenarios:
    """The scenarios of a checkout.

    Args:
        repository: the checkout.
        folder: of the scenarios in it; one without any is all right.

    Raises:
        SuiteError: they cannot be read, so that it is not known what is a duplicate.
    """
    known = KnownScenarios()
    files = read_scenario_files(repository, folder) if (repository / folder).is_dir() else {}
    if not files:
        return known
    for scenario in load_suite(files, metric_problems, validate_rule).scenarios:
        known.by_id[scenario.id] = scenario.path
        known.by_fingerprint.setdefault(fingerprint_of(scenario), scenario.path)
        trace = scenario.provenance.get("trace")
        if isinstance(trace, str):
            known.by_trace.setdefault(trace, scenario.path)
    return known


def path_of(candidate: Candidate, folder: str) -> str:
    """Where a candidate's file stands in the repository."""
    return f"{folder}/{FOLDER}/{candidate.id}.yaml"


def is_there(repository: Path, path: str) -> bool:
    """Whether something of that name exists; it is never overwritten."""
    return os.path.lexists(repository / path)


def candidate_file(candidate: Candidate, path: str) -> Mapping[str, bytes]:
    """The file of a candidate, checked as `ratiba validate` checks it.

    Raises:
        SuiteError: it holds a credential or something unmasked, or cannot be a scenario; every problem.
    """
    import yaml  # noqa: PLC0415 - only what writes scenarios needs it

    text = _NOTE + yaml.safe_dump(dict(candidate.data), allow_unicode=True, sort_keys=False, width=110)
    kinds = sorted(set(find_credentials(text)))
    if kinds:
        raise SuiteError([FileProblem(path, 0, f"the conversation contains {', '.join(kinds)}")])
    load_suite({path: text.encode()}, metric_problems, validate_rule)
    return {path: text.encode()}
