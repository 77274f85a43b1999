"""Starts an untrusted command without privileges, under a guardian that ends its whole tree of processes."""

import asyncio
import contextlib
import json
import os
import random
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.errors import WorkerError
from ratiba_action.systems.link import OutputTail, open_output

INHERITED = re.compile(r"PATH|LANG|LC_[A-Z]+|TZ|SSL_CERT_FILE|SSL_CERT_DIR")
UNUSED_USERS = range(40_000, 60_000)
JUDGING_USERS = range(60_001, 65_000)
END_SECONDS = 10.0
FAREWELL = b"end\n"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user and a group that untrusted code runs as."""

    uid: int
    gid: int


def allowed_environment(
    inherited: Mapping[str, str], home: Path, temporary: Path, configured: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of untrusted code: basics by allow-list, then the values that the configuration names."""
    basics = {name: value for name, value in inherited.items() if INHERITED.fullmatch(name)}
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        **basics,
        "HOME": str(home),
        "TMPDIR": str(temporary),
        **configured,
    }


def unused_identity(users: Iterable[int] = UNUSED_USERS) -> Identity:
    """A user and group that no account and no running process has, one of ``users``."""
    taken = _accounts() | _users_of_processes()
    free = [uid for uid in users if uid not in taken]
    # Random, so that two gates on one machine do not share a user by starting at the same moment.
    uid = random.SystemRandom().choice(free)
    return Identity(uid, uid)


def _accounts() -> set[int]:
    import pwd  # not on every platform, and only root needs it

    return {account.pw_uid for account in pwd.getpwall()}


def _users_of_processes() -> set[int]:
    users = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it may end while we look
            users.add(entry.stat().st_uid)
    return users


class GuardedCommand:
    """A running command with its guardian; made by ``launch``."""

    def __init__(self, process: asyncio.subprocess.Process, output: OutputTail) -> None:
        self._process = process
        self._output = output

    @property
    def guardian(self) -> int:
        """Process id of the guardian."""
        return self._process.pid

    async def wait(self, timeout: float) -> tuple[int, str]:  # noqa: ASYNC109 - the caller words the time-out
        """Wait for the command's end; its exit code and the tail of its output.

        Raises:
            TimeoutError: it still runs.
        """
        async with asyncio.timeout(timeout):
            code = await self._process.wait()
        return code, await self._output.text()

    async def end(self) -> str:
        """End the command and all that it started; returns the tail of its output. May be called twice."""
        if self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(FAREWELL)
            self._process.stdin.close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        text = await self._output.text()
        self._output.close()
        return text


async def launch(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path,
    folder: Path,
    identity: Identity | None,
    descriptors: Sequence[int] = (),
    private: Sequence[str] = (),
    read_only: Sequence[str] = (),
    shared: Sequence[str] = (),
    hide_names: bool = False,
) -> GuardedCommand:
    """Start a command.

    Args:
        argv: the command; a name without a slash is looked up on the environment's PATH.
        cwd: its current folder, which the identity can enter.
        folder: what is to be removed when the gate dies before the command ends.
        identity: the user that it runs as; None for the gate's own.
        descriptors: open files to hand on under the same numbers; all others stay with the gate.
        private: absolute paths that it must not open, where the kernel has Landlock; ``*`` ends a prefix of names.
        read_only: absolute paths of folders that it must not write to, likewise.
        shared: the same, of folders that it may read where they lie in a private one too.
        hide_names: it must not list private folders, nor those above them.

    Raises:
        WorkerError: the guardian itself cannot be started.
    """
    order = {
        "argv": list(argv),
        "environment": dict(environment),
        "cwd": str(cwd),
        "folder": str(folder),
        "uid": identity and identity.uid,
        "gid": identity and identity.gid,
        "descriptors": list(descriptors),
        "private": list(private),
        "read_only": list(read_only),
        "shared": list(shared),
        "hide_names": hide_names,
    }
    output, writing = await open_output()
    try:
        process = await _start_guardian(writing, descriptors)
    except BaseException as problem:
        output.close()  # whoever is cancelled meanwhile leaves no open pipe either
        if not isinstance(problem, OSError):
            raise
        raise WorkerError(f"cannot start the worker's guardian: {problem}.") from problem
    finally:
        os.close(writing)
    if process.stdin is not None:
        process.stdin.write(json.dumps(order).encode("ascii") + b"\n")
    return GuardedCommand(process, output)


async def _start_guardian(writing: int, descriptors: Sequence[int]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-B", str(worker_folder() / "start.py"), "guardian"),
        stdin=asyncio.subprocess.PIPE,
        stdout=writing,
        stderr=writing,
        env={"LC_ALL": "C.UTF-8"},
        cwd="/",
        pass_fds=descriptors,
        start_new_session=True,
    )


def worker_folder() -> Path:
    """Where the worker's own files lie."""
    return Path(__file__).resolve().parent.parent / "worker"


def programs_of_the_gate() -> tuple[str, ...]:
    """Folders of the code that the gate and its judges run by: a module may be read long after other code has run."""
    named = (sys.prefix, sys.base_prefix, str(worker_folder().parent), *sys.path)
    folders = {Path(name).resolve() for name in named}
    return tuple(sorted(str(folder) for folder in folders if folder.is_dir()))
