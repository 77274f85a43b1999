"""Builds images and starts containers on the runner, for a gate in a container that has no access to Docker.

It runs on the runner's bare Python. Whoever speaks with it shows the key of the run first, and then has the words of
``EngineServer`` and no others: no option of Docker's, no path of this machine and no image but by its digest or from
an answer of its own. Each word is a connection of its own through a socket in the gate's container.
"""

import asyncio
import contextlib
import ctypes
import hmac
import itertools
import json
import os
import re
import shutil
import signal
import socket
import sys
import tarfile
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

from ratiba_action.errors import ImageError, WorkerError
from ratiba_action.ports import ContainerEngine, Pod, RunningContainer
from ratiba_action.systems.docker_engine import DockerEngine
from ratiba_action.worker.relay import Relay

LONGEST_LINE = 1 << 20
"""Bytes of a request or an answer."""
LENGTH_BYTES = 4
"""Of the number before each piece of an archive; 0 ends it."""
LARGEST_CONTEXT = 2 << 30
"""Bytes of a build's files together."""
_MAX_FILES = 200_000
_MAX_PODS = 64
_MAX_NAMES = 200
_KEY_SECONDS = 20.0
_FOREVER_SECONDS = 3_600.0
_PIECE = 65_536
_DIGEST = re.compile(r"[a-z0-9][\w./:-]{0,400}@sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z_]\w{0,200}")
_FILE = re.compile(r"[\w.][\w./ +@-]{0,400}")
_PARENT_DIED = 1
"""``PR_SET_PDEATHSIG``, by which the kernel ends this program with the shell that started it."""
Answer = Callable[[Mapping[str, Any]], Awaitable[None]]


class RefusedError(Exception):
    """A request that no gate of ours makes."""


class Asked:
    """A request; every part of it is checked when it is read, and RefusedError says what is wrong."""

    def __init__(self, line: bytes) -> None:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        self._found: dict[str, Any] = found if isinstance(found, dict) else {}

    def text(self, name: str, pattern: re.Pattern[str]) -> str:
        """A text of one form."""
        text: str = self._value(name, lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None)
        return text

    def file(self, name: str) -> str:
        """A path below the folder that is built."""
        self._value(name, lambda value: ".." not in PurePosixPath(str(value)).parts)
        return self.text(name, _FILE)

    def number(self, name: str, maximum: float) -> float:
        """A number from 0 to ``maximum``."""
        number: float = self._value(name, lambda value: type(value) in {int, float} and 0 <= value <= maximum)
        return number

    def ports(self, name: str) -> list[int]:
        """A few ports."""
        return self._list(name, lambda value: type(value) is int and 0 < value < 1 << 16)

    def texts(self, name: str) -> list[str]:
        """A few texts."""
        return self._list(name, _is_text)

    def variables(self, name: str) -> dict[str, str]:
        """Variables of a container."""
        values: dict[str, str] = self._value(
            name,
            lambda values: (
                isinstance(values, dict)
                and len(values) <= _MAX_NAMES
                and all(_NAME.fullmatch(key) and _is_text(value) for key, value in values.items())
            ),
        )
        return values

    def _list(self, name: str, is_allowed: Callable[[Any], bool]) -> list[Any]:
        values: list[Any] = self._value(
            name,
            lambda values: isinstance(values, list) and len(values) <= _MAX_NAMES and all(map(is_allowed, values)),
        )
        return values

    def _value(self, name: str, is_allowed: Callable[[Any], bool]) -> Any:
        value = self._found.get(name)
        if not is_allowed(value):
            raise RefusedError(f"{name!r} is not allowed")
        return value

    def shows(self, key: str) -> bool:
        """Whether it has the key of the run."""
        shown = self._found.get("key")
        return isinstance(shown, str) and hmac.compare_digest(shown.encode(), key.encode())

    @property
    def word(self) -> str:
        """What is asked for."""
        return str(self._found.get("word"))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


