"""The way to a provider: proxies, certificates, and what a failure on it means for the money."""

import asyncio
import json
import socket
import ssl
import threading
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.llm.providers.answers import Answered, NotSent, Outcome, Unknown
from ratiba_action.llm.providers.client import ProviderClient, ProviderRoute, Timeouts
from tests.support.raw_server import answering, raw_server

CERTIFICATE = Path(__file__).parents[2] / "support/certificates" / "loopback.pem"
KEY = "sk-live-1234"
ANSWER = answering(json.dumps({"usage": {}}).encode(), b"Content-Type: application/json\r\n")


async def ask(base_url: str, environment: dict[str, str]) -> Outcome:
    async with ProviderClient((ProviderRoute("openai", KEY, base_url),), environment, Timeouts(5, 5)) as client:
        return await client.post("openai", "responses", {"model": "m"})


def encrypted(connection: socket.socket, done: threading.Event) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, CERTIFICATE.with_suffix(".key"))
    try:
        with context.wrap_socket(connection, server_side=True) as wrapped:
            ANSWER(wrapped, done)
    except OSError:
        return  # the client hung up


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
async def test_a_certificate_authority_of_the_users_own_is_trusted(name: str) -> None:
    with raw_server(encrypted) as host:
        assert isinstance(await ask(f"https://{host}", {name: str(CERTIFICATE)}), Answered)


async def test_a_certificate_that_nobody_vouches_for_is_never_given_the_request() -> None:
    with raw_server(encrypted) as host:
        outcome = await ask(f"https://{host}", {})
    assert isinstance(outcome, NotSent)
    assert "Certificate" in outcome.reason


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_named(tmp_path: Path, content: str | None) -> None:
    bundle = tmp_path / "bundle.pem"
    if content is not None:
        bundle.write_text(content)
    with pytest.raises(ConfigurationError, match="SSL_CERT_FILE"):
        ProviderClient((), {"SSL_CERT_FILE": str(bundle)})


async def test_a_proxy_that_refuses_has_been_given_its_password_and_not_the_key() -> None:
    seen: list[bytes] = []

    def refuse(connection: socket.socket, _: threading.Event) -> None:
        seen.append(connection.recv(65_536))
        connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")

    with raw_server(refuse) as host:
        outcome = await ask("https://models.example/v1", {"HTTPS_PROXY": f"http://user:word@{host}"})
    assert isinstance(outcome, NotSent)
    assert "word" not in outcome.reason
    assert seen[0].startswith(b"CONNECT models.example:443 HTTP/1.")
    assert b"proxy-authorization: basic " in seen[0].lower()
    assert KEY.encode() not in seen[0]


@pytest.mark.parametrize("value", ["socks5://proxy.example:1", "http://user:word@/x"])
def test_a_proxy_that_is_none_is_reported_without_its_password(value: str) -> None:
    with pytest.raises(ConfigurationError, match="HTTPS_PROXY does not name a proxy") as caught:
        ProviderClient((ProviderRoute("openai", KEY),), {"HTTPS_PROXY": value})
    assert "word" not in str(caught.value)


async def test_variables_of_the_process_are_not_heeded_unless_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with raw_server(ANSWER) as host:
        assert isinstance(await ask(f"http://{host}", {}), Answered)


async def test_a_server_that_hangs_up_at_once_may_have_charged() -> None:
    def hang_up(connection: socket.socket, _: threading.Event) -> None:
        connection.recv(65_536)

    with raw_server(hang_up) as host:
        outcome = await ask(f"http://{host}", {})
    assert isinstance(outcome, Unknown)
    assert "broke" in outcome.reason


async def test_a_request_is_never_sent_twice_by_itself() -> None:
    seen: list[bytes] = []

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"}"))
        if len(seen) == 1:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
            seen.append(await reader.readuntil(b"}"))
        writer.close()

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    route = ProviderRoute("openai", KEY, f"http://{host}:{port}")
    async with ProviderClient((route,), {}) as client:
        first, second = [await client.post("openai", "responses", {"number": number}) for number in (1, 2)]
    server.close()
    assert isinstance(first, Answered)
    assert isinstance(second, Unknown)
    assert len(seen) == 2


async def test_an_address_where_nothing_listens_is_named_without_its_path() -> None:
    with socket.socket() as taken:  # bound and not listening: nobody else can answer there
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        outcome = await ask(f"http://127.0.0.1:{port}/key-in-a-path/v1", {})
    assert outcome == NotSent(f"nothing listens at http://127.0.0.1:{port}")
