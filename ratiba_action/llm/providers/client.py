"""One HTTP client for the whole run, and the only holder of real API keys.

Importing this module loads aiohttp; the composition root imports it when a live run starts.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

import aiohttp
from yarl import URL

from ratiba_action.errors import ConfigurationError
from ratiba_action.llm.endpoints import FORMATS
from ratiba_action.llm.providers.answers import READ_HEADERS, NotSent, Outcome, Unknown, read_answer
from ratiba_action.llm.providers.cloud import CloudAccess, CloudRequests, NoTokenError, WrittenRequest
from ratiba_action.llm.wire_format import WireFormat
from ratiba_action.model.values import JsonObject
from ratiba_action.privacy.masking import mask_secrets
from ratiba_action.settings.provider_keys import BUILT_IN
from ratiba_action.util.proxy import proxy_for, trusted_certificates

_OUTPUT_LIMIT = "max_completion_tokens"
_KEY = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class ProviderRoute:
    """Where a provider is, and the key that lets us in.

    Args:
        provider: a built-in one, or a name of the configuration's ``providers``.
        key: the real API key; never shown. Empty for a provider with an address of its own that needs none.
        base_url: another address than the provider's own. With ``?api-version=…`` it is spoken to as Azure wants it:
            the query goes along, the key in a header ``api-key``.
        wire: whose format requests have, a name in ``FORMATS``; empty for the provider's own.
        output_limit: the field that limits the answer of a chat completion.
        cloud: how requests are written for Bedrock or Vertex; None for every other provider.

    Raises:
        ConfigurationError: the address is not https (or http on this machine), holds credentials, or the key cannot
            stand in a header.
    """

    provider: str
    key: str = field(repr=False)
    base_url: str = ""
    wire: str = ""
    output_limit: str = _OUTPUT_LIMIT
    cloud: CloudAccess | None = None

    def __post_init__(self) -> None:
        _checked(self.base_url or self.format.base_url, self.provider)
        if self.cloud is None and not _KEY.fullmatch(self.key) and (self.key or self.provider in BUILT_IN):
            raise ConfigurationError(
                f"The key of {self.provider} is empty or holds a character that no key has, such as a line's end.",
                "Give the key alone.",
            )

    @property
    def format(self) -> WireFormat:
        """How requests are written."""
        return FORMATS[self.wire or self.provider]

    def address(self, endpoint: str, model: str = "") -> str:
        """The URL of an endpoint such as ``messages`` or ``chat/completions``; some hold the model too."""
        base = _checked(self.base_url or self.format.base_url, self.provider)
        return self.format.address(base, endpoint, model)

    def headers(self) -> dict[str, str]:
        """The headers of every request; they hold the key."""
        return self.format.headers(self.key, urlsplit(self.base_url).query)


def _checked(base_url: str, provider: str) -> SplitResult:
    """The parts of a usable address; a wrong one is not shown, it may hold a password."""
    remedy = "Give an address such as https://models.example/v1; plain http is for this machine only."
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ConfigurationError(f"The base URL of {provider} is not an address.", remedy) from None
    secure = parts.scheme == "https" or (parts.scheme == "http" and _is_this_machine(host))
    if not host or not secure or not base_url.isprintable() or " " in base_url:
        raise ConfigurationError(f"The base URL of {provider} is not an https address.", remedy)
    if "@" in parts.netloc or parts.fragment:
        raise ConfigurationError(f"The base URL of {provider} holds credentials or a fragment.", remedy)
    return parts


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_ANSWER_LIMIT = 32 * 1024 * 1024
_PIECE = 64 * 1024
_NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; ``connect`` includes the handshake, ``total`` everything until the answer's last byte."""

    connect: float = 10.0
    total: float = 120.0


