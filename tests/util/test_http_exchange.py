"""The connection to GitHub: how long it waits, through which proxy it goes, whom it trusts."""

import gc
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import ExchangeError, GithubError
from ratiba_action.github.github_api import GithubApi
from ratiba_action.util.http_exchange import MAX_BYTES, USUAL, Outage, repeat
from tests.support.github_server import GithubState, github_server
from tests.support.raw_server import answering, raw_server

TOKEN = "ghs_planted"
CERTIFICATE = Path(__file__).parents[1] / "support/certificates" / "loopback.pem"


def client(address: str, **changes: Any) -> GithubApi:
    return GithubApi("ratiba/assistant", TOKEN, address, **changes)


def test_an_answer_that_is_no_http_is_reported() -> None:
    def serve(connection: socket.socket, _: threading.Event) -> None:
        connection.recv(65_536)
        connection.sendall(b"SSH-2.0-OpenSSH\r\n")

    with raw_server(serve) as host, pytest.raises(GithubError, match="could not be reached"):
        client(f"http://{host}").get("pulls/7")


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    def serve(connection: socket.socket, _: threading.Event) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                connection.sendall(b" " * 1_048_576)
        except OSError:
            return

    with raw_server(serve) as host, pytest.raises(GithubError, match=f"{MAX_BYTES:,} bytes"):
        client(f"http://{host}").get("pulls/7")


@pytest.mark.parametrize(
    "start", [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 403 No\r\n\r\n"]
)
def test_a_server_that_feeds_a_byte_at_a_time_is_left_at_the_deadline(start: bytes) -> None:
    def serve(connection: socket.socket, done: threading.Event) -> None:
        connection.recv(65_536)
        connection.sendall(start)
        try:
            while not done.wait(0.01):
                connection.sendall(b"x")
        except OSError:
            return

    with raw_server(serve) as host, pytest.raises(GithubError, match="too long") as caught:
        client(f"http://{host}", deadline_seconds=0.2).get("pulls/7")
    assert caught.value.timed_out


def test_the_deadline_is_for_all_requests_together() -> None:
    state = GithubState(heads={7: "a" * 40})
    with github_server(state) as address:
        state.gate.clear()
        api = client(address, deadline_seconds=0.5)
        with pytest.raises(GithubError, match="too long"):
            api.get("pulls/7")
        with pytest.raises(GithubError, match="too long"):
            api.send("POST", "issues/7/comments", {"body": "late"})
    assert "POST" not in [method for method, _ in state.requests]


def test_https_goes_through_the_proxy_and_the_token_does_not() -> None:
    seen: list[bytes] = []

    def serve(connection: socket.socket, _: threading.Event) -> None:
        seen.append(connection.recv(65_536))
        connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")

    with raw_server(serve) as host:
        environment = {"HTTPS_PROXY": f"http://user:word@{host}"}
        with pytest.raises(GithubError, match="407") as caught:
            client("https://ghes.example/api/v3", environment=environment).get("pulls/7")
        message = str(caught.value)
        # Early Pythons 3.11 leave the answer of a proxy that refuses to the collector, which warns of it.
        del caught
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
    assert seen[0].startswith(b"CONNECT ghes.example:443 HTTP/1.")
    assert b"proxy-authorization: basic " in seen[0].lower()
    assert TOKEN.encode() not in seen[0]
    assert "word" not in message


def test_a_proxy_that_is_none_is_reported() -> None:
    with pytest.raises(GithubError, match="HTTPS_PROXY does not name a proxy"):
        client("https://ghes.example", environment={"HTTPS_PROXY": "socks5://proxy.example:1"}).get("pulls/7")


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_bundle_of_certificates_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: str | None) -> None:
    bundle = tmp_path / "bundle.pem"
    if content is not None:
        bundle.write_text(content)
    with pytest.raises(GithubError, match=name):
        client("https://127.0.0.1:1", environment={name: str(bundle)}).get("pulls/7")


def encrypted(connection: socket.socket, done: threading.Event) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, CERTIFICATE.with_suffix(".key"))
    try:
        with context.wrap_socket(connection, server_side=True) as wrapped:
            answering(b'{"number": 7}')(wrapped, done)
    except OSError:
        return  # the client hung up


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_a_certificate_authority_of_the_users_own_is_trusted(name: str) -> None:
    with raw_server(encrypted) as host:
        answer = client(f"https://{host}", environment={name: str(CERTIFICATE)}).get("pulls/7")
    assert answer == {"number": 7}


def test_a_certificate_that_nobody_vouches_for_is_refused_with_the_way_out() -> None:
    with raw_server(encrypted) as host, pytest.raises(GithubError, match="CERTIFICATE_VERIFY_FAILED") as caught:
        client(f"https://{host}").get("pulls/7")
    assert "SSL_CERT_FILE" in caught.value.remedy


def test_no_proxy_is_heeded() -> None:
    environment = {"HTTPS_PROXY": "http://127.0.0.1:1", "NO_PROXY": "127.0.0.1", "SSL_CERT_FILE": str(CERTIFICATE)}
    with raw_server(encrypted) as host:
        assert client(f"https://{host}", environment=environment).get("pulls/7") == {"number": 7}


class Clock:
    """What is waited for, without waiting."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.waits: list[float] = []
        monkeypatch.setattr(time, "sleep", self.waits.append)


def failing(error: ExchangeError, times: int = 100) -> Callable[[], str]:
    """Work that succeeds after so many errors."""
    left = [error] * times

    def work() -> str:
        if left:
            raise left.pop()
        return "done"

    return work


DEAD = GithubError("GitHub answered 503.", status=503, transient=True)
UNREACHED = GithubError("It could not be reached.", transient=True)


def asked(work: Callable[[], str], outage: Outage | None = None) -> str:
    return repeat(work, USUAL, time.monotonic() + 90, lambda error: not error.unclear, outage)


def test_a_run_waits_out_an_outage_once_and_after_that_a_bad_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, outage = Clock(monkeypatch), Outage()
    tries: list[int] = []
    for error in (DEAD, DEAD, UNREACHED):
        before = len(clock.waits)
        with pytest.raises(GithubError):
            asked(failing(error), outage)
        tries.append(len(clock.waits) - before + 1)
    assert tries == [5, 4, 4]
    assert sum(clock.waits) < 22, "at the most; about 14 s where baseline, comment and status all fail"
    assert asked(failing(DEAD, times=3), outage) == "done", "a bad second in an outage costs no comment"
    assert not outage.lasts
    assert asked(failing(DEAD, times=4), outage) == "done", "an answer ends the outage"


@pytest.mark.parametrize(
    "error",
    [
        GithubError("GitHub answered 502.", status=502, transient=True, unclear=True),
        GithubError("GitHub answered 403: too many requests.", transient=True, wait_seconds=3_600.0),
        GithubError("GitHub answered 404.", status=404),
    ],
    ids=["an unclear write", "a rate limit", "a refusal"],
)
def test_what_is_no_outage_makes_nothing_less_patient(error: GithubError) -> None:
    outage = Outage()
    with pytest.raises(GithubError):
        asked(failing(error), outage)
    assert not outage.lasts
