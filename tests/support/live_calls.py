"""Paid calls that end at a stand-in for the providers, with a ledger to look into."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ratiba_action.llm.providers.bounds import OutputLimits
from ratiba_action.llm.providers.client import ProviderClient, ProviderRoute, Timeouts
from ratiba_action.llm.providers.cloud import CloudAccess
from ratiba_action.llm.providers.metered import CallRetryPolicy, MeteredCalls
from ratiba_action.model.conversation import Party
from ratiba_action.model.model_request import PaidRequest
from ratiba_action.model.values import Usd
from ratiba_action.money.prices import PriceList
from ratiba_action.money.pricing import ModelRates
from tests.support.model_servers import ModelServer, Script
from tests.support.reservations import MemoryReservations
from tests.support.sdk_talk import EMBEDDER, GEMINI, GPT, HAIKU, NOVA

KEY = "sk-live-9f8e7d6c5b4a"
RATES = ModelRates(Decimal(3), Decimal(15), Decimal("0.3"), Decimal("3.75"))
MODELS = {
    "messages": HAIKU,
    "chat/completions": GPT,
    "responses": GPT,
    "embeddings": EMBEDDER,
    "generateContent": GEMINI,
    "converse": NOVA,
}


@dataclass(frozen=True, slots=True)
class LiveRig:
    """Everything on the way of a paid call.

    Args:
        pauses: seconds that were waited between attempts; nobody really waits.
        notes: what was said of answers whose cost is not known.
    """

    server: ModelServer
    reservations: MemoryReservations
    client: ProviderClient
    calls: MeteredCalls
    pauses: list[float]
    notes: list[str]

    def paid_enough(self) -> bool:
        """Whether the books hold at least what the providers charge."""
        return Decimal(self.server.bill.total.numerator) <= self.reservations.spent * self.server.bill.total.denominator


@asynccontextmanager
async def live_calls(
    script: Script,
    *,
    cap: Usd = Decimal(1000),
    total_seconds: float = 20.0,
    concurrency: int = 8,
    retries: CallRetryPolicy | None = None,
    limits: OutputLimits | None = None,
    answer_limit: int = 1_000_000,
    account: str = "",
    rates: ModelRates = RATES,
) -> AsyncIterator[LiveRig]:
    """Start a stand-in, and calls that are paid for from reservations in memory.

    Args:
        account: of Google, made by ``service_account``; with it, Claude on Bedrock and Vertex can be called too.
        rates: configured prices of every model.
    """
    pauses: list[float] = []
    notes: list[str] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    reservations = MemoryReservations(cap)
    async with ModelServer(script, KEY, other=RATES) as server:
        routes = routes_to(server.url) + (clouds_at(server.url, account) if account else ())
        async with ProviderClient(routes, {}, Timeouts(10.0, total_seconds), answer_limit) as client:
            calls = MeteredCalls(
                client,
                reservations,
                PriceList(dict.fromkeys(MODELS.values(), rates)),
                limits=limits,
                retries=retries,
                concurrency=concurrency,
                sleep=sleep,
                note=notes.append,
            )
            yield LiveRig(server, reservations, client, calls, pauses, notes)


def routes_to(url: str) -> tuple[ProviderRoute, ...]:
    """The way to a stand-in for each provider."""
    addresses = {"anthropic": url, "openai": f"{url}/v1", "gemini": url, "converse": url}
    azure = ProviderRoute("azure", KEY, f"{url}/openai/deployments/d?api-version=2024-10-21", "openai")
    return (*(ProviderRoute(name, KEY, address) for name, address in addresses.items()), azure)


def service_account() -> str:
    """The JSON of an account of Google with a key of its own, without the address that gives its tokens."""
    from cryptography.hazmat.primitives import serialization  # comes with google-auth, an extra
    from cryptography.hazmat.primitives.asymmetric import rsa

    pem = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    person = {"project_id": "shop", "client_email": "gate@shop.iam.gserviceaccount.com", "private_key_id": "1"}
    return json.dumps({"type": "service_account", "private_key": pem.decode(), **person}, indent=2)


def with_tokens_from(url: str, account: str) -> str:
    """The account, whose tokens a stand-in gives."""
    return json.dumps({**json.loads(account), "token_uri": f"{url}/token"}, indent=2)


def clouds_at(url: str, account: str) -> tuple[ProviderRoute, ...]:
    """The way to a stand-in for Claude on Bedrock and on Vertex; the stand-in's key is the id of AWS's key."""
    aws = CloudAccess("bedrock", "eu-west-1", access_key=KEY)
    google = CloudAccess("vertex", "europe-west1", project="shop")
    return (
        ProviderRoute("bedrock", "planted/secret+0123456789", url, "anthropic", cloud=aws),
        ProviderRoute("vertex", with_tokens_from(url, account), f"{url}/v1", "anthropic", cloud=google),
    )


def paid_request(endpoint: str = "messages", ordinal: int = 0, **changes: Any) -> PaidRequest:
    """A small request of the system under test.

    Args:
        endpoint: as ``PaidRequest`` names it.
        ordinal: makes it another call than its equals.
        changes: fields of the body.
    """
    body: dict[str, Any] = {"model": MODELS[endpoint]}
    if endpoint in {"messages", "chat/completions"}:
        body["messages"] = [{"role": "user", "content": "Habari"}]
    elif endpoint == "converse":
        body["messages"] = [{"role": "user", "content": [{"text": "Habari"}]}]
    elif endpoint == "generateContent":
        body["contents"] = [{"role": "user", "parts": [{"text": "Habari"}]}]
    else:
        body["input"] = "Habari"
    body.update(changes)
    provider = {"messages": "anthropic", "generateContent": "gemini", "converse": "converse"}.get(endpoint, "openai")
    return PaidRequest(Party.SYSTEM, "spa", 0, provider, endpoint, body["model"], "k" * 64, ordinal, body)
