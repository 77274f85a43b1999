"""Stand-ins for the providers on loopback: they speak the wire formats, check the key, keep a bill and misbehave."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Usage
from ratiba_action.money.pricing import ModelRates
from tests.support.http_stand_in import HttpAnswer, HttpRequest, HttpStandIn, http_answer
from tests.support.provider_answers import ENDPOINTS, answer_body, error_body, flaw, spent_tokens
from tests.support.provider_bill import Bill
from tests.support.provider_faults import Altered, Cut, Drip, Failure, Raw, Served, Stalled, Whole

_JSON = {"Content-Type": "application/json"}
_CLAUDE_IN_A_CLOUD = re.compile(r"/model/(?P<bedrock>[^/]+)/invoke$|/anthropic/models/(?P<vertex>[^/:]+):rawPredict$")
_CONVERSE = re.compile(r"/model/(?P<model>[^/]+)/converse$")
_SIGNED = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/")


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived; names of headers in small letters. A model that the path names is in the body too."""

    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any]


Script = Sequence[Served] | Callable[[Received], Served]
"""What is answered: in order, past the end with status 500; or whatever the function says."""


class ModelServer:
    """The providers on one port, not streaming; an async context manager.

    Args:
        script: what is answered.
        key: the only API key that is let in.
        rates: what each model's tokens cost on the bill.
        other: what those of any other model cost; None for nothing.
    """

    def __init__(
        self,
        script: Script,
        key: str,
        rates: Mapping[str, ModelRates] | None = None,
        other: ModelRates | None = None,
    ) -> None:
        self._script = script if callable(script) else _in_order(script)
        self._key = key
        self._received: list[Received] = []
        self._server = HttpStandIn(self._handle)
        self.bill = Bill(rates or {}, other)

    @property
    def url(self) -> str:
        """Base address, without a path; OpenAI's base URL is this with ``/v1``."""
        return self._server.url

    @property
    def environment(self) -> dict[str, str]:
        """What a run needs to call it as Anthropic and as OpenAI."""
        return {
            "RATIBA_ANTHROPIC_API_KEY": self._key,
            "RATIBA_ANTHROPIC_BASE_URL": self.url,
            "RATIBA_OPENAI_API_KEY": self._key,
            "RATIBA_OPENAI_BASE_URL": f"{self.url}/v1",
        }

    @property
    def received(self) -> tuple[Received, ...]:
        """Every request that was let in, in order."""
        return tuple(self._received)

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, error, trace)

    async def _handle(self, request: HttpRequest) -> HttpAnswer:
        path = request.path.partition("?")[0]
        if path == "/token":
            granted = {"access_token": self._key, "expires_in": 3600, "token_type": "Bearer"}
            return HttpAnswer(http_answer(200, json.dumps(granted).encode(), _JSON))
        endpoint, model = _asked_for(path)
        if endpoint is None or request.method != "POST":
            return HttpAnswer(http_answer(404, b'{"error": {"message": "no such path"}}', _JSON))
        if self._key not in _credentials(request.headers):
            return HttpAnswer(_failure(endpoint, Failure(401, "invalid x-api-key")))
        body = json.loads(request.content)
        headers = request.headers
        if model is not None:
            body["model"] = model
        if "anthropic_version" in body:
            headers = {**headers, "anthropic-version": body["anthropic_version"]}
        received = Received(request.path, headers, body)
        wrong = flaw(endpoint, received.headers, received.body)
        if wrong is not None:
            return HttpAnswer(_failure(endpoint, Failure(400, wrong)))
        self._received.append(received)
        return self._serve(endpoint, received, self._script(received))

    def _serve(self, endpoint: str, received: Received, served: Served) -> HttpAnswer:
        match served:
            case Cut(answer=answer, after=after):
                whole = self._whole(endpoint, received, answer)
                return HttpAnswer(whole, stop_after=min(after, len(whole) - 1))
            case Stalled(answer=answer, after=after):
                return HttpAnswer(self._whole(endpoint, received, answer), stop_after=after, hold=True)
            case Drip(answer=answer, pause=pause):
                return HttpAnswer(self._whole(endpoint, received, answer), pause=pause)
            case _:
                return HttpAnswer(self._whole(endpoint, received, served))

    def _whole(self, endpoint: str, received: Received, served: Whole) -> bytes:
        """The bytes of an answer, charged for as soon as it was generated."""
        match served:
            case Failure():
                return _failure(endpoint, served)
            case Raw(step=step):
                if step is not None:
                    self._charge(endpoint, received, step)
                headers = {"Content-Type": served.content_type, **served.headers}
                return http_answer(served.status, served.content, headers)
            case Altered(step=step, change=change):
                body = change(self._answer(endpoint, received, step))
            case Step():
                body = self._answer(endpoint, received, served)
        return http_answer(200, json.dumps(body).encode(), _JSON)

    def _answer(self, endpoint: str, received: Received, step: Step) -> dict[str, Any]:
        usage = self._charge(endpoint, received, step)
        seed = digest([len(self._received), received.body])
        return answer_body(endpoint, step, received.body, seed, usage)

    def _charge(self, endpoint: str, received: Received, step: Step) -> Usage:
        usage = spent_tokens(endpoint, step, received.body)
        self.bill.charge(endpoint, received.body, usage)
        return usage


def _in_order(script: Sequence[Served]) -> Callable[[Received], Served]:
    left = list(script)
    return lambda _: left.pop(0) if left else Failure(500, "the script is at its end")


def _asked_for(path: str) -> tuple[str | None, str | None]:
    """The endpoint, and the model where the path names it: at Bedrock, Vertex and Gemini."""
    if hosted := _CLAUDE_IN_A_CLOUD.search(path):
        return "messages", unquote(hosted["bedrock"] or hosted["vertex"])
    if conversed := _CONVERSE.search(path):
        return "converse", unquote(conversed["model"])
    endpoint = next((name for name in ENDPOINTS if path.endswith((f"/{name}", f":{name}"))), None)
    return endpoint, path.rpartition("/")[2].partition(":")[0] if endpoint == "generateContent" else None


def _credentials(headers: Mapping[str, str]) -> set[str]:
    """What stands where a key may stand; of a request that AWS would accept, the id of the key that signed it."""
    authorization = headers.get("authorization", "")
    signed = _SIGNED.match(authorization)
    named = (headers.get(name, "") for name in ("x-api-key", "api-key", "x-goog-api-key"))
    return {signed[1] if signed else authorization.removeprefix("Bearer "), *named}


def _failure(endpoint: str, failure: Failure) -> bytes:
    kind = {"X-Amzn-ErrorType": "AnException:http://internal.amazon.com/"} if endpoint == "converse" else {}
    headers = {**_JSON, **kind, **({} if failure.retry_after is None else {"Retry-After": failure.retry_after})}
    return http_answer(failure.status, json.dumps(error_body(endpoint, failure)).encode(), headers)
