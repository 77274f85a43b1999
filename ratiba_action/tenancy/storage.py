"""Folders of embedded servers: made on memory where there is room, locked while in use, swept after a crash."""

import contextlib
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

from ratiba_action.util.locked_folder import LockedFolder, make_locked_folder, sweep_folders

_PREFIX = "ratiba-pg-"
_MEMORY = Path("/dev/shm")  # noqa: S108 - each run makes a private folder inside
_ROOM_BYTES = 512 * 1024 * 1024
_SOCKET_PATH_BYTES = 107
_SOCKET_NAME_BYTES = 40
_END_SECONDS = 5.0


def base_folder(scratch: Path | None) -> Path:
    """Where to make run folders: ``scratch``, else memory, else the temporary folder, if a socket's path fits."""
    if scratch is not None and len(os.fsencode(scratch.resolve())) + _SOCKET_NAME_BYTES <= _SOCKET_PATH_BYTES:
        return scratch.resolve()
    if os.access(_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(_MEMORY).free >= _ROOM_BYTES:
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
