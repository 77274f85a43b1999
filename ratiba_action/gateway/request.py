"""A model call on its way through the gateway, and the answer to it."""

from dataclasses import dataclass, field
from typing import Protocol

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


class AnswerSource(Protocol):
    """Where the gateway's answers come from. A source books each call in the ledger itself."""

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """Answer one call.

        Raises:
            RecordingError: replaying, and no recording fits.
            BudgetError: the call might pass the cap.
            ConfigurationError: the model has no price.
        """
        ...
