"""The set-up command reaches the network as the runner does, without the runner's secrets."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import WorkerError
from ratiba_action.model.scenario import Turn
from ratiba_action.systems.workplace import download_environment, without_user
from tests.systems.conftest import StartWorker
from tests.systems.workers import open_session, worker_system

SECRET = "hunter2-of-the-proxy"
OFFERED = {
    "HTTP_PROXY": "http://proxy.example:3128",
    "HTTPS_PROXY": f"http://runner:{SECRET}@proxy.example:3128/",
    "http_proxy": "http://proxy.example:3128",
    "https_proxy": f"runner:{SECRET}@proxy.example:3128",
    "NO_PROXY": "localhost,10.0.0.0/8",
    "no_proxy": "localhost",
    "SSL_CERT_FILE": "/run/ca.pem",
    "REQUESTS_CA_BUNDLE": "/run/ca.pem",
    "PIP_CERT": "/run/ca.pem",
    "NODE_EXTRA_CA_CERTS": "/run/ca.pem",
}
GIVEN = OFFERED | {"HTTPS_PROXY": "http://proxy.example:3128/", "https_proxy": "proxy.example:3128"}
ADAPTER = """
    import json, os
    class Adapter:
        def open(self, context):
            return self
        def send(self, message):
            return {"text": json.dumps([dict(os.environ), open("seen").read()])}
"""
SETUP = ["sh", "-c", "env -0 >seen"]


def test_proxies_and_certificates_are_given_and_a_proxys_password_is_not() -> None:
    assert download_environment(OFFERED | {"RATIBA_GITHUB_TOKEN": "x", "PATH": "/bin"}) == GIVEN


def test_what_the_gate_has_not_is_not_set() -> None:
    assert download_environment({"HTTP_PROXY": "", "PATH": "/bin"}) == {}


@given(st.text(min_size=1), st.sampled_from(["", "http://", "socks5://"]))
def test_no_spelling_of_user_and_password_is_handed_on(secret: str, scheme: str) -> None:
    assert without_user(f"{scheme}{secret}@proxy.example:3128") == f"{scheme}proxy.example:3128"


async def test_the_set_up_command_has_them_and_a_conversation_has_not(start_worker: StartWorker) -> None:
    system = await start_worker(ADAPTER, inherited={"PATH": os.defpath, **OFFERED}, setup=SETUP)
    session = await open_session(system)
    own, seen = json.loads((await session.send(Turn(user="x"))).text)
    in_setup = dict(line.split("=", 1) for line in seen.split("\0") if line)
    assert {name: in_setup.get(name) for name in GIVEN} == GIVEN
    assert set(own) & set(GIVEN) == {"SSL_CERT_FILE"}
    assert SECRET not in seen + json.dumps(own)


async def test_a_configured_value_wins(start_worker: StartWorker) -> None:
    configured = {"PIP_CERT": "/own.pem"}
    system = await start_worker(ADAPTER, inherited={"PATH": os.defpath, **OFFERED}, setup=SETUP, environment=configured)
    session = await open_session(system)
    own, seen = json.loads((await session.send(Turn(user="x"))).text)
    assert "PIP_CERT=/own.pem" in seen.split("\0")
    assert own["PIP_CERT"] == "/own.pem"


async def test_a_set_up_that_fails_behind_such_a_proxy_is_reported_what_it_was_not_given(tmp_path: Path) -> None:
    system = worker_system(tmp_path, "adapter:Adapter", inherited=OFFERED, setup=["sh", "-c", "exit 7"])
    with pytest.raises(WorkerError, match="user and password of HTTPS_PROXY, https_proxy") as caught:
        await system.start()
    assert SECRET not in str(caught.value)
