"""The tokens that a provider's answer or a system's reply reports, in our terms.

Nothing is guessed: an answer that leaves out a count, or whose counts cannot be, is not worth nothing but unknown.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ratiba_action.errors import BudgetError, ConfigurationError
from ratiba_action.model.conversation import Party, ReportedUsage, Usage, payer
from ratiba_action.model.plan import HEAD
from ratiba_action.model.values import JsonObject, Usd
from ratiba_action.money.pricing import base_model, show_usd
from ratiba_action.ports import Prices, Reservations

DECLARED = "declared price per turn"
"""Stands where a model's name does for what a system says that it costs."""

_NOTHING = Decimal(0)


@dataclass(slots=True)
class TurnPayments:
    """Books the turns of one run.

    A turn costs what is declared or what is told, whichever is more: the code that tells it may be the change's own.

    Args:
        reservations: where each turn is reserved and settled.
        prices: of every model that may be told of.
        declared: of each turn; None where the configuration declares nothing.
        forbidden_models: those of the judges.
    """

    reservations: Reservations
    prices: Prices
    declared: Usd | None
    forbidden_models: Collection[str] = ()
    _dearest: Usd = field(default=_NOTHING, init=False)
    reported_calls: int = field(default=0, init=False)

    async def before(self, scenario_id: str, arm: str = HEAD) -> None:
        """Book the declared price of a turn; without one, see that the dearest turn so far would still fit.

        Raises:
            BudgetError: it might pass a cap; the turn must not be sent.
            LedgerError: it cannot be written down.
        """
        party = payer(Party.SYSTEM, arm)
        if self.declared:
            reservation = await self.reservations.reserve(party, scenario_id, DECLARED, self.declared)
            await self.reservations.settle(reservation, Usage(), self.declared)
        elif self._dearest:
            reservation = await self.reservations.reserve(
                party, scenario_id, "calls that bypass the gateway", self._dearest
            )
            await self.reservations.release(reservation)

    async def after(self, scenario_id: str, reported: Sequence[ReportedUsage], arm: str = HEAD) -> Usd | None:
        """Book what a turn was told to have used, as far as it is more than what was declared.

        Returns:
            What is declared or what was told, whichever is more.

        Raises:
            BudgetError: a model has no price, or the money was not there; what is known is booked all the same.
            ConfigurationError: a judge's own model was called.
            LedgerError: it cannot be written down.
        """
        self.reported_calls += len(reported)
        party = payer(Party.SYSTEM, arm)
        paid, total, unknown, refused = self.declared or _NOTHING, _NOTHING, [], ""
        for call in reported:
            try:
                cost = self.prices.price(call.model, call.provider, call.usage)
            except ConfigurationError:
                unknown.append(call.model)
                continue
            total += cost
            refusal = await self._book(party, scenario_id, call, max(cost - paid, _NOTHING))
            refused = refused or refusal
            paid = max(paid - cost, _NOTHING)
        self._dearest = max(self._dearest, total)
        self._require_independence(reported)
        if unknown:
            names = ", ".join(repr(name) for name in sorted(set(unknown)))
            problem = f"The system reported calls of {names} that bypass the gateway, and there is no price for it."
            raise BudgetError(problem, "Give US dollars per million tokens under `prices:`.")
        if refused:
            raise BudgetError(refused, "Declare system.price_per_turn_usd, so that such a turn is not sent.")
        return max(total, self.declared or _NOTHING)

    async def _book(self, party: Party, scenario_id: str, call: ReportedUsage, cost: Usd) -> str:
        """Book money that is spent already; returns what to say where it was not there."""
        if not cost:
            return ""
        try:
            reservation = await self.reservations.reserve(party, scenario_id, call.model, cost)
        except BudgetError:
            reservation = await self.reservations.reserve(party, scenario_id, call.model, _NOTHING)
            await self.reservations.settle(reservation, call.usage, cost)
            spent = f"{show_usd(cost)} on {call.model!r}"
            return f"The system reported that it spent {spent}, more than was left of the budget."
        await self.reservations.settle(reservation, call.usage, cost)
        return ""

    def _require_independence(self, reported: Sequence[ReportedUsage]) -> None:
        judges = {base_model(name) for name in self.forbidden_models}
        own = sorted({call.model for call in reported if base_model(call.model) in judges})
        if own:
            raise ConfigurationError(
                f"The system called {', '.join(map(repr, own))} bypassing the gateway, the model of a judge: "
                "no model may judge its own output.",
                "Give the judge or the system another model.",
            )


