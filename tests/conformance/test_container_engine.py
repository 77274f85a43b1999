"""What every ``ContainerEngine`` keeps to: the one of processes that other tests use, Docker, and one elsewhere."""

import asyncio
import functools
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from ratiba_action.errors import ImageError, WorkerError
from ratiba_action.ports import ContainerEngine, Pod
from ratiba_action.systems.docker_engine import DockerEngine
from ratiba_action.worker.relay import LOOPBACK, Relay
from tests.support.container_image import why_not
from tests.support.containers import ProcessEngine, dockerfile
from tests.support.engines import served
from tests.support.eventually import eventually_async

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("alone_with_system_containers")]
SERVER = """
import json, os, socket
server = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
print("listening", flush=True)
while True:
    connection, _ = server.accept()
    asked = connection.makefile().readline().strip()
    answer = ""
    if asked == "environment":
        answer = json.dumps(dict(os.environ))
    elif asked == "end":
        print("out of slots", flush=True)
        os._exit(4)
    elif asked:
        with socket.create_connection(("127.0.0.1", int(os.environ["GATEWAY"]))) as gateway:
            gateway.sendall(asked.encode() + b"\\n")
            answer = gateway.makefile().readline().strip()
    connection.sendall(answer.encode())
    connection.close()
"""


DOCKER = pytest.mark.docker


@pytest.fixture(
    params=[
        "processes",
        "remote processes",
        pytest.param("docker", marks=DOCKER),
        pytest.param("remote docker", marks=DOCKER),
    ]
)
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ContainerEngine]:
    """The engine of the parameter, prepared."""
    if "docker" in request.param and (reason := why_not()):
        pytest.skip(reason)
    near: ContainerEngine = (
        DockerEngine(os.environ) if "docker" in request.param else ProcessEngine(tmp_path / "images")
    )
    async with AsyncExitStack() as stack:
        if "remote" in request.param:
            near = await stack.enter_async_context(served(near, tmp_path))
        await near.prepare()
        yield near


@pytest.fixture
async def image(engine: ContainerEngine, tmp_path: Path) -> AsyncIterator[str]:
    """An image of the server above."""
    name = await engine.build(folder_of(tmp_path / "bot", dockerfile("python3", "server.py")), "Dockerfile", 300)
    yield name
    await engine.discard(name)


def folder_of(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "Dockerfile").write_text(text)
    (folder / "server.py").write_text(SERVER)
    return folder


def free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as probe:
        return int(probe.getsockname()[1])


class Opened:
    """A pod with the server, and this end of its relay."""

    def __init__(self, pod: Pod, relay: Relay, port: int) -> None:
        self.pod, self.relay, self.port = pod, relay, port
        self._carrying = asyncio.create_task(relay.run())

    async def ask(self, text: str) -> str:
        """What the server answers."""
        async with asyncio.timeout(30):
            await eventually_async(lambda: self.relay.connects(self.port))
            reader, writer = await asyncio.open_connection(LOOPBACK, await self.relay.listen(0, self.port))
            writer.write(text.encode() + b"\n")
            answer = await reader.read()
            writer.close()
            return answer.decode()

    async def end(self) -> None:
        """End all of it."""
        self.relay.close()
        await self.pod.end()
        await self._carrying


async def open_pod(engine: ContainerEngine, gateway: int, port: int) -> Opened:
    pod = await engine.open_pod([gateway], [port])
    connect = functools.partial(asyncio.open_connection, LOOPBACK, gateway)
    return Opened(pod, Relay(pod.reader, pod.writer, {gateway: connect}, first=1), port)


@pytest.fixture
async def gateway() -> AsyncIterator[int]:
    """A server of this machine that answers each line in capitals; its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readline()).upper())
        writer.close()

    server = await asyncio.start_server(answer, LOOPBACK, 0)
    async with server:
        yield int(server.sockets[0].getsockname()[1])


async def test_a_container_answers_and_reaches_the_targets_of_its_relay(
    engine: ContainerEngine, image: str, gateway: int
) -> None:
    port = free_port()
    opened = await open_pod(engine, gateway, port)
    try:
        assert await opened.relay.greeted(), await opened.pod.output()
        given = {"PORT": str(port), "GATEWAY": str(gateway), "TOKEN": "of the conversation"}
        container = await opened.pod.run(image, given, secrets=["TOKEN"])
        assert await asyncio.gather(*(opened.ask(text) for text in ("a", "b", "c"))) == ["A", "B", "C"]
        found = await opened.ask("environment")
        assert '"TOKEN": "of the conversation"' in found
        assert container.exit_code is None
    finally:
        await opened.end()
    assert await container.wait(10) is not None
    await opened.end()


async def test_a_container_that_ends_has_its_code_and_what_it_printed(
    engine: ContainerEngine, image: str, gateway: int
) -> None:
    port = free_port()
    opened = await open_pod(engine, gateway, port)
    try:
        assert await opened.relay.greeted(), await opened.pod.output()
        container = await opened.pod.run(image, {"PORT": str(port)})
        await opened.ask("end")
        assert await container.wait(10) == 4
        assert await container.output() == "listening\nout of slots"
        other = await opened.pod.run(image, {}, ["python3", "-c", "print('migrated')"])
        assert (await other.wait(30), await other.output()) == (0, "migrated")
    finally:
        await opened.end()


async def test_a_build_that_fails_says_its_last_lines(engine: ContainerEngine, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "bad", dockerfile("true", run="echo no such package; exit 3"))
    with pytest.raises(ImageError, match=r"The build of 'Dockerfile' failed: .*no such package"):
        await engine.build(folder, "Dockerfile", 300)


async def test_a_build_that_takes_too_long_is_ended(engine: ContainerEngine, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "slow", dockerfile("true", run="sleep 600"))
    with pytest.raises(ImageError, match="did not end within 2 s"):
        await engine.build(folder, "Dockerfile", 2)


async def test_an_image_that_cannot_be_had_is_named(engine: ContainerEngine) -> None:
    image = f"registry.invalid/bot@sha256:{'0' * 64}"
    with pytest.raises(WorkerError, match=r"the image 'registry.invalid/bot@sha256:0+' cannot be pulled"):
        await engine.pull(image)
