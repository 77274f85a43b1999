"""A container engine of the tests: its containers are processes of this machine, with the relay's own code beside them.

It has none of what keeps a container apart. A Dockerfile is as much of one as its lines ``RUN`` and ``CMD``.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ratiba_action.errors import ImageError, WorkerError
from ratiba_action.systems.launch import worker_folder
from ratiba_action.systems.link import OutputTail, open_output

PYTHON = "FROM python:3.13-slim\nWORKDIR /bot\nCOPY . .\n"
"""How a Dockerfile begins that both engines build."""


def dockerfile(*command: str, run: str = "") -> str:
    """The text of a Dockerfile that copies its folder, runs a command of the shell and starts a program."""
    return PYTHON + (f"RUN {run}\n" if run else "") + f"CMD {json.dumps(command)}\n"


class ProcessContainer:
    """Implements ``RunningContainer``."""

    def __init__(self, process: asyncio.subprocess.Process, printed: OutputTail) -> None:
        self._process, self._printed = process, printed

    @property
    def exit_code(self) -> int | None:
        """See ``RunningContainer``."""
        return self._process.returncode

    async def wait(self, seconds: float) -> int | None:
        """See ``RunningContainer``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._process.wait()
        return None

    async def output(self) -> str:
        """See ``RunningContainer``."""
        return await self._printed.text()

    async def end(self) -> None:
        """Kill it with its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        try:
            await self._process.wait()
        finally:
            self._printed.close()


class ProcessPod:
    """Implements ``Pod``."""

    def __init__(self, images: Mapping[str, Path], relay: asyncio.subprocess.Process, printed: OutputTail) -> None:
        assert relay.stdin is not None
        assert relay.stdout is not None
        self._images, self._relay, self._printed = images, relay, printed
        self.reader, self.writer = relay.stdout, relay.stdin
        self._containers: list[ProcessContainer] = []

    async def run(
        self, image: str, environment: Mapping[str, str], command: Sequence[str] = (), *, secrets: Collection[str] = ()
    ) -> ProcessContainer:
        """See ``Pod``; no command line shows a value, secret or not."""
        del secrets
        folder = self._images[image]
        words = command or json.loads(_lines(folder / "Dockerfile", "CMD")[-1])
        container = ProcessContainer(*await _start(words, folder, {"PATH": os.defpath, **environment}))
        self._containers.append(container)
        return container

    async def output(self) -> str:
        """See ``Pod``."""
        return await self._printed.text()

    async def end(self) -> None:
        """See ``Pod``."""
        if not self.writer.is_closing():
            self.writer.close()
        try:
            await self._relay.wait()
            for container in self._containers:
                await container.end()
        finally:
            self._printed.close()


class ProcessEngine:
    """Implements ``ContainerEngine``.

    Args:
        folder: for copies of what is built.

    Attributes:
        images: the copy of each one that is there, by its name; a test may add some, as those of a registry.
        built: how many were built.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self.built = folder, 0
        self.images: dict[str, Path] = {}

    async def prepare(self) -> None:
        """See ``ContainerEngine``."""

    async def build(self, folder: Path, dockerfile: str, seconds: float) -> str:
        """See ``ContainerEngine``."""
        self.built += 1
        copy = self._folder / f"image-{self.built}"
        shutil.copytree(folder, copy, symlinks=True)
        (copy / dockerfile).replace(copy / "Dockerfile")
        for line in _lines(copy / "Dockerfile", "RUN"):
            container = ProcessContainer(*await _start(["sh", "-c", line], copy, {"PATH": os.defpath}))
            try:
                code, printed = await container.wait(seconds), await container.output()
            finally:
                await container.end()
            if code != 0:
                why = f"did not end within {seconds:g} s" if code is None else f"failed: {printed}"
                raise ImageError(f"The build of {dockerfile!r} {why}.")
        self.images[copy.name] = copy
        return copy.name

    async def pull(self, image: str) -> None:
        """See ``ContainerEngine``."""
        if image not in self.images:
            raise WorkerError(f"the image {image!r} cannot be pulled.")

    async def open_pod(self, listening: Collection[int], targets: Collection[int]) -> ProcessPod:
        """See ``ContainerEngine``; what it would listen for is on this machine already."""
        del listening
        words = [sys.executable, "-I", "-S", str(worker_folder() / "relay.py"), "", ",".join(map(str, targets))]
        printed, writing = await open_output()
        pipe = asyncio.subprocess.PIPE
        relay = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, stderr=writing)
        os.close(writing)
        return ProcessPod(self.images, relay, printed)

    async def discard(self, image: str) -> None:
        """See ``ContainerEngine``."""
        self.images.pop(image, None)


def _lines(path: Path, instruction: str) -> list[str]:
    begin = f"{instruction} "
    return [line.removeprefix(begin) for line in path.read_text().splitlines() if line.startswith(begin)]


async def _start(
    words: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> tuple[asyncio.subprocess.Process, OutputTail]:
    printed, writing = await open_output()
    program = sys.executable if words[0] == "python3" else words[0]
    try:
        process = await asyncio.create_subprocess_exec(
            *(program, *words[1:]),
            cwd=folder,
            env=dict(environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            start_new_session=True,
        )
    except BaseException:
        printed.close()
        raise
    finally:
        os.close(writing)
    return process, printed
