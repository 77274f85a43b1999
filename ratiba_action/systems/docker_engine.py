"""Docker, by its command: only the command builds by BuildKit, with the cache and the syntax that Dockerfiles rely on.

Every container joins the network and the processes of its pod's relay, and is removed by the daemon when it ends. When
the gate is killed, the relay reads the end of its input, ends, and the kernel ends what shares its processes.
"""

import asyncio
import contextlib
import functools
import hashlib
import os
import secrets as random_bytes
import socket
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ratiba_action.errors import ImageError, WorkerError
from ratiba_action.systems.launch import worker_folder
from ratiba_action.systems.link import OutputTail, open_output
from ratiba_action.util.text import printable, printable_lines

RELAY_IMAGE = "python:3.13-slim"
"""Runs the relay's source: any image with Python 3.11 or newer does."""
LABEL = "ratiba.system"
_IMAGE_LABEL = "ratiba.image"
"""Has an image's name, which a build that is cut short may not have given it yet."""
_NAMES_OF_IMAGE = f'{{{{index .Config.Labels "{_IMAGE_LABEL}"}}}}{{{{range .RepoTags}}}} {{{{.}}}}{{{{end}}}}'
_OURS = frozenset(
    ("PATH", "HOME", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "TMPDIR", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR")
)
"""What the command itself needs, beside its own variables, which begin with DOCKER_."""
_CONFINED = (
    *("--rm", "--pull", "never", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--log-driver", "none"),
    *("--pids-limit", "512", "--ulimit", "core=0", "--ulimit", "fsize=17179869184"),
)
_POD_BYTES, _RELAY_BYTES = 4 << 30, 256 << 20
"""Memory, without swap: of all containers of a conversation together, in equal shares, and of the relay beside them."""
_PROXIES = tuple(f"{name}_PROXY" for name in ("HTTP", "HTTPS", "FTP", "NO", "ALL"))
_NO_PROXIES = tuple(word for name in _PROXIES for each in (name, name.lower()) for word in ("--env", f"{each}="))
"""The command gives every container the proxies of the user's own configuration, which may hold a password."""
_RELAY_USERS = range(20_000, 60_000)
"""One is drawn for each relay, so that no image can name it as its own user and write into the relay's pipes."""
CHANNEL_FOLDER = "/home/ratiba"
"""Of the gate's image: where the volume with the gate's socket is mounted."""
_PIPE_BYTES = 16_384
_SHOWN = 2_000
_END_SECONDS = 10.0
_COMMAND_SECONDS = 120.0
_PULL_SECONDS = 600.0
_REMOVAL_SECONDS = 120
_REMOVE_LATER = """(
(sleep $3; kill -s KILL 0) &
for pause in 0 1 3 6; do
sleep $pause
docker rm --force $1
[ -z "$2" ] || docker image rm --force $(docker image ls --quiet --filter "label=$2")
done
kill -s KILL 0
) < /dev/null > /dev/null 2>&1 &"""
"""Tried again: the daemon may still be making one of them, and an image goes only after its containers.

It ends by killing its own process group, at the latest after $3 seconds: a daemon may hang.
"""
_START = "Start Docker, and see that `docker version` answers; or start the server by `system.serve` instead."


class DockerContainer:
    """Implements ``RunningContainer``; the client prints what the container prints, and ends as it ends."""

    def __init__(self, client: asyncio.subprocess.Process, printed: OutputTail) -> None:
        self._client, self._printed = client, printed

    @property
    def exit_code(self) -> int | None:
        """See ``RunningContainer``."""
        return self._client.returncode

    async def wait(self, seconds: float) -> int | None:
        """See ``RunningContainer``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._client.wait()
        return None

    async def output(self) -> str:
        """See ``RunningContainer``."""
        return await self._printed.text()

    async def end(self) -> None:
        """Wait for the client, whose container has ended; may be called twice."""
        if await self.wait(_END_SECONDS) is None:
            self._client.kill()
            await self._client.wait()
        self._printed.close()


class DockerPod:
    """Implements ``Pod``.

    Args:
        name: of the relay's container.
        relay: its client, whose input and output are the relay's.
        memory: bytes that each container may use.
    """

    def __init__(
        self, engine: "DockerEngine", name: str, relay: asyncio.subprocess.Process, printed: OutputTail, memory: int
    ) -> None:
        if relay.stdin is None or relay.stdout is None:
            raise ValueError("the relay has no pipes")
        self._engine, self._name, self._relay, self._printed, self._memory = engine, name, relay, printed, memory
        self.reader, self.writer = relay.stdout, relay.stdin
        self._containers: dict[str, DockerContainer] = {}

    async def run(
        self, image: str, environment: Mapping[str, str], command: Sequence[str] = (), *, secrets: Collection[str] = ()
    ) -> DockerContainer:
        """See ``Pod``."""
        # By a pipe of its own: in the command's environment, a name could be one that the command itself obeys.
        hidden = "".join(f"{name}={value}\n" for name, value in environment.items() if name in secrets)
        open_names = [name for name in environment if name not in secrets]
        given = [word for name in open_names for word in ("--env", f"{name}={environment[name]}")]
        joined = ("--network", f"container:{self._name}", "--pid", f"container:{self._name}")
        name = f"{self._name}-{len(self._containers)}"
        words = ("run", *_CONFINED, *_at_most(self._memory), *joined, "--name", name)
        words = (*words, *self._engine.marks, *_NO_PROXIES)
        with self._engine.leaving_nothing(containers=[name]):
            client, printed = await self._engine.start(words, (*given, image, *command), hidden=hidden)
        container = self._containers[name] = DockerContainer(client, printed)
        return container

    async def output(self) -> str:
        """See ``Pod``."""
        return await self._printed.text()

    async def end(self) -> None:
        """See ``Pod``."""
        if not self.writer.is_closing():
            self.writer.close()
        with self._engine.leaving_nothing(containers=[self._name, *self._containers]):
            try:
                async with asyncio.timeout(_END_SECONDS):
                    await self._relay.wait()
            except TimeoutError:
                await self._engine.remove(self._name)
                await self._relay.wait()
            for name, container in self._containers.items():
                if await container.wait(_END_SECONDS) is None:
                    await self._engine.remove(name)
                await container.end()
        self._printed.close()


def _at_most(memory: int) -> tuple[str, ...]:
    return ("--memory", str(memory), "--memory-swap", str(memory))


class DockerEngine:
    """Implements ``ContainerEngine``.

    Args:
        inherited: the gate's environment, of which the command gets what it needs to find its daemon.
        relay_image: has Python.
        run: by which whoever started the run finds what is left of it, as a value of ``LABEL``.
    """

    def __init__(self, inherited: Mapping[str, str], *, relay_image: str = RELAY_IMAGE, run: str = "") -> None:
        self._environment = {
            name: value for name, value in inherited.items() if name in _OURS or name.startswith("DOCKER_")
        }
        self._relay_image = relay_image
        self._owner = f"{_of_this_machine()}{os.getpid()}"
        self.marks = ("--label", f"{LABEL}={run}")

    async def build(self, folder: Path, dockerfile: str, seconds: float) -> str:
        """See ``ContainerEngine``; the build gets no secret, no argument and no variable of this process."""
        name = f"{self._owner}:{random_bytes.token_hex(8)}"
        _, answer = await self._ask("buildx", "version")
        # A builder in a container keeps what it builds without this option.
        load = ("--load",) if answer is not None else ()
        named = ("--label", f"{_IMAGE_LABEL}={name}", "--tag", name)
        words = ("build", *load, *self.marks, *named, "--file", str(folder / dockerfile), str(folder))
        with self.leaving_nothing(image=name):
            code, printed = await self._run(words, seconds)
        if code == 0:
            return name
        if code is None:
            self._remove_later(image=name)
        await self._require_daemon()
        # A report may cut a long message: the builder's last line, which says what is wrong, comes first.
        lines = printed.strip().splitlines() or ["nothing was printed"]
        why = f"did not end within {seconds:g} s" if code is None else f"failed: {printable(lines[-1])}"
        before = printable_lines("\n".join(lines[:-1]))[-_SHOWN:]
        raise ImageError(
            f"The build of {dockerfile!r} {why}." + (f" Before that it printed: {before}" if before else ""),
            "Correct the Dockerfile or what it copies: `docker build` in that folder shows the same.",
        )

    async def pull(self, image: str) -> None:
        """See ``ContainerEngine``."""
        code, _ = await self._ask("image", "inspect", image)
        if code == 0:
            return
        code, printed = await self._run(("pull", "--quiet", image), _PULL_SECONDS)
        if code != 0:
            await self._require_daemon()
            raise WorkerError(
                f"the image {image!r} cannot be pulled. Docker printed: {_end_of(printed)}",
                f"Check its name, and that `docker pull {image}` works.",
            )

    async def open_pod(self, listening: Collection[int], targets: Collection[int]) -> DockerPod:
        """See ``ContainerEngine``."""
        name = f"{self._owner}-{random_bytes.token_hex(8)}"
        ports = (",".join(map(str, sorted(each))) for each in (listening, targets))
        user = random_bytes.choice(_RELAY_USERS)
        relay, printed = await self._start_relay(name, f"{user}:{user}", ports)
        return DockerPod(self, name, relay, printed, _POD_BYTES // max(1, len(targets)))

    async def open_channel(self, volume: str, user: str) -> tuple[asyncio.subprocess.Process, OutputTail]:
        """Start a relay whose end in the container listens on a socket in a volume; its input and output are pipes.

        Args:
            volume: that another container has mounted.
            user: its number and that of its group; only that user can open the socket.

        Raises:
            WorkerError: there is no Docker.
        """
        # The image's own folder gives the empty volume its mode, by which any user may write to it.
        mount = ("--mount", f"type=volume,source={volume},target={CHANNEL_FOLDER}")
        return await self._start_relay(f"{self._owner}-channel", user, ("", "", f"{CHANNEL_FOLDER}/socket"), mount)

    async def _start_relay(
        self, name: str, user: str, arguments: Iterable[str], more: Sequence[str] = ()
    ) -> tuple[asyncio.subprocess.Process, OutputTail]:
        source = await asyncio.to_thread((worker_folder() / "relay.py").read_text, "utf-8")
        words = (
            *("run", "--interactive", *_CONFINED, *_at_most(_RELAY_BYTES), "--read-only", "--network", "none"),
            *("--user", user, "--name", name, *self.marks, *_NO_PROXIES, *more),
            *("--entrypoint", "python3", self._relay_image, "-I", "-S", "-c", source, *arguments),
        )
        with self.leaving_nothing(containers=[name]):
            return await self.start(words, interactive=True)

    @contextlib.contextmanager
    def leaving_nothing(self, *, containers: Sequence[str] = (), image: str = "") -> Iterator[None]:
        """Have containers and an image that was built removed if what is within is cancelled.

        A process that outlives this one does it: a gate that is ended by a signal has no time to wait for Docker.
        """
        try:
            yield
        except asyncio.CancelledError:
            self._remove_later(containers=containers, image=image)
            raise

    def _remove_later(self, *, containers: Sequence[str] = (), image: str = "") -> None:
        label = f"{_IMAGE_LABEL}={image}" if image else ""
        command = ("sh", "-c", _REMOVE_LATER, "sh", " ".join(containers), label, str(_REMOVAL_SECONDS))
        with contextlib.suppress(OSError):
            subprocess.run(command, env=self._environment, start_new_session=True, check=False)

    async def prepare(self) -> None:
        """Have the relay's image, and remove what gates left that were killed.

        Raises:
            WorkerError: Docker cannot be used, or the image not be had.
        """
        await self._require_daemon()
        await self.pull(self._relay_image)
        await self._remove_leftovers()

    async def discard(self, image: str) -> None:
        """See ``ContainerEngine``."""
        with self.leaving_nothing(image=image):
            await self._ask("image", "rm", "--force", image)

    async def remove(self, container: str) -> None:
        """Remove a container that does not end by itself; never raises."""
        await self._ask("rm", "--force", container)

    async def _remove_leftovers(self) -> None:
        """Remove containers and images of gates of this machine that are gone."""
        ours = ("--filter", f"label={LABEL}")
        _, containers = await self._ask("ps", "--all", "--format", "{{.Names}}", *ours)
        for name in filter(_is_leftover, (containers or "").split()):
            await self.remove(name)
        _, images = await self._ask("image", "ls", "--quiet", *ours)
        for image in (images or "").split():
            _, found = await self._ask("image", "inspect", "--format", _NAMES_OF_IMAGE, image)
            names = [name.removeprefix("localhost/") for name in (found or "").split()]
            # One with another name belongs to somebody, who has named it or built it from one of these.
            if names and all(map(_is_leftover, names)):
                await self.discard(image)

    async def _require_daemon(self) -> None:
        code, _ = await self._ask("version", "--format", "{{.Server.Version}}")
        if code != 0:
            raise WorkerError("Docker, which `system.container` needs, does not answer.", _START)

    async def _ask(self, *words: str) -> tuple[int | None, str | None]:
        """A short command's exit code and output; the output is None where it failed or is not there."""
        try:
            code, printed = await self._run(words, _COMMAND_SECONDS)
        except WorkerError:
            return None, None
        return code, printed if code == 0 else None

    async def _run(self, words: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """A command's exit code, None where it took too long, and the end of its output."""
        client, printed = await self.start(words)
        try:
            async with asyncio.timeout(seconds):
                await client.wait()
            return client.returncode, await printed.text()
        except TimeoutError:
            return None, ""
        finally:
            if client.returncode is None:
                client.kill()
                await client.wait()
            printed.close()

    async def start(
        self, words: Sequence[str], more: Sequence[str] = (), *, hidden: str = "", interactive: bool = False
    ) -> tuple[asyncio.subprocess.Process, OutputTail]:
        """Start the command in a session of its own: the terminal's signals are the gate's.

        Args:
            more: words after the option that ``hidden`` needs.
            hidden: lines NAME=value, variables of a container that are not to stand on the command line.
            interactive: its input and output are pipes, and what it says of itself is kept; otherwise it has no
                input, and all that it prints is kept.

        Raises:
            WorkerError: there is no such command.
        """
        reading = _pipe_with(hidden) if hidden else None
        if reading is not None:
            words = (*words, "--env-file", f"/dev/fd/{reading}")
        printed, writing = await open_output()
        start = functools.partial(asyncio.create_subprocess_exec, *("docker", *words, *more), env=self._environment)
        pipe = asyncio.subprocess.PIPE
        try:
            client = await start(
                stdin=pipe if interactive else asyncio.subprocess.DEVNULL,
                stdout=pipe if interactive else writing,
                stderr=writing,
                start_new_session=True,
                pass_fds=() if reading is None else (reading,),
            )
        except BaseException as problem:
            printed.close()  # whoever is cancelled meanwhile leaves no open pipe either
            if not isinstance(problem, OSError):
                raise
            raise WorkerError(
                f"the command `docker`, which `system.container` needs, cannot be run: {problem}.", _START
            ) from problem
        finally:
            os.close(writing)
            if reading is not None:
                os.close(reading)
        return client, printed


def _pipe_with(text: str) -> int:
    """The end of a pipe from which a text can be read; raises WorkerError where it is more than a pipe takes."""
    content = text.encode()
    if len(content) > _PIPE_BYTES:
        raise WorkerError(f"the tokens and addresses of a conversation have more than {_PIPE_BYTES:,} bytes.")
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    return reading


def _of_this_machine() -> str:
    """How the names of what a gate makes begin: one daemon may serve several machines, and a process id is of one."""
    return f"ratiba-system-{hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]}-"


def _is_leftover(name: str) -> bool:
    """Whether a container or an image was made by a gate of this machine that is gone."""
    owner = name.removeprefix(_of_this_machine()).replace(":", "-").partition("-")[0]
    if not name.startswith(_of_this_machine()) or not owner.isdecimal():
        return False
    try:
        os.kill(int(owner), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    return False


def _end_of(printed: str) -> str:
    return printable_lines(printed)[-_SHOWN:] or "nothing"
