"""Read a file of a checkout, and nothing that a link in it leads to: what is read may stand in a public comment."""

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 32 << 20


def read_plain_file(root: Path, name: str, most: int = MOST_BYTES) -> bytes:
    """The bytes of a regular file below a folder.

    Args:
        root: the checkout.
        name: path relative to it.
        most: size that is still read, in bytes.

    Raises:
        OSError: it is missing, unreadable, no regular file, too large, or behind a symbolic link.
    """
    path = root / name
    # Path.resolve raises RuntimeError where links lead in a circle.
    if Path(os.path.realpath(path)) != root.resolve() / name:
        raise OSError(errno.ELOOP, "it is, or lies behind, a symbolic link", name)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", name)
        if found.st_size > most:
            raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes; at most {most:,} are read", name)
        return file.read(most + 1)


def is_file(path: Path) -> bool:
    """Whether there is a file; False where nobody can tell, as of a link to a name that is too long."""
    return os.path.isfile(path)  # noqa: PTH113 - before Python 3.14 pathlib raises some of the errors


def is_folder(path: Path) -> bool:
    """Whether there is a folder; False where nobody can tell."""
    return os.path.isdir(path)  # noqa: PTH112 - the same
