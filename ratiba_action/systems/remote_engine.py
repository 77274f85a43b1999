"""The gate's end of a container engine that another program runs: the action's own, on the runner."""

import asyncio
import contextlib
import io
import json
import os
import tarfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ratiba_action.errors import AbsentError, ImageError, WorkerError
from ratiba_action.systems.engine_server import LENGTH_BYTES, LONGEST_LINE

_PIECE = 65_536
_START_SECONDS = 60.0
_POLL_SECONDS = 0.1
_LOST_CODE = 125
"""Of a container whose end nobody has seen: Docker's own, for one that it could not run."""
_REMEDY = "Start the job again; the step's log says why the program ended."
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class RemoteContainer:
    """Implements ``RunningContainer``.

    Args:
        number: that the program gave it.
        streams: on which its end is reported.
    """

    def __init__(self, engine: "RemoteEngine", number: int, streams: Streams) -> None:
        self._engine, self._number = engine, number
        self._code: int | None = None
        self._printed = ""
        self._waiting = asyncio.create_task(self._await_end(*streams))

    async def _await_end(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answer = await _answer(reader)
            self._printed = str(answer.get("printed", ""))
            code = answer.get("exit")
            self._code = code if type(code) is int else _LOST_CODE
        except WorkerError:
            self._code = _LOST_CODE
        finally:
            writer.close()

    @property
    def exit_code(self) -> int | None:
        """See ``RunningContainer``."""
        return self._code

    async def wait(self, seconds: float) -> int | None:
        """See ``RunningContainer``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._waiting)
        return self._code

    async def output(self) -> str:
        """See ``RunningContainer``."""
        if self._code is None:
            printed = await self._engine.printed("container", self._number)
            if self._code is None:
                return printed
        return self._printed


class RemotePod:
    """Implements ``Pod``.

    Args:
        number: that the program gave it.
        streams: those of its relay.
    """

    def __init__(self, engine: "RemoteEngine", number: int, streams: Streams) -> None:
        self._engine, self._number = engine, number
        self.reader, self.writer = streams

    async def run(
        self, image: str, environment: Mapping[str, str], command: Sequence[str] = (), *, secrets: Collection[str] = ()
    ) -> RemoteContainer:
        """See ``Pod``."""
        asked = {
            "pod": self._number,
            "image": image,
            "environment": dict(environment),
            "command": list(command),
            "secrets": sorted(secrets),
        }
        answer, streams = await self._engine.ask("run", asked)
        return RemoteContainer(self._engine, int(answer["container"]), streams)

    async def output(self) -> str:
        """See ``Pod``."""
        return await self._engine.printed("pod", self._number)

    async def end(self) -> None:
        """See ``Pod``."""
        if not self.writer.is_closing():
            with contextlib.suppress(WorkerError):  # a program that is gone has ended its containers
                await self._engine.tell("end", {"pod": self._number})
            self.writer.close()


class RemoteEngine:
    """Implements ``ContainerEngine``.

    Args:
        path: of the socket, which the program makes.
        key: of the run, which the program was given too.
    """

    def __init__(self, path: str, key: str) -> None:
        self._path, self._key = path, key

    async def prepare(self) -> None:
        """See ``ContainerEngine``; the program may still be starting."""
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                await self.tell("prepare", {})
            except AbsentError:
                if time.monotonic() >= deadline:
                    raise
            else:
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def build(self, folder: Path, dockerfile: str, seconds: float) -> str:
        """See ``ContainerEngine``; the program gets the files of the folder."""
        asked = {"dockerfile": dockerfile, "seconds": seconds}
        answer, streams = await self.ask("build", asked, pieces=_archive(folder))
        streams[1].close()
        return str(answer["image"])

    async def pull(self, image: str) -> None:
        """See ``ContainerEngine``."""
        await self.tell("pull", {"image": image})

    async def open_pod(self, listening: Collection[int], targets: Collection[int]) -> RemotePod:
        """See ``ContainerEngine``."""
        answer, streams = await self.ask("pod", {"listening": sorted(listening), "targets": sorted(targets)})
        return RemotePod(self, int(answer["pod"]), streams)

    async def discard(self, image: str) -> None:
        """See ``ContainerEngine``."""
        with contextlib.suppress(WorkerError):
            await self.tell("discard", {"image": image})

    async def printed(self, of: str, number: int) -> str:
        """What a container or the relay of a pod has printed; empty if it is gone."""
        try:
            answer = await self.tell("printed", {"of": of, "number": number})
        except WorkerError:
            return ""
        return str(answer.get("printed", ""))

    async def tell(self, word: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request, all of it; see ``ask``."""
        answer, (_, writer) = await self.ask(word, asked)
        writer.close()
        return answer

    async def ask(
        self, word: str, asked: Mapping[str, Any], pieces: Iterator[bytes] | None = None
    ) -> tuple[dict[str, Any], Streams]:
        """The first answer to a request, and the connection, which goes on.

        Args:
            pieces: what follows the request.

        Raises:
            ImageError: an image cannot be built.
            WorkerError: the program is gone, or could not do it.
        """
        line = json.dumps({"key": self._key, "word": word, **asked}).encode() + b"\n"
        if len(line) > LONGEST_LINE:
            raise WorkerError(f"the variables of a container have more than {LONGEST_LINE:,} bytes.")
        try:
            reader, writer = await asyncio.open_unix_connection(self._path, limit=LONGEST_LINE)
        except OSError as problem:
            raise AbsentError(f"the action's program that starts containers is gone: {problem}.", _REMEDY) from problem
        try:
            await _send(writer, line, pieces)
            return await _answer(reader), (reader, writer)
        except BaseException:
            writer.close()
            raise


async def _send(writer: asyncio.StreamWriter, line: bytes, pieces: Iterator[bytes] | None) -> None:
    """A program that refuses may close the connection before it has read all; its answer says why."""
    with contextlib.suppress(ConnectionError):
        writer.write(line)
        if pieces is None:
            return
        for piece in pieces:
            for begin in range(0, len(piece), _PIECE):
                part = piece[begin : begin + _PIECE]
                writer.write(len(part).to_bytes(LENGTH_BYTES) + part)
                await writer.drain()
        writer.write(bytes(LENGTH_BYTES))
        await writer.drain()


async def _answer(reader: asyncio.StreamReader) -> dict[str, Any]:
    try:
        found = json.loads(await reader.readline())
    except (ValueError, ConnectionError):
        found = None
    if not isinstance(found, dict):
        raise WorkerError("the action's program that starts containers has ended.", _REMEDY)
    if "error" in found:
        kind = ImageError if found["error"] == "image" else WorkerError
        raise kind(str(found.get("problem")), str(found.get("remedy") or ""))
    return found


def _archive(folder: Path) -> Iterator[bytes]:
    """The files, folders and links below a folder, as an archive in pieces."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in _below(folder):
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            if path.is_symlink():
                member.type, member.linkname = tarfile.SYMTYPE, str(path.readlink())
                archive.addfile(member)
            elif path.is_dir():
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
            elif path.is_file():
                status = path.stat()
                member.size, member.mode = status.st_size, status.st_mode & 0o777
                with path.open("rb") as content:
                    archive.addfile(member, content)
            yield written.getvalue()
            written.seek(0)
            written.truncate()
    yield written.getvalue()


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders.sort()
        yield from (Path(place) / name for name in sorted((*folders, *files)))
