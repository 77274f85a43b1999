"""Files and folders of a run: new files, plain files, and folders that are locked while their process lives.

The lock lets the next run see what a crash left behind.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.errors import UsageError
from ratiba_action.util.folder_tree import remove_tree


def write_new_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write all of the files, or none.

    Args:
        contents: by path relative to it.

    Raises:
        UsageError: some of them exist, lie behind a symbolic link, or cannot be written; names all that exist.
    """
    there = [name for name in contents if os.path.lexists(folder / name)]
    if there:
        listed = "".join(f"\n  {name}" for name in there)
        raise UsageError(
            f"Nothing was written, because these files exist already:{listed}\n",
            "Move or delete them and run the command again.",
        )
    with contextlib.ExitStack() as undo:
        for name, content in contents.items():
            _write(folder, name, content, undo)
        undo.pop_all()


def change_files(folder: Path, contents: Mapping[str, bytes | None]) -> None:
    """Write, replace and remove all of the files, or none.

    Args:
        contents: by path relative to it; None for a file that is removed.

    Raises:
        UsageError: one lies behind a symbolic link, is no regular file, or cannot be written.
    """
    with contextlib.ExitStack() as undo:
        for name, content in contents.items():
            if os.path.lexists(folder / name):
                _take_away(folder, name, undo)
            if content is not None:
                _write(folder, name, content, undo)
        undo.pop_all()


def _take_away(folder: Path, name: str, undo: contextlib.ExitStack) -> None:
    try:
        before = read_plain_file(folder, name)
        (folder / name).unlink()
    except OSError as error:
        raise UsageError(
            f"{name!r} cannot be replaced: {error.strerror}; nothing was changed.", "Make it a writable file."
        ) from error
    undo.callback((folder / name).write_bytes, before)


def _write(folder: Path, name: str, content: bytes, undo: contextlib.ExitStack) -> None:
    path = folder / name
    try:
        if not Path(os.path.realpath(path.parent)).is_relative_to(folder.resolve()):
            raise UsageError(f"{name!r} would lie outside {str(folder)!r}, behind a symbolic link.", "Remove the link.")
        for parent in reversed(
            [ancestor for ancestor in path.parents if ancestor.is_relative_to(folder) and not ancestor.exists()]
        ):
            parent.mkdir()
            undo.callback(parent.rmdir)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        undo.callback(path.unlink)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError as error:
        raise UsageError(
            f"{name!r} cannot be written: {error.strerror}; nothing was kept.", "Make its folder writable."
        ) from error


MAX_BYTES = 32 << 20


def read_plain_file(root: Path, name: str, maximum: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file below a folder, never of what a link leads to: they may stand in a public comment.

    Args:
        name: path relative to it.
        maximum: size that is still read, in bytes.

    Raises:
        OSError: it is missing, unreadable, no regular file, too large, or behind a symbolic link.
    """
    # Path.resolve raises RuntimeError where links lead in a circle.
    path = Path(os.path.realpath(root), name)
    if os.path.realpath(path) != str(path):
        raise OSError(errno.ELOOP, "it is, or lies behind, a symbolic link", name)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", name)
        if found.st_size > maximum:
            raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes; at most {maximum:,} are read", name)
        return file.read(maximum + 1)


def is_file(path: Path) -> bool:
    """Whether there is a file; False where nobody can tell, as of a link to a name that is too long."""
    return os.path.isfile(path)  # noqa: PTH113 - before Python 3.14 pathlib raises some of the errors


def is_folder(path: Path) -> bool:
    """Whether there is a folder; False where nobody can tell."""
    return os.path.isdir(path)  # noqa: PTH112 - the same


_ATTEMPTS = 100


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
        _remove(self.path)
        with contextlib.suppress(OSError):
            os.close(self.lock)


def make_locked_folder(base: Path, prefix: str) -> LockedFolder:
    """A fresh folder below ``base``, locked; it has a hidden name until it is.

    Raises:
        OSError: it cannot be made.
    """
    for _ in range(_ATTEMPTS):
        folder = _make_unless_swept(base, prefix)
        if folder is not None:
            return folder
    raise OSError(errno.EAGAIN, "other processes remove each new folder before it can be locked", str(base))


def _make_unless_swept(base: Path, prefix: str) -> LockedFolder | None:
    """A locked folder; None when a neighbour took the hidden folder for what a crash left, before it was locked."""
    import tempfile  # who only reads need not load it

    unlisted = Path(tempfile.mkdtemp(prefix=f".{prefix}", dir=base))
    try:
        lock = os.open(unlisted / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_lock_of(unlisted, lock):
            os.close(lock)
            return None
        unlisted.chmod(0o711)
        return LockedFolder(unlisted.rename(unlisted.with_name(unlisted.name.removeprefix("."))), lock)
    except OSError:
        os.close(lock)
        raise


def sweep_folders(base: Path, prefix: str, before: Callable[[Path], None] = lambda _: None) -> tuple[Path, ...]:
    """Remove the folders whose process is gone; a live neighbour's lock is held, so its folder stays.

    Args:
        before: called with each folder before it is removed.

    Returns:
        The folders that were removed, those that never came as far as their name among them.
    """
    removed = []
    for path in sorted(base.glob(f".{prefix}*")):
        with contextlib.suppress(OSError):  # not empty, as a rule: the lock is there
            if _is_ours(path):
                path.rmdir()
                removed.append(path)
    for path in sorted([*base.glob(f".{prefix}*"), *base.glob(f"{prefix}*")]):
        with _abandoned(path) as abandoned:
            if abandoned:
                before(path)
                _remove(path)
                removed.append(path)
    return tuple(removed)


def _remove(folder: Path) -> None:
    """Delete a folder, its lock last: whoever is killed before that leaves what the next sweep still recognises."""
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                remove_tree(entry)
            elif entry.name != "lock":
                entry.unlink(missing_ok=True)
    remove_tree(folder)


@contextlib.contextmanager
def _abandoned(path: Path) -> Iterator[bool]:
    """Whether ``path`` is a folder of this user that nobody holds; it is held here meanwhile."""
    try:
        lock = os.open(path / "lock", os.O_RDWR | os.O_NOFOLLOW) if _is_ours(path) else -1
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
        yield _is_lock_of(path, lock)
    finally:
        os.close(lock)


def _is_ours(path: Path) -> bool:
    """Whether ``path`` is a folder of this user, and no link to one."""
    return path.lstat().st_uid == os.geteuid() and path.is_dir() and not path.is_symlink()


def _is_lock_of(path: Path, lock: int) -> bool:
    """Whether an open lock is still the one in the folder: by now that may be deleted, or have its real name."""
    try:
        return os.path.samestat(os.fstat(lock), (path / "lock").lstat())
    except OSError:
        return False
