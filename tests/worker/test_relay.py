"""Connections that a relay carries: whole, apart from each other, and ended when either end is."""

import asyncio
import functools
import os
import socket
import struct
from collections.abc import AsyncIterator

import pytest

from ratiba_action.worker.relay import LOOPBACK, MAX_CONNECTIONS, Relay
from tests.support.eventually import eventually_async

KNOWN, UNKNOWN, NOBODY = 1, 2, 3
OPEN, OPENED, DATA, END, LOST = range(5)


@pytest.fixture
async def ends() -> AsyncIterator[tuple[Relay, Relay]]:
    """Both ends, connected; the second one's target KNOWN answers with what it was sent, NOBODY leads nowhere."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(100_000):
            writer.write(piece)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(echo, LOOPBACK, 0) as server:
        port = server.sockets[0].getsockname()[1]
        with socket.create_server((LOOPBACK, 0)) as closed:
            nobody = closed.getsockname()[1]
        targets = {
            KNOWN: functools.partial(asyncio.open_connection, LOOPBACK, port),
            NOBODY: functools.partial(asyncio.open_connection, LOOPBACK, nobody),
        }
        near, far = socket.socketpair()
        streams = [await asyncio.open_connection(sock=each) for each in (near, far)]
        first, second = Relay(*streams[0], {}, first=1), Relay(*streams[1], targets, first=2)
        tasks = [asyncio.create_task(each.run()) for each in (first, second)]
        yield first, second
        streams[0][1].close()
        await asyncio.gather(*tasks)
        streams[1][1].close()


async def sent(port: int, content: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(LOOPBACK, port)

    async def write() -> None:
        writer.write(content)
        await writer.drain()
        writer.write_eof()

    _, answer = await asyncio.gather(write(), reader.read())
    writer.close()
    return answer


async def test_many_connections_are_carried_whole_and_apart(ends: tuple[Relay, Relay]) -> None:
    port = await ends[0].listen(0, KNOWN)
    contents = [os.urandom(size) for size in (0, 1, 65_536, 65_537, 1_000_000, 3_000_000)]
    assert await asyncio.gather(*(sent(port, content) for content in contents * 3)) == contents * 3


@pytest.mark.parametrize("target", [UNKNOWN, NOBODY])
async def test_only_what_the_other_end_has_as_a_target_is_reached(ends: tuple[Relay, Relay], target: int) -> None:
    port = await ends[0].listen(0, target)
    assert not await ends[0].connects(target)
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    assert await reader.read() == b""
    writer.close()
    assert await ends[0].connects(KNOWN)


async def test_a_connection_that_breaks_off_breaks_off_at_the_other_end(ends: tuple[Relay, Relay]) -> None:
    port = await ends[0].listen(0, KNOWN)
    _, writer = await asyncio.open_connection(LOOPBACK, port)
    writer.write(b"x" * 1_000_000)
    writer.transport.abort()
    assert await sent(port, b"the next one") == b"the next one"


async def test_more_connections_than_allowed_are_refused(ends: tuple[Relay, Relay]) -> None:
    port = await ends[0].listen(0, KNOWN)
    kept = []
    for _ in range(MAX_CONNECTIONS):
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(b"x")
        assert await reader.readexactly(1) == b"x"
        kept.append(writer)
    assert await sent(port, b"one more") == b""
    kept.pop().close()
    assert await eventually_async(lambda: sent(port, b"the next one")) == b"the next one"
    for writer in kept:
        writer.close()


async def test_a_wait_for_an_end_that_is_gone_ends(ends: tuple[Relay, Relay]) -> None:
    asked = asyncio.create_task(ends[0].greeted())
    ends[0].close()
    assert await asked is False


async def test_what_is_no_message_of_a_relay_ends_it() -> None:
    near, far = socket.socketpair()
    streams = [await asyncio.open_connection(sock=each) for each in (near, far)]
    relay = Relay(*streams[0], {}, first=1)
    streams[1][1].write(b"\xff" * 64)
    async with asyncio.timeout(60):
        await relay.run()
    for _, writer in streams:
        writer.close()


def message(kind: int, number: int, content: bytes = b"") -> bytes:
    return struct.pack(">BII", kind, number, len(content)) + content


@pytest.mark.parametrize(
    "messages",
    [
        [(OPEN, 1, b"1"), (END, 1), (DATA, 1, b"late")],
        [(OPEN, 1, b"1"), (END, 1), (END, 1), (DATA, 1, b"late")],
        [(OPEN, 1, b"1"), (OPEN, 1, b"1"), (END, 1), (LOST, 1), (LOST, 1)],
        [(OPEN, 1, b"one"), (OPEN, 3, b"\xff"), (OPEN, 5, b"1" * 5_000), (OPEN, 7)],
        [(OPENED, 0), (OPENED, 0), (LOST, 0), (OPENED, 9), (DATA, 9, b"x"), (END, 9), (255, 1, b"x")],
    ],
    ids=["data after an end", "two ends", "one number twice", "no targets", "what nobody asked for"],
)
async def test_an_end_that_keeps_no_order_does_no_harm(
    messages: list[tuple[int, int, bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    connected = asyncio.Event()

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(note, LOOPBACK, 0) as server:
        port = server.sockets[0].getsockname()[1]
        near, far = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=near)
        streams = await asyncio.open_connection(sock=far)
        relay = Relay(*streams, {1: lambda: asyncio.open_connection(LOOPBACK, port)}, first=1)
        running = asyncio.create_task(relay.run())
        for kind, number, *content in messages:
            writer.write(message(kind, number, *content))
            if (kind, content) == (OPEN, [b"1"]):
                await asyncio.wait_for(connected.wait(), 60)
                await reader.readexactly(9)
        writer.write(message(OPEN, 99))
        async with asyncio.timeout(60):
            while await reader.readexactly(9) != message(LOST, 99):
                pass
        writer.close()
        await running
        streams[1].close()
    assert caplog.text == ""


async def test_a_connection_whose_end_reads_nothing_holds_up_the_others_for_a_while_only() -> None:
    reading = asyncio.Event()

    async def read_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reading.wait()
        writer.close()

    async with await asyncio.start_server(read_nothing, LOOPBACK, 0, limit=1) as server:
        port = server.sockets[0].getsockname()[1]
        near, far = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=near)
        streams = await asyncio.open_connection(sock=far)
        targets = {1: lambda: asyncio.open_connection(LOOPBACK, port)}
        running = asyncio.create_task(Relay(*streams, targets, first=1, stalled_seconds=0.2).run())
        writer.write(message(OPEN, 2, b"1"))
        assert await reader.readexactly(9) == message(OPENED, 2)
        for _ in range(400):
            writer.write(message(DATA, 2, b"x" * 65_536))
        writer.write(message(OPEN, 99))
        async with asyncio.timeout(60):
            assert await reader.readexactly(9) == message(LOST, 2)
            while await reader.readexactly(9) != message(LOST, 99):
                pass
        reading.set()
        writer.close()
        await running
        streams[1].close()
