"""A captured session → the text of a proposed scenario: masked, checked, and for a person to read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ratiba_action.core.captured_session import CapturedSession, CapturedTurn
from ratiba_action.core.credentials import find_credentials
from ratiba_action.core.failure_rules import validate_rule
from ratiba_action.core.identifiers import find_identifiers, mask_identifiers
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.suite.load import load_suite

PROPOSED = "proposed"
"""Tag of a scenario that nobody has read yet."""

_CUSTOMER = {"name": "Achieng", "phone": "+254 700 000 101"}
_NOTE = (
    "# Proposed from a captured session. Read every line: what identifies a person was masked, and who said what is\n"
    f"# yours to judge. Then take the tag `{PROPOSED}` away.\n"
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
    """The scenario that a session becomes.

    Args:
        session: with id, language and time.
        layer: ``replay`` compares the replies with those captured; ``golden`` keeps them as reference answers.
        folder: of the scenarios, in the repository.

    Raises:
        SuiteError: it holds a secret, or cannot be a scenario; every problem.
    """
    import yaml  # noqa: PLC0415 - only what writes scenarios needs it

    masked = {
        "id": session.id,
        "language": session.language,
        "layer": layer,
        "tags": [PROPOSED, *(_mask(tag, session) for tag in session.tags if tag != PROPOSED)],
        "now": session.captured_at,
        "customer": _CUSTOMER,
        "turns": [_turn(turn, layer, session) for turn in session.turns],
        **({"assertions": [{"metric": "RougeLMetric", "threshold": 0.5}]} if _compared(session, layer) else {}),
        "provenance": {"captured_at": session.captured_at, "provider": _mask(session.provider, session) or "unknown"},
    }
    text = _NOTE + yaml.safe_dump(masked, allow_unicode=True, sort_keys=False, width=110)
    path = f"{folder}/{session.id}.yaml"
    kinds = sorted(set(find_credentials(text)))
    if kinds:
        raise SuiteError([FileProblem(path, 0, f"the session holds {', '.join(kinds)}; take it out")])
    load_suite({path: text.encode()}, metric_problems, validate_rule)
    return Proposal(path, text.encode())


def _compared(session: CapturedSession, layer: str) -> bool:
    return layer == "golden" and any(turn.reply for turn in session.turns)


def _turn(turn: CapturedTurn, layer: str, session: CapturedSession) -> dict[str, Any]:
    reply = _mask(turn.reply, session)
    expect: dict[str, Any] = {}
    if turn.tools:
        expect["tools"] = [{"name": name, "args": _mask_value(dict(args), session)} for name, args in turn.tools]
    if layer == "golden" and reply:
        expect["answer"] = reply
    said: dict[str, Any] = {"user": _mask(turn.user, session)}
    if layer == "replay":
        said["reply"] = reply
    return {**said, **({"expect": expect} if expect else {})}


def _mask(text: str, session: CapturedSession) -> str:
    # Identifiers first: a name inside an e-mail address would hide that it is one.
    text = mask_identifiers(text)
    for name in sorted(session.names, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "<name>", text, flags=re.IGNORECASE)
    return text


def _mask_value(value: Any, session: CapturedSession, name: str = "") -> Any:
    """A tool's arguments, masked; a number is read with its name, which tells an amount from an identifier."""
    if isinstance(value, Mapping):
        return {_mask(str(key), session): _mask_value(item, session, str(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_mask_value(item, session, name) for item in value]
    if isinstance(value, str):
        return _mask(value, session)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return mask_identifiers(str(value)) if number and find_identifiers(f"{name}: {value}") else value