class ProviderClient:
    """Implements ``ProviderApi`` over HTTP; an async context manager.

    Args:
        routes: where to ask; a provider without one is not asked.
        environment: its ``HTTPS_PROXY``, ``NO_PROXY``, ``SSL_CERT_FILE`` and ``REQUESTS_CA_BUNDLE`` are heeded; a
            proxy's address may hold a password.
        answer_limit: largest answer, in bytes, unpacked.

    Raises:
        ConfigurationError: the variables name no usable proxy or certificates.
    """

    def __init__(
        self,
        routes: tuple[ProviderRoute, ...],
        environment: Mapping[str, str],
        timeouts: Timeouts | None = None,
        answer_limit: int = _ANSWER_LIMIT,
    ) -> None:
        self._routes = {route.provider: route for route in routes}
        self._keys = tuple(route.key for route in routes if route.key)
        self._clouds = {
            route.provider: CloudRequests(route.provider, route.cloud, route.key, route.base_url)
            for route in routes
            if route.cloud is not None
        }
        self._proxies = {route.provider: _proxy(route, environment) for route in routes}
        self._trust = trusted_certificates(environment)
        self._timeouts = timeouts or Timeouts()
        self._answer_limit = answer_limit
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # The number of requests at a time is the business of whoever pays for them.
        connector = aiohttp.TCPConnector(limit=0, ssl=self._trust)
        bounds = aiohttp.ClientTimeout(total=self._timeouts.total, connect=self._timeouts.connect)
        self._session = aiohttp.ClientSession(connector=connector, timeout=bounds, cookie_jar=aiohttp.DummyCookieJar())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def require(self, provider: str) -> None:
        """Check that there is a key for the provider.

        Raises:
            ConfigurationError: there is none.
        """
        if provider not in self._routes:
            raise ConfigurationError(
                f"The run needs a model of {provider!r}, and there is no key for it.",
                f"{_how_to_give_a_key(provider)}, or run with llm: replay.",
            )

    async def post(self, provider: str, endpoint: str, body: JsonObject) -> Outcome:
        """Send one request and wait for the whole answer; never followed elsewhere, never sent again.

        Args:
            provider: one that ``require`` lets pass.
            endpoint: as ``PaidRequest`` names it.
        """
        if self._session is None:
            return NotSent("the client is closed")
        try:
            request = await self._written(provider, endpoint, body)
            async with self._session.post(
                URL(request.url, encoded=provider in self._clouds),
                data=request.data,
                headers=request.headers,
                allow_redirects=False,
                **self._proxies[provider],
            ) as response:
                raw = await self._read(response)
        except (NoTokenError, *_NOT_SENT) as error:
            return NotSent(_why_not_sent(error))
        except TimeoutError:
            return Unknown(f"no whole answer came within {self._timeouts.total:g} seconds")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Unknown(f"the connection broke before the answer was whole ({type(error).__name__})")
        if raw is None:
            return Unknown(f"the answer is larger than {self._answer_limit} bytes")
        wire = self._routes[provider].format
        names = (*READ_HEADERS, *wire.error_headers)
        read = {name: self._without_keys(response.headers.get(name, "").encode()) for name in names}
        return read_answer(response.status, read, self._without_keys(raw), wire.own_error)

    async def _written(self, provider: str, endpoint: str, body: JsonObject) -> WrittenRequest:
        if provider in self._clouds:
            return await asyncio.to_thread(self._clouds[provider].write, body)
        route = self._routes[provider]
        headers = {**route.headers(), "Content-Type": "application/json", "Accept": "application/json"}
        address = route.address(endpoint, str(body.get("model", "")))
        sent = route.format.sent(body, route.output_limit)
        return WrittenRequest(address, headers, json.dumps(sent).encode("ascii"))

    async def _read(self, response: aiohttp.ClientResponse) -> bytes | None:
        """The whole body, None when it is too large."""
        pieces = bytearray()
        async for piece in response.content.iter_chunked(_PIECE):
            pieces += piece
            if len(pieces) > self._answer_limit:
                return None
        return bytes(pieces)

    def _without_keys(self, raw: bytes) -> str:
        """The text, with every key hidden that the other side echoed: it goes on to code that must not know them."""
        secrets = [*self._keys, *(secret for cloud in self._clouds.values() for secret in cloud.secrets)]
        return mask_secrets(raw.decode("utf-8", "replace"), secrets)


def _how_to_give_a_key(provider: str) -> str:
    if provider in BUILT_IN:
        elsewhere = "or add `gateway: true` to an entry of `providers` that is to answer instead"
        return f"Give the input {provider}-api-key (RATIBA_{provider.upper()}_API_KEY), {elsewhere}"
    if provider in FORMATS:
        return f"Declare `providers: {{{provider}: {{{FORMATS[provider].declared}}}}}` and set that variable"
    return f"Set the variable that providers.{provider}.key names"


def _why_not_sent(error: Exception) -> str:
    if isinstance(error, NoTokenError):
        return f"Google gave no token for the service account ({error})"
    return f"no connection could be made ({type(error).__name__})"


def _proxy(route: ProviderRoute, environment: Mapping[str, str]) -> dict[str, Any]:
    """What aiohttp must know about the proxy on the way."""
    try:
        proxy = proxy_for(route.address("").partition("?")[0], environment)
    except ValueError as error:
        raise ConfigurationError(f"{error}.", "Correct it, or unset it.") from None
    if proxy is None:
        return {}
    headers = {"Proxy-Authorization": proxy.credentials} if proxy.credentials else None
    return {"proxy": f"http://{proxy.address}", "proxy_headers": headers}
