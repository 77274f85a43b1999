"""The gateway: speaks the providers' wire formats, and lets a scenario in by its own token.

Importing this module loads aiohttp; the composition root imports it when a run starts.
"""

import json
import logging
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from aiohttp import ClientPayloadError, web
from aiohttp.web_protocol import RequestPayloadError

from ratiba_action.errors import (
    BudgetError,
    ConfigurationError,
    InfrastructureError,
    ProviderError,
    RatibaError,
    RecordingError,
    WorkerError,
)
from ratiba_action.llm.access import ScenarioAccess, ignore
from ratiba_action.llm.answers import StaleRecordingError
from ratiba_action.llm.canonical_request import prompt_digest, request_key
from ratiba_action.llm.cut_answers import cut_off
from ratiba_action.llm.endpoints import ENDPOINTS, FORMATS, format_of_request
from ratiba_action.llm.wire_format import Endpoint
from ratiba_action.model.answering_model import is_another_model
from ratiba_action.model.conversation import Party
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.plan import HEAD
from ratiba_action.model.values import JsonObject, Usd
from ratiba_action.money.pricing import base_model
from ratiba_action.ports import AnswerSource, Prices
from ratiba_action.util.strict_json import refuse_constant

_BODY_LIMIT = 16 * 1024 * 1024
_ASKED_LIMIT = 200
_SHUTDOWN_SECONDS = 2.0
_HEADERS = {"x-should-retry": "false"}
_OTHER_PATH = "Call the models through these."
_REPORTED = "or report the usage of each call in the system's replies, so that it counts against the budget"
_NO_RECORDING = "No recorded answer fits it."
_UNKNOWN_KEY = "The API key is not the token of an open scenario of this gateway."
_BAD_REQUEST, _FORBIDDEN, _SERVER_ERROR, _BAD_GATEWAY = 400, 403, 500, 502
_ERRORS = range(400, 600)


class _RefusedError(Exception):
    """A request that is answered with an HTTP error; its problem decides the conversation, whatever the system does."""

    def __init__(self, status: int, problem: RatibaError | str) -> None:
        super().__init__(str(problem))
        self.status = status
        self.problem = problem if isinstance(problem, RatibaError) else WorkerError(problem)