class EngineServer:
    """Does what a gate asks of an engine; ends whatever was started with itself.

    Args:
        key: of the run; a connection that does not show it is closed without a word.
        folder: for the files of builds, which are removed after each.
    """

    def __init__(self, engine: ContainerEngine, key: str, folder: Path) -> None:
        self._engine, self._key, self._folder = engine, key, folder
        self._numbers = itertools.count(1)
        self._pods: dict[int, Pod] = {}
        self._containers: dict[int, RunningContainer] = {}
        self._built: set[str] = set()
        self._pulled: set[str] = set()
        self._building: set[asyncio.Task[str]] = set()
        self._closed = False
        self._words: dict[str, Callable[[Asked, asyncio.StreamReader, Answer], Awaitable[None]]] = {
            "prepare": self._prepare,
            "build": self._build,
            "pull": self._pull,
            "discard": self._discard,
            "run": self._run,
            "printed": self._printed,
            "end": self._end_pod,
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the one request of a connection, and close it."""

        async def answer(content: Mapping[str, Any]) -> None:
            writer.write(json.dumps(content).encode() + b"\n")
            await writer.drain()

        try:
            async with asyncio.timeout(_KEY_SECONDS):
                asked = Asked(await reader.readline())
            if not asked.shows(self._key):
                return
            await self._do(asked, reader, writer, answer)
        except (TimeoutError, ValueError, ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _do(
        self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer
    ) -> None:
        try:
            if asked.word == "pod":
                await self._pod(asked, reader, writer, answer)
            else:
                await self._words.get(asked.word, self._unknown)(asked, reader, answer)
        except RefusedError as problem:
            await answer({"error": "worker", "problem": f"the runner's program for containers refused: {problem}."})
        except (ImageError, WorkerError) as problem:
            kind = "image" if isinstance(problem, ImageError) else "worker"
            await answer({"error": kind, "problem": problem.problem, "remedy": problem.remedy})

    async def _unknown(self, asked: Asked, _: asyncio.StreamReader, __: Answer) -> None:
        raise RefusedError(f"there is no word {asked.word[:40]!r}")

    async def close(self) -> None:
        """End every container and remove every image that was built; may be called twice."""
        self._closed = True
        building = list(self._building)
        for each in building:
            each.cancel()
        # One that was done just now is an image all the same.
        ended = await asyncio.gather(*building, return_exceptions=True)
        self._built.update(image for image in ended if isinstance(image, str))
        pods, self._pods = list(self._pods.values()), {}
        await asyncio.gather(*(pod.end() for pod in pods), return_exceptions=True)
        built, self._built = list(self._built), set()
        for image in built:
            await self._engine.discard(image)

    async def _prepare(self, _: Asked, __: asyncio.StreamReader, answer: Answer) -> None:
        await self._engine.prepare()
        await answer({})

    async def _build(self, asked: Asked, reader: asyncio.StreamReader, answer: Answer) -> None:
        dockerfile, seconds = asked.file("dockerfile"), asked.number("seconds", 3_600)
        with (
            tempfile.TemporaryDirectory(dir=self._folder, prefix="context-") as place,
            tempfile.TemporaryFile(dir=self._folder) as archive,
        ):
            await _receive(reader, archive)
            archive.seek(0)
            context = Path(place) / "context"
            await asyncio.to_thread(unpack, archive, context)
            _require_files(context, dockerfile)
            if self._closed:
                raise RefusedError("the run has ended")
            building = asyncio.create_task(self._engine.build(context, dockerfile, seconds))
            self._building.add(building)
            building.add_done_callback(self._building.discard)
            image = await building
        self._built.add(image)
        await answer({"image": image})

    async def _pull(self, asked: Asked, _: asyncio.StreamReader, answer: Answer) -> None:
        image = asked.text("image", _DIGEST)
        await self._engine.pull(image)
        self._pulled.add(image)
        await answer({})

    async def _discard(self, asked: Asked, _: asyncio.StreamReader, answer: Answer) -> None:
        image = asked.text("image", re.compile(r".{1,500}"))
        if image in self._built:
            self._built.discard(image)
            await self._engine.discard(image)
        await answer({})

    async def _pod(
        self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer
    ) -> None:
        if len(self._pods) >= _MAX_PODS:
            raise RefusedError(f"{_MAX_PODS} conversations are open")
        pod = await self._engine.open_pod(asked.ports("listening"), asked.ports("targets"))
        number = next(self._numbers)
        self._pods[number] = pod
        try:
            await answer({"pod": number})
            # A relay that has ended leaves its pod, for what it has printed, until the gate closes the connection.
            back = asyncio.create_task(_copy(pod.reader, writer))
            await _copy(reader, pod.writer)
            back.cancel()
        finally:
            await pod.end()
            self._pods.pop(number, None)

    async def _run(self, asked: Asked, _: asyncio.StreamReader, answer: Answer) -> None:
        pod, image = self._open_pod(asked), asked.text("image", re.compile(r".{1,500}"))
        if image not in self._built | self._pulled:
            raise RefusedError("the image was neither built nor pulled in this run")
        environment, secrets = asked.variables("environment"), asked.texts("secrets")
        if any("\n" in environment.get(name, "") or "\r" in environment.get(name, "") for name in secrets):
            raise RefusedError("a secret has several lines")
        container = await pod.run(image, environment, asked.texts("command"), secrets=secrets)
        number = next(self._numbers)
        self._containers[number] = container
        try:
            await answer({"container": number})
            code = None
            while code is None:
                code = await container.wait(_FOREVER_SECONDS)
            await answer({"exit": code, "printed": await container.output()})
        finally:
            self._containers.pop(number, None)

    async def _printed(self, asked: Asked, _: asyncio.StreamReader, answer: Answer) -> None:
        which = self._pods if asked.text("of", re.compile("pod|container")) == "pod" else self._containers
        found = which.get(int(asked.number("number", 1e9)))
        await answer({"printed": await found.output() if found is not None else ""})

    async def _end_pod(self, asked: Asked, _: asyncio.StreamReader, answer: Answer) -> None:
        pod = self._pods.get(int(asked.number("pod", 1e9)))
        if pod is not None:
            await pod.end()
        await answer({})

    def _open_pod(self, asked: Asked) -> Pod:
        pod = self._pods.get(int(asked.number("pod", 1e9)))
        if pod is None:
            raise RefusedError("the conversation has ended")
        return pod


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()


async def _receive(reader: asyncio.StreamReader, archive: IO[bytes]) -> None:
    """Write the pieces of an archive to a file; raises RefusedError where they are too many."""
    size = 0
    while length := int.from_bytes(await reader.readexactly(LENGTH_BYTES)):
        size += length
        if length > _PIECE or size > LARGEST_CONTEXT:
            raise RefusedError(f"the files of the build have more than {LARGEST_CONTEXT >> 30} GiB")
        archive.write(await reader.readexactly(length))


def unpack(archive: IO[bytes], folder: Path) -> None:
    """Write the files, folders and links of an archive to a folder that is not there yet.

    Links are made last, when every folder is there, so that nothing is written through one. Nothing of this machine
    follows them afterwards: the builder gets them as links.

    Raises:
        RefusedError: a name leads out of the folder, or an entry is something else.
    """
    folder.mkdir()
    links: list[tuple[Path, str]] = []
    size = 0
    try:
        with tarfile.open(fileobj=archive, mode="r|") as members:
            for number, member in enumerate(members):
                parts = PurePosixPath(member.name).parts
                size += member.size
                if not parts or parts[0] == "/" or ".." in parts or number > _MAX_FILES or size > LARGEST_CONTEXT:
                    raise RefusedError(f"the file {member.name[:200]!r} cannot be built")
                target = folder.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                if member.issym():
                    links.append((target, member.linkname))
                elif member.isdir():
                    target.mkdir(exist_ok=True)
                elif member.isreg() and (content := members.extractfile(member)) is not None:
                    with target.open("xb") as file:
                        shutil.copyfileobj(content, file)
                    target.chmod(member.mode & 0o777 | 0o600)
                else:
                    raise RefusedError(f"{member.name[:200]!r} is no file")
        for target, leads_to in links:
            target.symlink_to(leads_to)
    except (OSError, tarfile.TarError) as problem:
        raise RefusedError(f"the files of the build cannot be written: {problem}") from problem


def _require_files(context: Path, dockerfile: str) -> None:
    """See that what Docker's command reads itself is in the folder and no link: it could lead to any file here."""
    top = context.resolve()
    for name in (dockerfile, f"{dockerfile}.dockerignore", ".dockerignore"):
        path = top.joinpath(*PurePosixPath(name).parts)
        if (os.path.lexists(path) or name == dockerfile) and (not path.is_file() or path.resolve() != path):
            raise ImageError(f"{name!r} is no file of its own: a link is not followed.", "Replace it by a file.")


async def serve_channel(server: EngineServer, channel: asyncio.subprocess.Process) -> None:
    """Answer the requests that come through a relay until it ends."""
    if channel.stdin is None or channel.stdout is None:
        raise ValueError("the channel has no pipes")
    tasks: set[asyncio.Task[None]] = set()

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        near, far = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=far, limit=LONGEST_LINE)
        task = asyncio.create_task(server.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return await asyncio.open_connection(sock=near)

    await Relay(channel.stdout, channel.stdin, {0: connect}, first=1).run()


async def _serve_until_ended(image: str, volume: str, user: str, key: str, folder: Path) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    engine = DockerEngine(os.environ, relay_image=image, run=volume)
    server = EngineServer(engine, key, folder)
    channel, printed = await engine.open_channel(volume, user)
    serving = asyncio.create_task(serve_channel(server, channel))
    waiting = asyncio.create_task(ended.wait())
    try:
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.is_set():
            sys.stderr.write(f"The channel for containers has ended. Docker printed: {await printed.text()}\n")
    finally:
        await server.close()
        if channel.stdin is not None:
            channel.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(channel.wait(), 10)
        serving.cancel()
        waiting.cancel()
        printed.close()


def main(arguments: Sequence[str]) -> int:
    """Serve the gate of a step until SIGTERM, or until that step's shell is gone.

    Args:
        arguments: the gate's image, the volume of the channel, user and group of the gate, a folder for the files of
            builds, and the shell's process id. The key stands on standard input.
    """
    image, volume, user, folder, shell = arguments
    key = sys.stdin.readline().strip()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PARENT_DIED, signal.SIGTERM)
    if os.getppid() != int(shell) or not key:
        return 1
    asyncio.run(_serve_until_ended(image, volume, user, key, Path(folder)))
    return 0
