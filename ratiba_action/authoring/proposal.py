"""Turns a captured session into a proposed scenario, masked and checked, for a person to review."""

from dataclasses import dataclass
from typing import Any

from ratiba_action.authoring.captured_session import CapturedSession, CapturedTurn
from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.scenario import Layer
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.candidate import PROPOSED
from ratiba_action.suite.load import load_suite

_CUSTOMER = {"name": "Achieng", "phone": "+254 700 000 101"}
_NOTE = (
    "# Proposed from a captured session. Personal identifiers were masked; check every line all the same.\n"
    f"# Then remove the tag `{PROPOSED}`.\n"
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A scenario's file.

    Args:
        path: in the repository.
        content: its text.
    """

    path: str
    content: bytes


def propose(session: CapturedSession, layer: str, folder: str) -> Proposal:
    """The proposed scenario of a session.

    Args:
        session: with id, language and time.
        layer: ``replay`` compares the replies with those captured; ``golden`` keeps them as reference answers.
        folder: of the scenarios, in the repository.

    Raises:
        SuiteError: it contains a credential, or is not a valid scenario; every problem.
    """
    import yaml  # noqa: PLC0415 - only what writes scenarios needs it

    redactor = Redactor(names=session.names)
    masked = {
        "id": session.id,
        "language": session.language,
        "layer": layer,
        "tags": [PROPOSED, *(redactor.text(tag) for tag in session.tags if tag != PROPOSED)],
        "now": session.captured_at,
        "customer": _CUSTOMER,
        "turns": [_turn(turn, layer, redactor) for turn in session.turns],
        **({"assertions": [{"metric": "RougeLMetric", "threshold": 0.5}]} if _compared(session, layer) else {}),
        "provenance": {"captured_at": session.captured_at, "provider": redactor.text(session.provider) or "unknown"},
    }
    text = _NOTE + yaml.safe_dump(masked, allow_unicode=True, sort_keys=False, width=110)
    path = f"{folder}/{session.id}.yaml"
    kinds = sorted(set(find_credentials(text)))
    if kinds:
        raise SuiteError([FileProblem(path, 0, f"the session contains {', '.join(kinds)}; remove it")])
    load_suite({path: text.encode()}, metric_problems, validate_rule)
    return Proposal(path, text.encode())


def _compared(session: CapturedSession, layer: str) -> bool:
    return layer == Layer.GOLDEN and any(turn.reply for turn in session.turns)


def _turn(turn: CapturedTurn, layer: str, redactor: Redactor) -> dict[str, Any]:
    reply = redactor.text(turn.reply)
    expect: dict[str, Any] = {}
    if turn.tools:
        expect["tools"] = [{"name": name, "args": redactor.value(dict(args))} for name, args in turn.tools]
    if layer == Layer.GOLDEN and reply:
        expect["answer"] = reply
    values: dict[str, Any] = {"user": redactor.text(turn.user)}
    if layer == Layer.REPLAY:
        values["reply"] = reply
    return {**values, **({"expect": expect} if expect else {})}