class Gateway:
    """All model traffic of the system under test goes through here.

    Args:
        forbidden_models: models that no scenario may use, in any spelling: those of the judges.
        prices: gives the estimated cost of each answer; None leaves it out.
        scripts: how many calls the script of each scripted scenario answers; such an answer has no list price.
        host: address to bind.
        routes: the provider that answers requests of a format, where it is not the one of that name.
        refused: called with why each request was refused, in one sentence.
        body_limit: largest request body, in bytes.
    """

    def __init__(
        self,
        answers: AnswerSource,
        *,
        forbidden_models: Collection[str] = (),
        prices: Prices | None = None,
        scripts: Mapping[str, int] | None = None,
        routes: Mapping[str, str] | None = None,
        host: str = "127.0.0.1",
        refused: Callable[[str], None] = lambda _: None,
        body_limit: int = _BODY_LIMIT,
    ) -> None:
        self._answers = answers
        self._routes = dict(routes or {})
        self._forbidden = frozenset(base_model(name) for name in forbidden_models)
        self._prices = prices
        self._scripts = dict(scripts or {})
        self._host = host
        self._body_limit = body_limit
        self._refused = refused
        self._accesses: list[ScenarioAccess] = []
        self._runner: web.AppRunner | None = None
        self._url = ""

    @property
    def url(self) -> str:
        """Base address, without a path; empty before ``start``."""
        return self._url

    async def start(self) -> None:
        """Listen on a free port.

        Raises:
            InfrastructureError: the address cannot be bound.
        """
        application = web.Application(client_max_size=self._body_limit)
        for endpoint in ENDPOINTS:
            for path in endpoint.paths:
                application.router.add_post(path, self._handler(endpoint))
        application.router.add_route("*", "/{path:.*}", self._refuse_path)
        self._runner = web.AppRunner(
            application,
            access_log=None,
            logger=_silent_logger(),
            handle_signals=False,
            shutdown_timeout=_SHUTDOWN_SECONDS,
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, 0)
        try:
            await site.start()
        except OSError as error:
            await self.close()
            raise InfrastructureError(
                f"The gateway cannot listen on {self._host!r}: {error.strerror}.", "Give an address of this machine."
            ) from error
        host, port = self._runner.addresses[0][:2]
        self._url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def close(self) -> None:
        """Stop listening and close every access; may be called twice."""
        for access in self._accesses:
            access.close()
        self._accesses.clear()
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def open_scenario(
        self,
        scenario_id: str,
        trial: int = 0,
        arm: str = HEAD,
        party: Party = Party.SYSTEM,
        *,
        seen: Callable[[ModelRequest], None] = ignore,
    ) -> ScenarioAccess:
        """Let one trial of one scenario on one arm in, by a token of its own; ``seen`` is given each of its requests.

        Raises:
            InfrastructureError: the gateway is not started.
        """
        if self._runner is None:
            raise InfrastructureError(f"Scenario {scenario_id!r} was opened before the gateway.", "Start the gateway.")
        self._accesses = [access for access in self._accesses if not access.closed]
        scripted = self._scripts.get(scenario_id)
        access = ScenarioAccess(self._url, scenario_id, trial, party, arm=arm, scripted=scripted, seen=seen)
        self._accesses.append(access)
        return access

    def _handler(self, endpoint: Endpoint) -> Any:
        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._handle(endpoint, request)

        return handle

    async def _handle(self, endpoint: Endpoint, request: web.Request) -> web.StreamResponse:
        access = self._admit(request)
        if access is None:
            self._refused(_UNKNOWN_KEY)
            return _refusal(endpoint, 401, _UNKNOWN_KEY)
        try:
            asked = await self._read(endpoint, request)
            body = _completed(endpoint, asked, access)
            with access.answering():
                answer = (await self._answer(endpoint, body, access)).body
            if endpoint.is_stored:
                answer = access.stored[endpoint.provider].kept(asked, body, answer)
            events = _events(endpoint, (body, answer, request.query), access) if body.get("stream") is True else None
        except _RefusedError as refused:
            access.note(refused.problem)
            self._refused(_reason(refused.problem))
            return _refusal(endpoint, refused.status, str(refused))
        except ConnectionError:
            raise  # whoever asked has gone
        except Exception as error:  # noqa: BLE001 - the server would only log it, with the request's own words
            problem = f"The gateway failed: {type(error).__name__}."
            access.note(InfrastructureError(problem, "Please report it."))
            self._refused(problem)
            return _refusal(endpoint, _SERVER_ERROR, "The gateway failed.")
        if events is not None:
            return await _send_events(request, *events)
        return web.json_response(dict(answer), headers=_HEADERS)

    def _admit(self, request: web.Request) -> ScenarioAccess | None:
        scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
        offered = [credential for wire in FORMATS.values() for credential in wire.offered(request.headers)]
        offered += [request.query.get("key", "")]
        offered += [bearer.strip() if scheme.lower() == "bearer" else ""]
        # Every token is compared, so that the time taken says nothing about which one came close.
        admitted = [access for access in self._accesses for credential in offered if access.admits(credential)]
        return admitted[0] if admitted else None

    async def _read(self, endpoint: Endpoint, request: web.Request) -> JsonObject:
        try:
            body = json.loads((await request.read()).decode("utf-8"), parse_constant=refuse_constant)
        except web.HTTPRequestEntityTooLarge:
            raise _RefusedError(413, f"The request is larger than {self._body_limit} bytes.") from None
        except (ValueError, RecursionError, ClientPayloadError, RequestPayloadError):
            raise _RefusedError(400, "The request's body is not JSON in UTF-8.") from None
        if not isinstance(body, dict):
            raise _RefusedError(400, "The request's body is not a JSON object.")
        return _received(endpoint, body, request)

    async def _answer(self, endpoint: Endpoint, body: JsonObject, access: ScenarioAccess) -> ModelAnswer:
        try:
            call = _understand(endpoint, body, access, self._routes.get(endpoint.provider, endpoint.provider))
        except (ValueError, RecursionError):
            raise _RefusedError(400, "The request's body is nested too deeply or holds an infinite number.") from None
        access.seen(call)
        try:
            self._check_model(call.model)
            answer = await self._answers.answer(call)
            self._check_answering_model(answer.answered_by)
        except StaleRecordingError as stale:
            access.note_stale(stale)
            return stale.answer
        except RatibaError as problem:
            raise _RefusedError(_status(problem), problem) from problem
        try:
            list_price = self._list_price(call, answer)
        except RatibaError as problem:
            raise _RefusedError(_status(problem), problem) from problem
        model = answer.answered_by if is_another_model(call.model, answer.answered_by) else call.model
        cut = cut_off(endpoint, call.body, answer.body, answer.usage.output_tokens)
        access.count_answer(model, answer.usage, list_price, replayed=answer.replayed, cut=cut)
        return answer

    def _list_price(self, call: ModelRequest, answer: ModelAnswer) -> Usd | None:
        if self._prices is None or call.scenario_id in self._scripts:
            return None
        if answer.usd is not None:
            return answer.usd
        prices, usage = self._prices, (call.model, call.provider, answer.usage)
        listed = prices.price_of_answer(*usage, answer.answered_by)
        return prices.price(*usage) if listed is None else listed

    def _check_model(self, model: str) -> None:
        if base_model(model) in self._forbidden:
            raise ConfigurationError(
                f"The system under test asked for {model!r}, the model of a judge: no model may judge its own output.",
                "Give the judge or the system another model.",
            )

    def _check_answering_model(self, model: str) -> None:
        if model and base_model(model) in self._forbidden:
            raise ConfigurationError(
                f"{model!r} answered the system under test, the model of a judge: no model may judge its own output.",
                "Look at what routes the system's calls, or give the judge another model.",
            )

    async def _refuse_path(self, request: web.Request) -> web.StreamResponse:
        endpoint = format_of_request(request.headers).endpoints[0]
        served = ", ".join(f"POST {each.shown_path}" for each in ENDPOINTS)
        message = f"The gateway does not serve {request.method} {request.path!r}: only {served}."
        ways = [way for wire in FORMATS.values() for way in wire.ways_out.items()]
        instead = next((f"{way}, {_REPORTED}." for path, way in ways if re.fullmatch(path, request.path)), _OTHER_PATH)
        access = self._admit(request)
        try:
            stored = await _stored(access, request) if access is not None else None
        except ValueError as problem:
            return _refusal(endpoint, 404, str(problem))
        if stored is not None:
            return web.json_response(dict(stored), headers=_HEADERS)
        if request.method == "POST":
            self._refused(message if access is not None else _UNKNOWN_KEY)
            if access is not None:
                access.note(WorkerError(message, instead))
        return _refusal(endpoint, 404, f"{message} {instead}")


