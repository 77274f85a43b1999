"""Live model calls that cannot pass the budget: bounded, reserved, sent, booked, and sent again when that may help."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING

from ratiba_action.errors import ProviderError
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.providers.answers import Answered, NotSent, Outcome, ProviderApi, Refused, Unknown
from ratiba_action.llm.providers.bounds import BoundedRequest, OutputLimits, bounded
from ratiba_action.model.answering_model import answering_model, spelled_otherwise
from ratiba_action.model.conversation import JournaledAnswer, Reservation, Usage
from ratiba_action.model.model_request import PaidAnswer, PaidRequest
from ratiba_action.model.values import JsonObject, Usd
from ratiba_action.money.answer_usage import answer_usage
from ratiba_action.money.pricing import show_usd
from ratiba_action.ports import Prices, Reservations

_RETRIES_SERVER_ERROR = 500
_TEMPORARY = frozenset({408, 409, 429})


@dataclass(frozen=True, slots=True)
class CallRetryPolicy:
    """Bounds of the attempts of one call.

    Args:
        attempts: the most that are made, the first one included.
        unknown: how many attempts whose outcome is unknown are followed by another: each of them is paid for.
        first_wait: seconds before the second attempt; doubled before each one after it.
        longest_wait: seconds; a provider that asks for more is not waited for.
    """

    attempts: int = 4
    unknown: int = 1
    first_wait: float = 1.0
    longest_wait: float = 60.0

    def wait(self, failures: list[Outcome]) -> float | None:
        """Seconds before the next attempt, None when there is none.

        Args:
            failures: what became of the attempts so far, at least one; the last is the latest.
        """
        if len(failures) >= self.attempts or not self._may_help(failures):
            return None
        pause = min(self.first_wait * 2 ** (len(failures) - 1), self.longest_wait)
        last = failures[-1]
        if isinstance(last, Refused) and last.retry_after is not None:
            pause = max(last.retry_after, 0.0)
        return pause if pause <= self.longest_wait else None

    def _may_help(self, failures: list[Outcome]) -> bool:
        match failures[-1]:
            case Refused(status=status, permanent=permanent):
                return not permanent and (status in _TEMPORARY or status >= _RETRIES_SERVER_ERROR)
            case NotSent():
                return True
            case _:
                return sum(isinstance(each, Unknown) for each in failures) <= self.unknown


@dataclass(frozen=True, slots=True)
class Charge:
    """What an answer cost, as far as it is known.

    Args:
        usage: its tokens.
        usd: the least that it can have cost.
        unexplained: why it may have cost more, in words; empty where it cannot.
    """

    usage: Usage
    usd: Usd
    unexplained: tuple[str, ...] = ()


def charge_of(request: PaidRequest, answer: JsonObject, prices: Prices) -> Charge:
    """What an answer cost: the tokens at the price of the model that answered, or what the provider says, if more.

    Args:
        answer: the provider's whole body.

    Raises:
        ValueError: the usage cannot be used.
        ConfigurationError: the model asked for has no price.
    """
    endpoint, fees = endpoint_named(request.endpoint), prices.tools(request.model, request.provider).usd
    calls, rest = endpoint.built_in_calls(request.body, answer) if fees else ((), answer)
    are_priced = all(tool in fees for call in calls for tool in call)
    reported = answer_usage(endpoint, rest if are_priced else answer)
    usage, unexplained = reported.usage, reported.unexplained
    answered_by = spelled_otherwise(request.model, answering_model(answer))
    usd = prices.price_of_answer(request.model, request.provider, usage, answered_by)
    if usd is None:
        unexplained += (f"{answered_by!r} answered, for which no price is known",)
        usd = prices.price(request.model, request.provider, usage)
    if reported.long_cache_writes:
        # The list has one price for a token that was written to a cache; for an hour's the dearest way is counted.
        prompt_tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        usd = max(usd, prices.upper_bound(request.model, request.provider, prompt_tokens, usage.output_tokens))
    if are_priced:
        usd += sum((max(fees[tool] for tool in call) for call in calls), Usd(0))
    return Charge(usage, max(usd, reported.usd or usd), unexplained)


_FORBIDDEN = frozenset({401, 403})
_MALFORMED = frozenset({400, 422})
_NOT_FOUND, _TOO_MANY, _SERVER_ERROR = 404, 429, 500
_REDIRECTS = range(300, 400)
_LONGEST_SETTING = 600.0
"""The most that ``models.longest_wait_seconds`` can be."""


class MeteredCalls:
    """Implements ``PaidCalls``.

    Args:
        api: sends one attempt.
        reservations: where each attempt is reserved and settled.
        prices: of every model that may be asked for.
        retries: how often an attempt is made again.
        concurrency: the most attempts at a time.
        sleep: waits so many seconds.
        note: called once for each model and reason, about an answer that was charged at its reservation.
    """

    def __init__(
        self,
        api: ProviderApi,
        reservations: Reservations,
        prices: Prices,
        *,
        limits: OutputLimits | None = None,
        retries: CallRetryPolicy | None = None,
        concurrency: int = 8,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._api = api
        self._reservations = reservations
        self._prices = prices
        self._limits = limits or OutputLimits()
        self._retries = retries or CallRetryPolicy()
        self._slots = asyncio.Semaphore(concurrency)
        self._sleep = sleep
        self._note = note
        self._noted: set[str] = set()
        self._without_tiers: set[str] = set()

    async def call(self, request: PaidRequest) -> PaidAnswer:
        """See ``PaidCalls.call``."""
        self._api.require(request.provider)
        model, provider = request.model, request.provider
        work = bounded(request, self._limits, self._prices.tools(model, provider))
        upper = self._prices.upper_bound(model, provider, work.input_tokens, work.output_tokens) + work.tools_usd
        failures: list[Outcome] = []
        while True:
            if request.provider in self._without_tiers:
                work = replace(work, body={name: work.body[name] for name in work.body if name != "service_tier"})
            outcome = await self._attempt(request, work, upper)
            if isinstance(outcome, PaidAnswer):
                return outcome
            if _knows_no_tier(outcome, request, work):
                self._without_tiers.add(request.provider)
                continue
            failures.append(outcome)
            pause = self._retries.wait(failures)
            if pause is None:
                raise _error(request, failures, self._retries.longest_wait)
            await self._sleep(pause)

    async def _attempt(self, request: PaidRequest, work: BoundedRequest, upper: Usd) -> PaidAnswer | Outcome:
        """One attempt; its reservation is made when its turn has come, so that those who wait hold no money."""
        async with self._slots:
            reservation = await self._reservations.reserve(request.party, request.scenario_id, request.model, upper)
            try:
                outcome = await self._api.post(request.provider, request.endpoint, work.body)
            except BaseException:
                # Cancelled, most likely: the provider answers all the same, and charges for it.
                await self._reservations.keep(reservation)
                raise
            return await self._close(request, reservation, outcome)

    async def _close(
        self, request: PaidRequest, reservation: Reservation, outcome: Outcome
    ) -> PaidAnswer | Refused | NotSent | Unknown:
        match outcome:
            case Answered(body=body):
                try:
                    charge = charge_of(request, body, self._prices)
                except ValueError as error:
                    await self._reservations.keep(reservation)
                    return Unknown(f"what the answer cost is not known: {error}")
                except BaseException:
                    await self._reservations.keep(reservation)
                    raise
                cost = max(charge.usd, reservation.upper) if charge.unexplained else charge.usd
                self._note_unexplained(request.model, charge, cost)
                kept = JournaledAnswer(request.journal_key, body)
                await self._reservations.settle(reservation, charge.usage, cost, kept)
                return PaidAnswer(body, charge.usage, usd=cost)
            case Unknown():
                await self._reservations.keep(reservation)
            case Refused() | NotSent():
                await self._reservations.release(reservation)
        return outcome

    def _note_unexplained(self, model: str, charge: Charge, cost: Usd) -> None:
        """Say why a call counts as more than its tokens cost; its answer is used like any other."""
        reasons = "; ".join(charge.unexplained)
        if reasons and f"{model} {reasons}" not in self._noted:
            self._noted.add(f"{model} {reasons}")
            amount = show_usd(cost, ROUND_CEILING)
            self._note(f"What an answer of {model!r} cost is not known, so that {amount} were counted: {reasons}.")


def _knows_no_tier(outcome: Outcome, request: PaidRequest, work: BoundedRequest) -> bool:
    """Whether a server that speaks as OpenAI does refuses the tier that we added: then it bills by none."""
    ours = "service_tier" in work.body and not request.body.get("service_tier")
    refused = isinstance(outcome, Refused) and outcome.status in _MALFORMED and "service_tier" in outcome.message
    return ours and refused and endpoint_named(request.endpoint).tier_is_optional


def _error(request: PaidRequest, failures: list[Outcome], longest_wait: float) -> ProviderError:
    """What is said of a call that no attempt could make."""
    last, count = failures[-1], len(failures)
    call = f"A call of {request.model!r} by the {request.party} in scenario {request.scenario_id!r}"
    tried = f"after {count} attempts" if count > 1 else "at once"
    known = not any(isinstance(each, Unknown) for each in failures)
    if isinstance(last, Refused):
        problem = f"{call} was refused by {request.provider} {tried} (status {last.status}): {last.message}."
        return ProviderError(problem, _remedy(last, longest_wait), status=last.status, outcome_known=known)
    if isinstance(last, NotSent):
        problem = f"{call} could not be sent {tried}: {last.reason}."
        return ProviderError(problem, "Check the network, the base URL and the proxy.", outcome_known=known)
    reason = last.reason if isinstance(last, Unknown) else ""
    problem = f"{call} has no usable answer {tried}: {reason}. What was reserved for it counts as spent."
    return ProviderError(problem, "Run again later; if it stays so, check the base URL.", outcome_known=False)


def _remedy(refused: Refused, longest_wait: float) -> str:
    status, wait = refused.status, refused.retry_after
    if refused.no_credit:
        return "Add credit to the provider's account, or raise its spending limit."
    if status in _FORBIDDEN:
        return "Check the key."
    if status == _NOT_FOUND or status in _REDIRECTS:
        return "Check the base URL." if status in _REDIRECTS else "Check the model's name and the base URL."
    if wait is not None and wait > longest_wait and (status in _TEMPORARY or status >= _SERVER_ERROR):
        asked = f"The provider asks to wait {wait:g} s, and models.longest_wait_seconds is {longest_wait:g}"
        return f"{asked}: {'raise it, or ' if wait <= _LONGEST_SETTING else ''}run again later."
    if status == _TOO_MANY:
        return "Run fewer scenarios at a time, or ask the provider for a higher rate or more credit."
    return "Run again later." if status >= _SERVER_ERROR else "Correct the request."
