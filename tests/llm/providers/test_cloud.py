"""Bedrock and Vertex: requests that the clouds would accept, with nothing of the shell in them."""

import base64
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs

import pytest

from ratiba_action.config.configuration import Configuration
from ratiba_action.errors import ConfigurationError
from ratiba_action.llm.providers.answers import Answered, NotSent, Refused
from ratiba_action.llm.providers.client import ProviderClient, ProviderRoute
from ratiba_action.llm.providers.cloud import CloudAccess
from ratiba_action.llm.providers.metered import CallRetryPolicy, MeteredCalls
from ratiba_action.model.conversation import Party
from ratiba_action.model.model_request import PaidRequest
from ratiba_action.model.values import JsonObject
from ratiba_action.money.budget import Ledger
from ratiba_action.money.prices import PriceList
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.run.paid_run import open_paid_run, price_list
from ratiba_action.settings.settings import read_settings
from tests.support.http_stand_in import HttpAnswer, HttpRequest, HttpStandIn, http_answer
from tests.support.live_calls import service_account, with_tokens_from
from tests.support.reservations import MemoryReservations

pytest.importorskip("boto3")
pytest.importorskip("google.oauth2.service_account")

MODEL = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
ASKED: dict[str, Any] = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "Habari"}]}
ANSWER = {
    "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Karibu!"}],
    "usage": {"input_tokens": 1000, "output_tokens": 100},
}  # fmt: skip
ID, SECRET, TOKEN = "AKIAPLANTEDEXAMPLE", "planted/secret+0123456789", "planted-session-token"
SHELL = {
    "ANTHROPIC_CUSTOM_HEADERS": "X-Planted: shell-planted",
    "ANTHROPIC_BEDROCK_BASE_URL": "http://127.0.0.1:9/shell-planted",
    "ANTHROPIC_VERTEX_BASE_URL": "http://127.0.0.1:9/shell-planted",
    "ANTHROPIC_API_KEY": "shell-planted",
    "ANTHROPIC_AUTH_TOKEN": "shell-planted",
    "ANTHROPIC_VERTEX_PROJECT_ID": "shell-planted",
    "AWS_BEARER_TOKEN_BEDROCK": "shell-planted",
    "AWS_ACCESS_KEY_ID": "shell-planted",
    "AWS_SECRET_ACCESS_KEY": "shell-planted",
    "AWS_SESSION_TOKEN": "shell-planted",
    "AWS_PROFILE": "shell-planted",
    "AWS_REGION": "shell-planted",
    "CLOUD_ML_REGION": "shell-planted",
    "GOOGLE_APPLICATION_CREDENTIALS": "/shell-planted.json",
}


