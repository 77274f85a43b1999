"""Folders of a run: locked while their process lives, so that the next run can tell what a crash left behind."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LockedFolder:
    """A folder of this process; its lock is held for as long as the process lives and ``remove`` was not called.

    Args:
        path: ours alone to write and to list; others may pass through it.
        lock: file descriptor of the held lock.
    """

    path: Path
    lock: int

    def remove(self) -> None:
        """Delete the folder, then let the lock go."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self.lock)


def make_locked_folder(base: Path, prefix: str) -> LockedFolder:
    """A fresh folder below ``base``, locked.

    Raises:
        OSError: it cannot be made.
    """
    path = Path(tempfile.mkdtemp(prefix=prefix, dir=base))
    lock = os.open(path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    path.chmod(0o711)
    return LockedFolder(path, lock)


def sweep_folders(base: Path, prefix: str, before: Callable[[Path], None] = lambda _: None) -> tuple[Path, ...]:
    """Remove the folders whose process is gone; a live neighbour's lock is held, so its folder stays.

    Args:
        base: where to look.
        prefix: of the folders' names.
        before: called with each folder before it is removed.

    Returns:
        The folders that were removed.
    """
    removed = []
    for path in sorted(base.glob(f"{prefix}*")):
        with _abandoned(path) as ours:
            if ours:
                before(path)
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
