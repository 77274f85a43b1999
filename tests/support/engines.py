"""A container engine that is asked through a socket, as in the action."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ratiba_action.ports import ContainerEngine
from ratiba_action.systems.engine_server import LONGEST_LINE, EngineServer
from ratiba_action.systems.remote_engine import RemoteEngine


@asynccontextmanager
async def served(engine: ContainerEngine, folder: Path) -> AsyncIterator[RemoteEngine]:
    """The gate's end of an engine, whose server has a socket in a folder; what it started ends with it."""
    key, path = secrets.token_hex(16), folder / "socket"
    server = EngineServer(engine, key, folder)
    async with await asyncio.start_unix_server(server.serve, path, limit=LONGEST_LINE):
        yield RemoteEngine(str(path), key)
        await server.close()
