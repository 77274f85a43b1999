"""Live model calls that cannot pass the budget: bounded, reserved, sent, booked, and sent again when that may help."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ratiba_action.errors import ProviderError
from ratiba_action.llm.gemini_wire import GENERATE_CONTENT
from ratiba_action.llm.providers.answers import Answered, NotSent, Outcome, ProviderApi, Refused, Unknown
from ratiba_action.llm.providers.bounds import BoundedRequest, OutputLimits, bounded
from ratiba_action.model.conversation import JournaledAnswer, Reservation, Usage
from ratiba_action.model.model_request import PaidAnswer, PaidRequest
from ratiba_action.model.values import JsonObject, Usd
from ratiba_action.money.reported_usage import long_cache_writes, reported_usage
from ratiba_action.ports import Prices, Reservations

_RETRIES_SERVER_ERROR = 500
_TEMPORARY = frozenset({408, 409, 429})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
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


_LIST_PRICE_TIERS = ("auto", "default", "standard", "standard_only", "flex", "batch")
_OWN_CALLS = ("function_call", "custom_tool_call")
_LIST_PRICE_PLACES = (None, "", "global", "not_available")


def usage_and_cost(request: PaidRequest, answer: JsonObject, prices: Prices) -> tuple[Usage, Usd]:
    """The tokens of an answer and their price.

    Args:
        request: what was asked; its model decides the price.
        answer: the provider's whole body.
        prices: what tokens cost.

    Raises:
        ValueError: the usage cannot be used, or the call was billed by another tariff than the list's.
        ConfigurationError: the model has no price.
    """
    usage = reported_usage(request.endpoint, answer)
    if request.endpoint == GENERATE_CONTENT:
        _refuse_other_gemini_tariffs(answer)
        return usage, prices.price(request.model, request.provider, usage)
    _refuse_other_tariffs(answer)
    if long_cache_writes(answer):
        # The list has one price for a token that was written to a cache; for an hour's the dearest way is counted.
        prompt_tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        return usage, prices.upper_bound(request.model, request.provider, prompt_tokens, usage.output_tokens)
    return usage, prices.price(request.model, request.provider, usage)


def _refuse_other_tariffs(answer: JsonObject) -> None:
    usage = answer["usage"]
    for tier in (answer.get("service_tier"), usage.get("service_tier")):
        if tier is not None and tier not in _LIST_PRICE_TIERS:
            raise ValueError(f"it was served by the tier {str(tier)[:40]!r}, whose prices are not known")
    if usage.get("inference_geo") not in _LIST_PRICE_PLACES:
        raise ValueError(f"it was made in {str(usage['inference_geo'])[:40]!r}, which costs more than the list price")
    tools = usage.get("server_tool_use")
    if (any(tools.values()) if isinstance(tools, Mapping) else tools) or any(map(_ran_by_provider, _items(answer))):
        raise ValueError("the provider ran tools of its own, which are billed apart")
    details = [value for name, value in usage.items() if str(name).endswith("_details") and isinstance(value, Mapping)]
    if any(each.get("audio_tokens") for each in details):
        raise ValueError("it holds sound, whose tokens cost more than those of text")


_GEMINI_TRAFFIC = (None, "TRAFFIC_TYPE_UNSPECIFIED", "ON_DEMAND", "ON_DEMAND_FLEX")


def _refuse_other_gemini_tariffs(answer: JsonObject) -> None:
    usage = answer["usageMetadata"]
    if usage.get("trafficType") not in _GEMINI_TRAFFIC:
        raise ValueError(f"it was served as {str(usage['trafficType'])[:40]!r}, whose prices are not known")
    candidates = _objects(answer.get("candidates"))
    if usage.get("toolUsePromptTokenCount") or any(each.get("groundingMetadata") for each in candidates):
        raise ValueError("the provider ran tools of its own, which are billed apart")
    details = [each for name in usage if str(name).endswith("TokensDetails") for each in _objects(usage[name])]
    if any(each.get("modality") in ("AUDIO", "VIDEO") for each in details):
        raise ValueError("it holds sound, whose tokens cost more than those of text")
    if any(each.get("modality") == "IMAGE" for each in _objects(usage.get("candidatesTokensDetails"))):
        raise ValueError("it holds an image, whose tokens cost more than those of text")


def _objects(items: Any) -> list[Mapping[str, Any]]:
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _items(answer: JsonObject) -> list[Any]:
    """What an answer consists of, in Anthropic's and in OpenAI's words."""
    return [item for name in ("content", "output") if isinstance(items := answer.get(name), list) for item in items]


def _ran_by_provider(item: Any) -> bool:
    kind = str(item.get("type")) if isinstance(item, Mapping) else ""
    return kind == "server_tool_use" or (kind.endswith("_call") and kind not in _OWN_CALLS)


_FORBIDDEN = frozenset({401, 403})
_MALFORMED = frozenset({400, 422})
_NOT_FOUND, _TOO_MANY, _SERVER_ERROR = 404, 429, 500


class MeteredCalls:
    """Implements ``PaidCalls``.

    Args:
        api: sends one attempt.
        reservations: where each attempt is reserved and settled.
        prices: of every model that may be asked for.
        limits: of the output.
        retries: how often an attempt is made again.
        concurrency: the most attempts at a time.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        api: ProviderApi,
        reservations: Reservations,
        prices: Prices,
        *,
        limits: OutputLimits | None = None,
        retries: RetryPolicy | None = None,
        concurrency: int = 8,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._api = api
        self._reservations = reservations
        self._prices = prices
        self._limits = limits or OutputLimits()
        self._retries = retries or RetryPolicy()
        self._slots = asyncio.Semaphore(concurrency)
        self._sleep = sleep
        self._without_tiers: set[str] = set()

    async def call(self, request: PaidRequest) -> PaidAnswer:
        """See ``PaidCalls.call``."""
        self._api.require(request.provider)
        work = bounded(request, self._limits)
        upper = self._prices.upper_bound(request.model, request.provider, work.input_tokens, work.output_tokens)
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
                raise _error(request, failures)
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
                    usage, cost = usage_and_cost(request, body, self._prices)
                except ValueError as error:
                    await self._reservations.keep(reservation)
                    return Unknown(f"what the answer cost is not known: {error}")
                except BaseException:
                    await self._reservations.keep(reservation)
                    raise
                await self._reservations.settle(reservation, usage, cost, JournaledAnswer(request.journal_key, body))
                return PaidAnswer(body, usage)
            case Unknown():
                await self._reservations.keep(reservation)
            case Refused() | NotSent():
                await self._reservations.release(reservation)
        return outcome


