"""Contents of files at the base and at the head of a change."""

import os
import stat
import subprocess
from types import TracebackType
from typing import Self

from ratiba_action.changes.git import Git
from ratiba_action.errors import InfrastructureError

_LARGEST = 50_000_000  # bytes; a lock file of a thousand packages has about two million


class Contents:
    """Reads blobs through one ``git cat-file --batch`` process, and files of the work tree.

    Args:
        git: the repository; None when there is none, so that nothing can be read.
        base: commit of the base; None when it is not known.
        head: commit of the head; None for the work tree.
    """

    def __init__(self, git: Git | None, base: str | None, head: str | None) -> None:
        self._git = git
        self._commits = {"base": base, "head": head}
        self._process: subprocess.Popen[bytes] | None = None
        self._read: dict[tuple[str, str], bytes | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

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
            self._read[key] = self._blob(commit, path) if commit else _file(self._git, path)
        return self._read[key]

    def _blob(self, commit: str, path: str) -> bytes | None:
        if "\n" in path:
            raise InfrastructureError(f"{path!r} has a line break in its name")
        process = self._started()
        if process.stdin is None or process.stdout is None:
            raise InfrastructureError("git gave no pipes")
        try:
            process.stdin.write(f"{commit}:{path}\n".encode("utf-8", "surrogateescape"))
            process.stdin.flush()
            header = process.stdout.readline()
            if header.endswith(b" missing\n"):
                self._refuse_hidden(commit, path)
                return None
            kind, size = header.split()[-2:]
            if kind != b"blob" or int(size) > _LARGEST:
                self._stop()
                raise InfrastructureError(f"{path!r} of {commit} is not a plain file of at most {_LARGEST} bytes")
            content = process.stdout.read(int(size))
            process.stdout.read(1)
        except (OSError, ValueError) as error:
            raise InfrastructureError(f"git could not read {path!r} of {commit}: {error}") from error
        return content

    def _refuse_hidden(self, commit: str, path: str) -> None:
        """Tell a file that is not in a commit from one whose commit or content is not here."""
        if self._git is not None and self._git.run("ls-tree", "-z", "--name-only", commit, "--", path):
            raise InfrastructureError(f"the content of {path!r} of {commit} is not in this clone")

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            if self._git is None:
                raise InfrastructureError("there is no repository")
            self._process = subprocess.Popen(
                self._git.command("cat-file", "--batch"),
                env=self._git.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process


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
