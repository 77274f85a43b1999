"""Folders of embedded servers: made on memory where there is room, locked while in use, swept after a crash."""

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "ratiba-pg-"
_MEMORY = Path("/dev/shm")  # noqa: S108 - each run makes a private folder inside
_ROOM_BYTES = 512 * 1024 * 1024
_SOCKET_PATH_BYTES = 107
_SOCKET_NAME_BYTES = 40
_END_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One server's folder; its lock file is held for as long as this process lives and ``remove`` was not called.

    Args:
        path: ours alone to write; others may pass through it.
        lock: file descriptor of the held lock.
    """

    path: Path
    lock: int

    @property
    def data(self) -> Path:
        """Where the server keeps its files."""
        return self.path / "data"

    def remove(self) -> None:
        """Delete the folder, then let the lock go."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self.lock)


def base_folder(scratch: Path | None) -> Path:
    """Where to make run folders: ``scratch``, else memory, else the temporary folder, if a socket's path fits."""
    if scratch is not None and len(os.fsencode(scratch.resolve())) + _SOCKET_NAME_BYTES <= _SOCKET_PATH_BYTES:
        return scratch.resolve()
    if os.access(_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(_MEMORY).free >= _ROOM_BYTES:
        return _MEMORY
    temporary = Path(tempfile.gettempdir()).resolve()
    fits = len(os.fsencode(temporary)) + _SOCKET_NAME_BYTES <= _SOCKET_PATH_BYTES
    return temporary if fits else Path("/tmp")  # noqa: S108 - a private folder is made inside


def make_run_folder(base: Path) -> RunFolder:
    """A fresh, locked folder below ``base``."""
    path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
    lock = os.open(path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    path.chmod(0o711)
    return RunFolder(path, lock)


def sweep(base: Path) -> tuple[Path, ...]:
    """Remove folders whose process is gone; returns them. A live neighbour's lock is held, so its folder stays."""
    removed = []
    for path in sorted(base.glob(f"{_PREFIX}*")):
        with _abandoned(path) as ours:
            if ours:
                end_server(path / "data")
                shutil.rmtree(path, ignore_errors=True)
                removed.append(path)
    return tuple(removed)


@contextlib.contextmanager
def _abandoned(path: Path) -> Iterator[bool]:
    """Whether ``path`` is a folder of this user that nobody holds; it is held here meanwhile."""
    try:
        is_ours = path.lstat().st_uid == os.geteuid() and path.is_dir() and not path.is_symlink()
        lock = os.open(path / "lock", os.O_RDWR | os.O_NOFOLLOW) if is_ours else -1
    except OSError:  # another sweep was faster, or its maker has not come as far as the lock
        lock = -1
    if lock < 0:
        yield False
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True
    finally:
        os.close(lock)


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
