"""Who is let in, and what strangers and broken requests are told."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable, Mapping

import aiohttp
import anthropic
import openai
import pytest
from yarl import URL

from ratiba_action.errors import InfrastructureError
from ratiba_action.llm.access import ScenarioAccess, gateway_environment
from ratiba_action.llm.answers import ReplayAnswers
from ratiba_action.llm.server import Gateway
from tests.llm.conftest import Start
from tests.support.sdk_talk import HAIKU, SdkTalk

SECRET = "sk-ant-planted-0123456789"
PATHS = ["/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1/embeddings"]


@pytest.fixture
async def gateway(start_replay: Start) -> Gateway:
    return await start_replay()


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def post(
    http: aiohttp.ClientSession, access: ScenarioAccess, path: str, body: bytes, **headers: str
) -> tuple[int, str]:
    url = access.environment["ANTHROPIC_BASE_URL"] + path
    async with http.post(url, data=body, headers={"Authorization": f"Bearer {access.token}", **headers}) as response:
        return response.status, await response.text()


async def test_a_wrong_key_is_refused_in_each_providers_own_shape(gateway: Gateway) -> None:
    stranger = SdkTalk(gateway_environment(gateway.url, SECRET))
    with pytest.raises(anthropic.AuthenticationError) as from_anthropic:
        await stranger.message()
    with pytest.raises(openai.AuthenticationError) as from_openai:
        await stranger.completion()
    body = from_anthropic.value.body
    assert isinstance(body, dict)
    assert body["error"]["type"] == "authentication_error"
    assert from_openai.value.code == "invalid_api_key"
    assert SECRET not in str(from_anthropic.value) + str(from_openai.value)


async def test_a_closed_access_is_refused_while_its_neighbour_is_not(gateway: Gateway) -> None:
    closed, neighbour = gateway.open_scenario("one"), gateway.open_scenario("two")
    closed.close()
    closed.close()
    with pytest.raises(anthropic.AuthenticationError):
        await SdkTalk(closed.environment).message()
    with pytest.raises(anthropic.BadRequestError, match="ratiba record --scenario two --accept"):
        await SdkTalk(neighbour.environment).message()
    assert closed.problems == ()


async def test_a_bearer_token_lets_anthropics_sdk_in_too(gateway: Gateway) -> None:
    with gateway.open_scenario("spa") as access:
        client = anthropic.AsyncAnthropic(base_url=gateway.url, auth_token=access.token, api_key=None, max_retries=0)
        async with client:
            with pytest.raises(anthropic.BadRequestError, match="No model answer is recorded"):
                await client.messages.create(
                    model="claude-haiku-4-5", max_tokens=5, messages=[{"role": "user", "content": "Habari"}]
                )


async def test_every_access_has_a_token_of_its_own_of_256_bits(gateway: Gateway) -> None:
    tokens = {gateway.open_scenario("spa", trial).token for trial in range(50)}
    assert len(tokens) == 50
    assert min(map(len, tokens)) >= 43


async def test_the_base_url_may_leave_out_the_version(gateway: Gateway, http: aiohttp.ClientSession) -> None:
    with gateway.open_scenario("spa") as access:
        outcomes = [await post(http, access, path.removeprefix("/v1"), b"{}") for path in PATHS]
        openai = [await post(http, access, f"/openai{path}", b"{}") for path in PATHS[1:]]
    assert [status for status, _ in (*outcomes, *openai)] == [400] * 7, "Groq's and Azure's clients say /openai/v1"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"model": NaN}',
        b"[" * 100_00,
        b'{"model": "m"}',
        b'{"model": 5, "messages": [1], "input": 7, "max_tokens": 1}',
        b'{"model": "m", "messages": [1, null, {"content": 5}], "input": 7, "max_tokens": 1e400}',
        b'{"model": "m", "messages": [{"role": {}, "content": [[]]}], "input": [[1]], "max_tokens": 1, "tools": 5}',
        b'{"model": "m", "messages": [1], "input": [1], "max_tokens": 1, "top_p": 1e400}',
        b'{"model": "m", "messages": [1], "input": [1], "max_tokens": 1, "x": ' + b"[" * 700 + b"]" * 700 + b"}",
    ],
)
async def test_a_malformed_body_is_a_400_that_names_the_mistake_and_shows_no_traceback(
    path: str, body: bytes, gateway: Gateway, http: aiohttp.ClientSession
) -> None:
    with gateway.open_scenario("spa") as access:
        status, answer = await post(http, access, path, body)
    error = json.loads(answer)["error"]
    assert status == 400
    assert error["message"]
    assert "Traceback" not in answer


async def test_a_body_beyond_the_limit_is_refused_compressed_or_not(
    start_gateway: Start, replay: Callable[..., ReplayAnswers], http: aiohttp.ClientSession
) -> None:
    gateway = await start_gateway(replay(), body_limit=1_000)
    large = json.dumps({"model": "m", "max_tokens": 1, "messages": ["x" * 5_000]}).encode()
    with gateway.open_scenario("spa") as access:
        plain = await post(http, access, "/v1/messages", large)
        packed = await post(http, access, "/v1/messages", gzip.compress(large), **{"Content-Encoding": "gzip"})
    assert plain[0] == packed[0] == 413
    assert "larger than 1000 bytes" in plain[1]


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/models"), ("GET", "/v1/messages"), ("POST", "/v1/files"), ("DELETE", "/")]
)
async def test_what_is_not_served_is_a_404_that_lists_what_is(
    method: str, path: str, gateway: Gateway, http: aiohttp.ClientSession
) -> None:
    async with http.request(method, gateway.url + path) as response:
        answer = await response.json()
    assert response.status == 404
    assert "POST /v1/messages" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/model/anthropic.claude-sonnet-4-v1%3A0/invoke", "call Converse with the id of a model"),
        ("/model/arn%3Aaws%3Abedrock%3A1%2Fours/invoke-with-response-stream", "Bedrock's InvokeModel and ARNs"),
        ("/v1beta/models/gemini-2.5-flash:countTokens", "Have the system leave this method out"),
        ("/v1beta/models/gemini-embedding-001:batchEmbedContents", "Have the system leave this method out"),
        ("/v1/files", "Call the models through these."),
    ],
)
async def test_a_format_that_is_not_spoken_is_refused_with_a_way_out(
    path: str, message: str, gateway: Gateway, http: aiohttp.ClientSession
) -> None:
    with gateway.open_scenario("spa") as access:
        url = URL(gateway.url + path, encoded=True)
        async with http.post(url, json={}, headers={"Authorization": f"Bearer {access.token}"}) as response:
            answer = await response.json()
    assert response.status == 404
    assert message in answer["error"]["message"]
    (problem,) = access.problems
    assert message in problem.remedy


async def test_an_unknown_path_answers_anthropics_sdk_in_anthropics_shape(gateway: Gateway) -> None:
    with gateway.open_scenario("spa") as access:
        async with SdkTalk(access.environment).anthropic() as client:
            with pytest.raises(anthropic.NotFoundError) as caught:
                await client.models.list()
    body = caught.value.body
    assert isinstance(body, dict)
    assert body["error"]["type"] == "not_found_error"


async def test_no_error_repeats_a_secret_that_the_request_held(gateway: Gateway, http: aiohttp.ClientSession) -> None:
    request: Mapping[str, object] = {
        "model": "claude-haiku-4-5",
        "max_tokens": 5,
        "system": f"The key is {SECRET}.",
        "messages": [{"role": "user", "content": SECRET}],
        "input": SECRET,
    }
    body = json.dumps(request).encode()
    with gateway.open_scenario("spa") as access:
        answers = [await post(http, access, path, body) for path in PATHS]
        answers += [await post(http, access, path, body[:-1]) for path in PATHS]
        answers += [await post(http, access, path, body, Authorization=f"Bearer {SECRET}") for path in PATHS]
        messages = [*(answer for _, answer in answers), *map(str, access.problems)]
        token = access.token
    assert [status for status, _ in answers] == [400] * 8 + [401] * 4
    assert not [text for text in messages if SECRET in text or token in text]


async def test_every_request_that_is_refused_is_counted_with_its_reason(
    start_gateway: Start, replay: Callable[..., ReplayAnswers], http: aiohttp.ClientSession
) -> None:
    reasons: list[str] = []
    gateway = await start_gateway(replay(), refused=reasons.append)
    with gateway.open_scenario("spa") as access:
        body = json.dumps({"model": HAIKU, "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}).encode()
        await post(http, access, "/v1/messages", body)
        await post(http, access, "/v1/messages", b"[]")
        await post(http, access, "/v1/audio/speech", body)
        await post(http, access, "/v1/messages", body, Authorization="Bearer own-key")
    assert [reason[:30] for reason in reasons] == [
        "No recorded answer fits it.",
        "The request's body is not a JS",
        "The gateway does not serve POS",
        "The API key is not the token o",
    ]


async def test_a_gateway_that_is_not_started_opens_no_scenario(replay: Callable[..., ReplayAnswers]) -> None:
    with pytest.raises(InfrastructureError, match="Start the gateway"):
        Gateway(replay()).open_scenario("spa")


async def test_an_address_of_another_machine_is_an_error_that_names_it(replay: Callable[..., ReplayAnswers]) -> None:
    with pytest.raises(InfrastructureError, match=r"cannot listen on '192\.0\.2\.1'"):
        await Gateway(replay(), host="192.0.2.1").start()


async def test_closing_the_gateway_twice_refuses_every_token(gateway: Gateway) -> None:
    access = gateway.open_scenario("spa")
    await gateway.close()
    await gateway.close()
    assert access.closed
    outcomes = await asyncio.gather(SdkTalk(access.environment).message(), return_exceptions=True)
    assert isinstance(outcomes[0], anthropic.APIConnectionError)


MALFORMED = {
    "no path": b"GET /##[set-output name=conclusion;]x HTTP/1.1\r\n\r\n",
    "no request": b"::set-output name=conclusion::passed\r\n\r\n",
    "two lengths": b"POST /v1/messages HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
    "a folded header": b"POST /v1/messages HTTP/1.1\r\nHost: x\r\n ##[error]planted\r\n\r\n",
    "no gzip": b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("what", MALFORMED)
async def test_a_malformed_request_is_not_logged(
    gateway: Gateway, what: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    host, _, port = gateway.url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(MALFORMED[what])
    assert b" 40" in await reader.readline()
    writer.close()
    printed = capfd.readouterr()
    assert (printed.out, printed.err, caplog.text) == ("", "", "")