def _understand(endpoint: Endpoint, body: JsonObject, access: ScenarioAccess, provider: str) -> ModelRequest:
    key = request_key(endpoint, body)
    position, ordinal = access.count_call(key)
    return ModelRequest(
        scenario_id=access.scenario_id,
        trial=access.trial,
        party=access.party,
        position=position,
        provider=provider,
        endpoint=endpoint.name,
        model=body["model"],
        key=key,
        ordinal=ordinal,
        system=prompt_digest(endpoint.system_prompt(body)),
        last_message=endpoint.last_user_text(body)[:_ASKED_LIMIT],
        body=body,
        arm=access.arm,
    )


def _received(endpoint: Endpoint, body: JsonObject, request: web.Request) -> JsonObject:
    try:
        return endpoint.received(body, request.match_info)
    except (ValueError, RecursionError) as error:
        wrong = str(error) if isinstance(error, ValueError) else "The request's body is nested too deeply."
        raise _RefusedError(400, wrong) from None


def _completed(endpoint: Endpoint, body: JsonObject, access: ScenarioAccess) -> JsonObject:
    """The request with what it refers to, if it can be used."""
    try:
        completed = access.stored[endpoint.provider].completed(body) if endpoint.is_stored else body
    except ValueError as error:
        raise _RefusedError(400, str(error)) from None
    flaw = endpoint.flaw(completed)
    if flaw is not None:
        raise _RefusedError(400, flaw)
    return completed


async def _stored(access: ScenarioAccess, request: web.Request) -> JsonObject | None:
    """The answer to a request about what a provider keeps; ValueError where it keeps no such thing."""
    try:
        body = json.loads(await request.read() or b"{}", parse_constant=refuse_constant)
    except (ValueError, RecursionError, web.HTTPRequestEntityTooLarge, ClientPayloadError, RequestPayloadError):
        return None
    if not isinstance(body, dict):
        return None
    kept = (each.served(request.method, request.path, request.query, body) for each in access.stored.values())
    return next((found for found in kept if found is not None), None)


def _reason(problem: RatibaError) -> str:
    """Why a request was refused, in words that fit all that were refused for it, and name no customer."""
    if isinstance(problem, RecordingError):
        return _NO_RECORDING
    if isinstance(problem, BudgetError):
        return "It might have passed the cap."
    if isinstance(problem, ProviderError) and problem.status is not None:
        return f"The provider answered with status {problem.status}."
    return problem.problem


def _status(problem: RatibaError) -> int:
    """The status of a refusal: the provider's own status where it refused, 502 where it gave no usable answer."""
    if isinstance(problem, ProviderError):
        return problem.status if problem.status is not None and problem.status in _ERRORS else _BAD_GATEWAY
    return _FORBIDDEN if isinstance(problem, ConfigurationError) else _BAD_REQUEST


def _silent_logger() -> logging.Logger:
    """For aiohttp's server, which logs a malformed request as it came: lines that a runner takes as commands."""
    logger = logging.getLogger(__name__)
    logger.setLevel(logging.CRITICAL + 1)
    return logger


def _refusal(endpoint: Endpoint, status: int, message: str) -> web.Response:
    return web.json_response(dict(endpoint.error(status, message)), status=status, headers=_HEADERS)


def _events(
    endpoint: Endpoint, exchange: tuple[JsonObject, JsonObject, Mapping[str, str]], access: ScenarioAccess
) -> tuple[str, list[bytes]]:
    """The type and every piece of the answer, before the first is sent: a recording may hold anything."""
    try:
        kind, pieces = endpoint.stream(*exchange)
        return kind, list(pieces)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = RecordingError(
            f"A recorded answer of scenario {access.scenario_id!r} cannot be streamed: it is not shaped as "
            f"{endpoint.provider} answers.",
            f"Record it again: ratiba record --scenario {access.scenario_id} --accept",
        )
        raise _RefusedError(400, problem) from error


async def _send_events(request: web.Request, kind: str, events: list[bytes]) -> web.StreamResponse:
    response = web.StreamResponse(headers={**_HEADERS, "Content-Type": kind, "Cache-Control": "no-store"})
    await response.prepare(request)
    for part in events:
        await response.write(part)
    await response.write_eof()
    return response
