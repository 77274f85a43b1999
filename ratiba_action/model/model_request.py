"""A model call on its way through the gateway, and the answer to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Party, Usage, payer
from ratiba_action.model.plan import HEAD
from ratiba_action.model.values import JsonObject, Usd

PROVIDER_NAME = r"[a-z][a-z0-9_-]{0,49}"
"""Pattern of a provider's name: ``anthropic``, ``openai``, or one of the configuration's ``providers``."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a scenario's trial, understood.

    Args:
        position: number of the call within the trial, from 0.
        ordinal: how often the same key was asked before within the trial.
        key: SHA-256 of the canonical request.
        system: first 12 hexadecimal digits of the SHA-256 of the system prompt.
        last_message: of the user, at most 200 characters.
        body: the request as it came over the wire.
        arm: name of the arm whose conversation it belongs to.
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
    last_message: str
    body: JsonObject = field(repr=False)
    arm: str = HEAD

    @property
    def payer(self) -> Party:
        """Who the call is booked on."""
        return payer(self.party, self.arm)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The provider's whole answer, not yet cut into a stream's events.

    Args:
        replayed: no model was called for it now: a recording or a script gave it.
        answered_by: the model that gave it, where the answer names it otherwise than the request; else empty.
        usd: what was paid for it; None where nothing was, or an earlier process of the run did.
    """

    body: JsonObject = field(repr=False)
    usage: Usage
    replayed: bool
    answered_by: str = ""
    usd: Usd | None = None


@dataclass(frozen=True, slots=True)
class ToolPrices:
    """What bounds a call in which the provider runs tools of its own.

    Args:
        usd: the most that one call of a tool costs, by its name; a tool that is missing here may not be used.
        context_tokens: the most that the model reads at once; None where it is not known.
    """

    usd: Mapping[str, Usd] = field(default_factory=dict)
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class PaidRequest:
    """One call that a provider is paid for.

    Args:
        party: who it is booked on.
        provider: ``anthropic`` or ``openai``.
        endpoint: path of the call without its version: ``messages``, ``chat/completions``, ``responses``,
            ``embeddings``.
        key: digest of the canonical request; what makes two calls the same question.
        ordinal: how often the same key was asked before by this party within the scenario's trial.
        body: the request as it is to be sent; the output limit is added where it has none.
        arm: name of the arm whose conversation it belongs to.
    """

    party: Party
    scenario_id: str
    trial: int
    provider: str
    endpoint: str
    model: str
    key: str
    ordinal: int
    body: JsonObject = field(repr=False)
    arm: str = HEAD

    @property
    def journal_key(self) -> str:
        """Names this call among those of its run; ``JournaledAnswer.key``."""
        place = [self.arm, self.scenario_id, self.trial, self.party]
        return digest([*place, self.provider, self.endpoint, self.key, self.ordinal])


@dataclass(frozen=True, slots=True)
class PaidAnswer:
    """The provider's whole answer to a paid request.

    Args:
        resumed: an earlier process of the same run was given it and has paid for it.
        usd: what was paid for it; None where an earlier process did.
    """

    body: JsonObject = field(repr=False)
    usage: Usage
    resumed: bool = False
    usd: Usd | None = None
