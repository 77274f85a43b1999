"""What the code of a change finds in its container of Docker: twelve ways to a key, another host or the machine.

And what it shall find: its tenant's database.
"""

import asyncio
import json
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from psycopg.conninfo import conninfo_to_dict

from ratiba_action.config.system_kinds import ContainerBlock, ServiceBlock
from ratiba_action.model.plan import Tenant
from ratiba_action.systems.container_server import ContainerServer, RunningServer
from ratiba_action.systems.docker_engine import DockerEngine
from ratiba_action.worker.http_call import call
from tests.support.container_image import why_not
from tests.support.containers import dockerfile

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("alone_with_system_containers")]
PROBE = """
import ctypes, json, os, pathlib, signal, socket
from http.server import BaseHTTPRequestHandler, HTTPServer

def text(path):
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""

def reaches(host, port):
    try:
        socket.create_connection((host, port), 2).close()
        return True
    except OSError:
        return False

def resolves(name):
    try:
        return bool(socket.getaddrinfo(name, 443))
    except OSError:
        return False

def speaks_postgresql():
    try:
        with socket.create_connection(("127.0.0.1", 5432), 5) as server:
            server.sendall(bytes([0, 0, 0, 8, 4, 210, 22, 47]))  # asks whether it speaks TLS
            return server.recv(1).decode()
    except OSError:
        return ""

def killed(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except OSError:
        return False

def holds(path, words):
    try:
        return path.is_file() and path.stat().st_size < 1 << 20 and any(word in path.read_bytes() for word in words)
    except OSError:
        return False

def files(words):
    places = (pathlib.Path(place) for place in ("/bot", "/etc", "/home", "/root", "/run", "/tmp", "/var"))
    return [str(path) for place in places for path in place.rglob("*") if holds(path, words)]

def status(name):
    return next(line.split()[1] for line in text("/proc/self/status").splitlines() if line.startswith(name + ":"))

def probe(asked):
    words = [word.encode() for word in asked["secrets"]]
    processes = [path for path in pathlib.Path("/proc").iterdir() if path.name.isdecimal()]
    return {
        "environment": sorted(os.environ),
        "processes": [str(each / name) for each in processes for name in ("environ", "cmdline")
                      if any(word.decode() in text(each / name) for word in words)],
        "files": files(words),
        "docker": [place for place in ("/var/run/docker.sock", "/run/docker.sock") if os.path.exists(place)],
        "metadata": reaches("169.254.169.254", 80),
        "names": resolves("example.com") or resolves("host.docker.internal"),
        "hosts": [host for host in asked["hosts"] if reaches(host, 443) or reaches(host, 22) or reaches(host, 53)],
        "interfaces": sorted(line.split(":")[0].strip() for line in text("/proc/net/dev").splitlines()[2:]),
        "loopback of the host": [port for port in asked["ports"] if reaches("127.0.0.1", port)],
        "gateway": reaches("127.0.0.1", asked["gateway"]),
        "database": speaks_postgresql(),
        "mounts": sorted({line.split()[4] for line in text("/proc/self/mountinfo").splitlines()
                          if not line.split()[4].startswith(("/proc", "/sys", "/dev"))}),
        "capabilities": [status(name) for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs")],
        "namespaces entered": [name for name in ("net", "mnt") if
                               ctypes.CDLL(None).setns(os.open("/proc/1/ns/" + name, os.O_RDONLY)
                               if os.access("/proc/1/ns/" + name, os.R_OK) else -1, 0) == 0],
        "relay killed": killed(1),
        "limits": [text("/sys/fs/cgroup/" + name).strip() for name in ("memory.max", "pids.max")],
    }

class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_POST(self):
        answer = json.dumps(probe(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)
HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
GATEWAY = ("OPENAI_BASE_URL", "OPENAI_API_KEY")
OF_THE_IMAGE = {"GPG_KEY", "HOME", "HOSTNAME", "LANG", "LC_CTYPE", "PATH", "PYTHON_SHA256", "PYTHON_VERSION"}


@pytest.fixture
async def engine(monkeypatch: pytest.MonkeyPatch) -> DockerEngine:
    """Docker, used by a gate that holds a key and a proxy's password."""
    if reason := why_not():
        pytest.skip(reason)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-PLANTED")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:PLANTED@127.0.0.1:1")
    return DockerEngine(os.environ)


