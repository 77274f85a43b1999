"""Contents of files at the base and at the head of a change."""

import os
import stat
from types import TracebackType
from typing import Self

from ratiba_action.errors import InfrastructureError
from ratiba_action.git import Git

_LARGEST = 50_000_000  # bytes; a lock file of a thousand packages has about two million


class Contents:
    """Reads files of commits, and files of the work tree.

    Args:
        git: the repository; None when there is none, so that nothing can be read.
        base: commit of the base; None when it is not known.
        head: commit of the head; None for the work tree.
    """

    def __init__(self, git: Git | None, base: str | None, head: str | None) -> None:
        self._git = git
        self._commits = {"base": base, "head": head}
        self._blobs = git.blobs() if git is not None else None
        self._read: dict[tuple[str, str], bytes | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._blobs is not None:
            self._blobs.stop()

    def read(self, side: str, path: str) -> bytes | None:
        """Content of a file at ``base`` or ``head``, None when it is not there.

        Raises:
            InfrastructureError: that cannot be told, or the file is not a plain file of a sane size.
        """
        key = (side, path)
        if key not in self._read:
            commit = self._commits[side]
            if self._git is None or (commit is None and side == "base"):
                raise InfrastructureError(f"the {side} of {path!r} is not available")
            self._read[key] = self._blob(self._git, commit, path) if commit else _file(self._git, path)
        return self._read[key]

    def _blob(self, git: Git, commit: str, path: str) -> bytes | None:
        content = self._blobs.read(f"{commit}:{path}", _LARGEST) if self._blobs is not None else None
        if content is None and git.tree(commit, path):
            # It is in the commit, whose content is not here.
            raise InfrastructureError(f"the content of {path!r} of {commit} is not in this clone.", git.remedy())
        return content


def _file(git: Git, path: str) -> bytes | None:
    """A plain file of the work tree; links are not followed."""
    full = os.fsencode(git.root) + b"/" + path.encode("utf-8", "surrogateescape")
    try:
        status = os.lstat(full)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise InfrastructureError(f"{path!r} is not a plain file of at most {_LARGEST} bytes")
        with open(full, "rb") as file:  # noqa: PTH123 - the name may not be UTF-8, which bytes carry as they are
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InfrastructureError(f"{path!r} cannot be read: {error}") from error