def answered(body: JsonObject, status: int = 200) -> HttpAnswer:
    return HttpAnswer(http_answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"}))


@asynccontextmanager
async def stand_in(answer: Callable[[HttpRequest], HttpAnswer]) -> AsyncIterator[tuple[str, list[HttpRequest]]]:
    received: list[HttpRequest] = []

    async def handle(request: HttpRequest) -> HttpAnswer:
        received.append(request)
        return answer(request)

    async with HttpStandIn(handle) as server:
        yield server.url, received


def bedrock(url: str, token: str = TOKEN) -> ProviderRoute:
    access = CloudAccess("bedrock", "eu-west-1", access_key=ID, session_token=token)
    return ProviderRoute("aws", SECRET, url, "anthropic", cloud=access)


def signature_of(request: HttpRequest, url: str) -> str:
    """The header that AWS would compute: from the bytes that arrived, with botocore."""
    from botocore.auth import SigV4Auth  # of an extra
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    signed = request.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    expected = AWSRequest(
        request.method, url + request.path, {name: request.headers[name] for name in signed}, request.content
    )
    expected.context["timestamp"] = request.headers["x-amz-date"]
    signer = SigV4Auth(Credentials(ID, SECRET, TOKEN), "bedrock", "eu-west-1")
    canonical = signer.canonical_request(expected)
    signature = signer.signature(signer.string_to_sign(expected, canonical), expected)
    scope = f"{request.headers['x-amz-date'][:8]}/eu-west-1/bedrock/aws4_request"
    return f"AWS4-HMAC-SHA256 Credential={ID}/{scope}, SignedHeaders={';'.join(signed)}, Signature={signature}"


async def test_bedrock_gets_a_request_whose_signature_fits_every_byte_that_arrived() -> None:
    async with (
        stand_in(lambda _: answered(ANSWER)) as (url, received),
        ProviderClient((bedrock(url),), {}) as client,
    ):
        assert isinstance(await client.post("aws", "messages", {**ASKED, "service_tier": "standard_only"}), Answered)
    (request,) = received
    assert request.path == f"/model/{MODEL}/invoke"
    assert request.headers["authorization"] == signature_of(request, url)
    assert request.headers["x-amz-security-token"] == TOKEN
    body = json.loads(request.content)
    assert set(body) == {"max_tokens", "messages", "anthropic_version"}  # the model is in the path


async def test_a_changed_byte_or_another_secret_does_not_fit_the_signature() -> None:
    async with (
        stand_in(lambda _: answered(ANSWER)) as (url, received),
        ProviderClient((bedrock(url),), {}) as client,
    ):
        await client.post("aws", "messages", ASKED)
    (request,) = received
    changed = HttpRequest(request.method, request.path, request.headers, request.content.replace(b"Habari", b"Kwaher"))
    assert request.headers["authorization"] != signature_of(changed, url)


def account(url: str) -> str:
    return with_tokens_from(url, service_account())


def vertex(url: str, key: str) -> ProviderRoute:
    access = CloudAccess("vertex", "europe-west1", project="shop")
    return ProviderRoute("google", key, f"{url}/v1", "anthropic", cloud=access)


def google(request: HttpRequest) -> HttpAnswer:
    if request.path == "/token":
        return answered({"access_token": "planted-google-token", "expires_in": 3600, "token_type": "Bearer"})
    return answered(ANSWER)


@pytest.mark.parametrize("form", ["json", "base64", "file"])
async def test_vertex_gets_the_path_and_one_token_for_all_calls(form: str, tmp_path: Any) -> None:
    async with stand_in(google) as (url, received):
        text = account(url)
        (tmp_path / "account.json").write_text(text)
        key = {"json": text, "base64": base64.b64encode(text.encode()).decode(), "file": f"{tmp_path}/account.json"}
        async with ProviderClient((vertex(url, key[form]),), {}) as client:
            for _ in range(2):
                body = {**ASKED, "model": "claude-sonnet-4-5@20250929"}
                assert isinstance(await client.post("google", "messages", body), Answered)
    tokens, *calls = received
    assert parse_qs(tokens.content.decode())["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    path = "/v1/projects/shop/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict"
    assert [request.path.replace("%40", "@").replace("%3A", ":") for request in calls] == [path, path]
    assert {request.headers["authorization"] for request in calls} == {"Bearer planted-google-token"}
    assert "model" not in json.loads(calls[0].content)


async def test_without_a_token_no_model_is_called_and_nothing_is_spent() -> None:
    refused = {"error": "invalid_grant", "error_description": "planted text"}
    async with (
        stand_in(lambda _: answered(refused, 400)) as (url, received),
        ProviderClient((vertex(url, account(url)),), {}) as client,
    ):
        outcome = await client.post("google", "messages", ASKED)
    assert outcome == NotSent("Google gave no token for the service account (RefreshError)")
    assert {request.path for request in received} == {"/token"}


@pytest.mark.parametrize("cloud", ["bedrock", "vertex"])
async def test_nothing_of_the_shell_reaches_a_request_and_the_shell_stays_as_it_was(
    cloud: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SHELL.items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    async with stand_in(google) as (url, received):
        route = bedrock(url) if cloud == "bedrock" else vertex(url, account(url))
        async with ProviderClient((route,), {}) as client:
            assert isinstance(await client.post(route.provider, "messages", ASKED), Answered)
    assert "shell-planted" not in f"{[(each.path, dict(each.headers), each.content) for each in received]}"
    assert dict(os.environ) == before


async def test_credentials_that_an_answer_echoes_are_masked() -> None:
    echoed = {"error": {"message": f"{ID} {SECRET} {TOKEN}"}}
    async with (
        stand_in(lambda _: answered(echoed, 400)) as (url, _),
        ProviderClient((bedrock(url),), {}) as client,
    ):
        outcome = await client.post("aws", "messages", ASKED)
    assert isinstance(outcome, Refused)
    assert not any(text in outcome.message for text in (ID, SECRET, TOKEN))
    assert not any(text in repr(bedrock(url)) for text in (ID, SECRET, TOKEN))


async def test_every_attempt_is_signed_reserved_and_settled_by_itself_at_bedrocks_price() -> None:
    reservations = MemoryReservations(Decimal(10))
    prices = PriceList(base_urls={"aws": "https://bedrock-runtime.eu-west-1.amazonaws.com"})
    answers = iter([answered({"error": {"message": "busy"}}, 503), answered(ANSWER)])

    async def sleep(_: float) -> None:
        return None

    async with (
        stand_in(lambda _: next(answers)) as (url, received),
        ProviderClient((bedrock(url),), {}) as client,
    ):
        calls = MeteredCalls(client, reservations, prices, retries=CallRetryPolicy(), sleep=sleep)
        await calls.call(PaidRequest(Party.JUDGE, "s", 0, "aws", "messages", MODEL, "k", 0, ASKED))
    assert [request.headers["authorization"] for request in received] == [signature_of(each, url) for each in received]
    assert [event.what for event in reservations.events] == ["reserve", "release", "reserve", "settle"]
    # Europe's endpoint costs 10 % more than the list's 3 and 15 dollars: 1000 tokens in, 100 out.
    assert reservations.events[-1].amount == Decimal("0.00495")


def test_a_key_that_is_no_service_account_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="is no service account") as caught:
        ProviderClient((vertex("https://x.example", "planted-nonsense"),), {})
    assert "planted" not in str(caught.value)


def test_prices_know_the_clouds_ids() -> None:
    addresses = {
        "aws": "https://bedrock-runtime.us-east-1.amazonaws.com",
        "google": "https://aiplatform.googleapis.com",
    }
    prices = PriceList(base_urls=addresses)
    plain = "anthropic.claude-sonnet-4-20250514-v1:0"
    prices.require(
        [(plain, "aws"), (f"us.{plain}", "aws"), (f"eu.{plain}", "aws"), ("claude-sonnet-4@20250514", "google")]
    )
    with pytest.raises(ConfigurationError, match="No price is known"):
        prices.require([("anthropic.claude-planted-9-v1:0", "aws")])


async def test_a_declared_bedrock_is_called_with_the_credentials_of_its_variables() -> None:
    keys = {"AWS_ACCESS_KEY_ID": ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": TOKEN}
    async with stand_in(lambda _: answered(ANSWER)) as (url, received):
        configuration = Configuration.model_validate(
            {
                "system": {"replay": {}},
                "providers": {"aws": {"api": "bedrock", "region": "eu-west-1", "base_url": url}},
                "prices": {MODEL: {"input_per_million": "3", "output_per_million": "15"}},
            }
        )
        settings, ledger = read_settings(keys, {}), Ledger(Decimal(1))
        async with open_paid_run(
            settings,
            configuration,
            ledger=ledger,
            prices=price_list(configuration, settings.base_urls),
            environment={},
            warn=print,
            concurrency=1,
            events=NoEvents(),
        ) as paid:
            await paid.calls.call(PaidRequest(Party.JUDGE, "s", 0, "aws", "messages", MODEL, "k", 0, ASKED))
    (request,) = received
    assert request.headers["authorization"] == signature_of(request, url)
    assert ledger.snapshot().spent == Decimal("0.0045")