def _knows_no_tier(outcome: Outcome, request: PaidRequest, work: BoundedRequest) -> bool:
    """Whether a server that speaks as OpenAI does refuses the tier that we added: then it bills by none."""
    ours = "service_tier" in work.body and not request.body.get("service_tier")
    refused = isinstance(outcome, Refused) and outcome.status in _MALFORMED and "service_tier" in outcome.message
    return ours and refused and request.endpoint != "messages"


def _error(request: PaidRequest, failures: list[Outcome]) -> ProviderError:
    """What is said of a call that no attempt could make."""
    last, count = failures[-1], len(failures)
    call = f"A call of {request.model!r} by the {request.party} in scenario {request.scenario_id!r}"
    tried = f"after {count} attempts" if count > 1 else "at once"
    known = not any(isinstance(each, Unknown) for each in failures)
    if isinstance(last, Refused):
        problem = f"{call} was refused by {request.provider} {tried} (status {last.status}): {last.message}."
        return ProviderError(problem, _remedy(last.status), status=last.status, outcome_known=known)
    if isinstance(last, NotSent):
        problem = f"{call} could not be sent {tried}: {last.reason}."
        return ProviderError(problem, "Check the network, the base URL and the proxy.", outcome_known=known)
    reason = last.reason if isinstance(last, Unknown) else ""
    problem = f"{call} has no usable answer {tried}: {reason}. What was reserved for it counts as spent."
    return ProviderError(problem, "Run again later; if it stays so, check the base URL.", outcome_known=False)


def _remedy(status: int) -> str:
    if status in _FORBIDDEN:
        return "Check the key."
    if status == _NOT_FOUND:
        return "Check the model's name and the base URL."
    if status == _TOO_MANY:
        return "Run fewer scenarios at a time, or ask the provider for a higher rate or more credit."
    return "Run again later." if status >= _SERVER_ERROR else "Correct the request."