@dataclass(slots=True)
class FreeTurns:
    """The turns of a run that pays for nothing.

    Args:
        declared: what the calls of a turn that bypass the gateway cost, as the configuration declares.
    """

    declared: Usd | None = None
    reported_calls: int = field(default=0, init=False)

    async def before(self, scenario_id: str, arm: str = HEAD) -> None:
        """Let every turn be sent."""

    async def after(
        self,
        scenario_id: str,  # noqa: ARG002 - the port names it
        reported: Sequence[ReportedUsage],
        arm: str = HEAD,  # noqa: ARG002 - the same
    ) -> Usd | None:
        """Book nothing; what was told is not priced in such a run."""
        self.reported_calls += len(reported)
        return None if reported else self.declared or _NOTHING


_MOST_TOKENS = 1_000_000_000
"""Far above any model's context; beyond it a count is a mistake, and its price would not be exact."""


@dataclass(frozen=True, slots=True)
class _OpenAINames:
    """How an endpoint calls its counts; ``output`` is None where nothing is generated."""

    asked: str
    answered: str | None

    @property
    def details(self) -> str:
        return f"{self.asked}_details"


_OPENAI = {
    "chat/completions": _OpenAINames("prompt_tokens", "completion_tokens"),
    "responses": _OpenAINames("input_tokens", "output_tokens"),
    "embeddings": _OpenAINames("prompt_tokens", None),
}


def reported_usage(endpoint: str, answer: JsonObject) -> Usage:
    """The tokens of an answer; the input leaves out the cached ones, whatever the provider's habit.

    Args:
        endpoint: as ``PaidRequest`` names it.
        answer: the whole body.

    Raises:
        ValueError: it reports no usage, leaves a count out, a count is not a whole number from 0 to 1000000000, or
            there is no input at all.
    """
    usage = answer.get("usageMetadata" if endpoint == "generateContent" else "usage")
    if not isinstance(usage, Mapping):
        raise ValueError("it reports no usage")  # noqa: TRY004 - the answer, not an argument, is at fault
    match endpoint:
        case "messages":
            tokens = _anthropic(usage)
        case "generateContent":
            tokens = _gemini(usage)
        case _:
            tokens = _openai(usage, _OPENAI[endpoint])
    if tokens.input_tokens + tokens.cache_read_tokens + tokens.cache_write_tokens == 0:
        raise ValueError("its usage has no input tokens")
    return tokens


def long_cache_writes(answer: JsonObject) -> int:
    """Tokens that Anthropic wrote to its cache for an hour, which costs more than for five minutes.

    Raises:
        ValueError: the count is not a whole number from 0 to 1000000000.
    """
    usage = answer.get("usage")
    return _nested(usage, "cache_creation", "ephemeral_1h_input_tokens") if isinstance(usage, Mapping) else 0


def _anthropic(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=_required(usage, "input_tokens"),
        output_tokens=_required(usage, "output_tokens"),
        cache_read_tokens=_count(usage, "cache_read_input_tokens"),
        cache_write_tokens=_count(usage, "cache_creation_input_tokens"),
    )


def _openai(usage: Mapping[str, Any], names: _OpenAINames) -> Usage:
    """OpenAI's input includes what was read from its cache and written to it."""
    cached = _nested(usage, names.details, "cached_tokens")
    written = _nested(usage, names.details, "cache_write_tokens")
    fresh = _required(usage, names.asked) - cached - written
    if fresh < 0:
        raise ValueError(f"usage.{names.asked} is less than its cached tokens")
    answered = _required(usage, names.answered) if names.answered is not None else 0
    return Usage(fresh, answered, cache_read_tokens=cached, cache_write_tokens=written)


def _gemini(usage: Mapping[str, Any]) -> Usage:
    """Gemini leaves out counts of 0, and bills thoughts as output.

    The total is the oracle: a count that a later model adds beside candidates and thoughts is in it.
    https://ai.google.dev/api/generate-content#UsageMetadata
    """
    prompt, cached = _required(usage, "promptTokenCount"), _count(usage, "cachedContentTokenCount")
    asked = prompt + _count(usage, "toolUsePromptTokenCount")
    rest = _required(usage, "totalTokenCount") - asked
    if prompt < cached:
        raise ValueError("usage.promptTokenCount is less than its cached tokens")
    if rest < 0:
        raise ValueError("usage.totalTokenCount is less than its input tokens")
    answered = max(rest, _count(usage, "candidatesTokenCount") + _count(usage, "thoughtsTokenCount"))
    return Usage(asked - cached, answered, cache_read_tokens=cached)


def _required(usage: Mapping[str, Any], name: str) -> int:
    if usage.get(name) is None:
        raise ValueError(f"its usage has no {name}")
    return _count(usage, name)


def _nested(usage: Mapping[str, Any], group: str, name: str) -> int:
    details = usage.get(group)
    return _count(details, name) if isinstance(details, Mapping) else 0


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_TOKENS:
        raise ValueError(f"usage.{name} is {repr(value)[:40]}, not a count of tokens")
    return value