@pytest.fixture
async def gateway() -> AsyncIterator[int]:
    """A port of this machine's loopback that stands in for the gateway's."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


def write(folder: Path) -> None:
    folder.mkdir()
    (folder / "server.py").write_text(PROBE)
    (folder / "Dockerfile").write_text(dockerfile("python3", "server.py"))


async def start(
    stack: AsyncExitStack,
    engine: DockerEngine,
    folder: Path,
    given: dict[str, str],
    *,
    dsn: str = "",
    block: ContainerBlock = ContainerBlock(port=8000),  # noqa: B008 - it is frozen
) -> RunningServer:
    write(folder)
    server = ContainerServer(engine, block, "http://127.0.0.1:{port}/", {"OWN": "1"})
    stack.push_async_callback(server.close)
    await server.prepare(folder)
    await server.migrate(dsn)
    return await server.start(given, Tenant("", "", dsn))


async def ask(server: RunningServer, asked: dict[str, Any]) -> dict[str, Any]:
    answer = await asyncio.to_thread(call, "POST", server.address, {}, json.dumps(asked).encode(), seconds=120)
    found: dict[str, Any] = json.loads(answer)
    return found


async def test_no_key_no_other_host_and_no_way_to_the_machine(
    engine: DockerEngine, gateway: int, tmp_path: Path
) -> None:
    tokens = [secrets.token_hex(16) for _ in range(2)]
    address = f"http://127.0.0.1:{gateway}/v1"
    hosts = ["1.1.1.1", "172.17.0.1", socket.gethostbyname(socket.gethostname())]
    async with AsyncExitStack() as stack:
        for_host = stack.enter_context(socket.create_server(("0.0.0.0", 0)))  # noqa: S104 - the machine's own server
        head, _ = [
            await start(stack, engine, tmp_path / name, dict(zip(GATEWAY, (address, token), strict=True)))
            for name, token in zip(("head", "base"), tokens, strict=True)
        ]
        asked = {
            "secrets": ["PLANTED", tokens[1]],
            "hosts": hosts,
            "ports": [for_host.getsockname()[1]],
            "gateway": gateway,
        }
        found = await ask(head, asked)
        assert await ask(head, asked) == found, "its relay lives"
    environment = {name for name in found["environment"] if not name.upper().endswith("_PROXY")}
    assert environment - OF_THE_IMAGE == {*GATEWAY, "OWN", "PORT"}
    assert (found["gateway"], found["database"]) == (True, "")
    nothing = ("processes", "files", "docker", "hosts", "loopback of the host", "namespaces entered")
    assert {name: found[name] for name in nothing if found[name]} == {}
    assert (found["metadata"], found["names"], found["relay killed"]) == (False, False, False)
    assert found["interfaces"] == ["lo"]
    assert found["mounts"] == ["/", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf"]
    assert {int(number, 16) for number in found["capabilities"][:3]} == {0}
    assert found["capabilities"][3] == "1"
    assert found["limits"] in ([str(4 << 30), "512"], ["", ""])


async def test_it_reaches_its_tenants_database_and_no_gateway_that_is_not_its_own(
    engine: DockerEngine, gateway: int, embedded_server_dsn: str, tmp_path: Path
) -> None:
    parts = conninfo_to_dict(embedded_server_dsn)
    place = urlencode({"host": parts.get("host", "localhost"), "port": parts.get("port", 5432)})
    asked = {"secrets": [], "hosts": [], "ports": [], "gateway": gateway}
    async with AsyncExitStack() as stack:
        head = await start(stack, engine, tmp_path / "head", {}, dsn=f"postgresql://spa:secret@/db?{place}")
        found = await ask(head, asked)
    assert found["database"] in ("N", "S")
    assert found["gateway"] is False
    assert "DATABASE_URL" in found["environment"]


async def test_a_container_may_listen_on_the_gateways_port(engine: DockerEngine, gateway: int, tmp_path: Path) -> None:
    asked = {"secrets": [], "hosts": [], "ports": [], "gateway": 20_000}
    async with AsyncExitStack() as stack:
        given = {"OPENAI_BASE_URL": f"http://127.0.0.1:{gateway}/v1"}
        head = await start(stack, engine, tmp_path / "head", given, block=ContainerBlock(port=gateway))
        assert (await ask(head, asked))["gateway"] is True


SERVICE = """
import os, pathlib, socket, time
server = socket.create_server(("127.0.0.1", int(os.environ["WHERE"])))
time.sleep(600)
"""
MIGRATE = """
import os, socket, urllib.parse
assert socket.create_connection(("127.0.0.1", 7000), 5)
address = urllib.parse.urlsplit(os.environ["DATABASE_URL"])
assert socket.create_connection((address.hostname, address.port), 5)
"""


async def test_its_services_and_what_makes_its_tables_run_beside_it_and_share_its_memory(
    engine: DockerEngine, gateway: int, embedded_server_dsn: str, tmp_path: Path
) -> None:
    parts = conninfo_to_dict(embedded_server_dsn)
    place = urlencode({"host": parts.get("host", "localhost"), "port": parts.get("port", 5432)})
    (tmp_path / "service").mkdir()
    (tmp_path / "service" / "Dockerfile").write_text(dockerfile("python3", "-c", SERVICE))
    image = await engine.build(tmp_path / "service", "Dockerfile", 300)
    # An image of this machine has no digest, which the configuration asks for.
    service = ServiceBlock.model_construct(image=image, port=7000, environment={"WHERE": "7000"})
    block = ContainerBlock(port=8000, migrate=["python3", "-c", MIGRATE]).model_copy(
        update={"services": {"redis": service}}
    )
    asked = {"secrets": [], "hosts": [], "ports": [7000, 7001], "gateway": gateway}
    try:
        async with AsyncExitStack() as stack:
            dsn = f"postgresql://spa:secret@/db?{place}"
            head = await start(stack, engine, tmp_path / "head", {}, dsn=dsn, block=block)
            found = await ask(head, asked)
    finally:
        await engine.discard(image)
    assert found["loopback of the host"] == [7000]
    assert found["limits"][0] in (str(2 << 30), "")
