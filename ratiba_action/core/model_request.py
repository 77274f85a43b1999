"""A model call on its way through the gateway, and the answer to it."""

from dataclasses import dataclass, field

from ratiba_action.core.model.conversation import Party, Usage
from ratiba_action.core.model.values import JsonObject


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a scenario's trial, understood.

    Args:
        position: number of the call within the trial, from 0.
        ordinal: how often the same key was asked before within the trial.
        key: SHA-256 of the canonical request.
        system: first 12 hexadecimal digits of the SHA-256 of the system prompt.
        asked: the last message of the user, at most 200 characters.
        body: the request as it came over the wire.
    """

    scenario_id: str
    trial: int
    party: Party
    position: int
    provider: str
    endpoint: str
    model: str
    key: str
    ordinal: int
    system: str
    asked: str
    body: JsonObject = field(repr=False)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The provider's whole answer, not yet cut into a stream's events."""

    body: JsonObject = field(repr=False)
    usage: Usage
    replayed: bool
