"""Files of a commit, written to a folder: neither the work tree nor the index is touched, and no filter runs.

``git archive`` and ``git checkout-index`` let the attributes of the commit decide what is left out or rewritten; here
every file is what its blob holds.
"""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ratiba_action.changes.git import Git
from ratiba_action.errors import InfrastructureError

_LARGEST = 2_000_000_000
"""Bytes of all files together."""
_LARGE_FILE_POINTER = b"version https://git-lfs.github.com/spec/"
_PLAIN, _EXECUTABLE, _LINK, _SUBMODULE = "100644", "100755", "120000", "160000"


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: str
    blob: str
    path: str


def export_commit(git: Git, commit: str, folder: Path) -> None:
    """Write every file of a commit below a folder.

    Symbolic links that lead out of the folder, and submodules, are left out.

    Args:
        git: the repository; a shallow clone will do if it holds the commit with its files.
        commit: full id.
        folder: empty, and ours alone.

    Raises:
        InfrastructureError: files of the commit are not in this clone, are kept in Git LFS, or cannot be written.
    """
    entries = [entry for entry in _entries(git, commit) if entry.mode != _SUBMODULE]
    entries.sort(key=lambda entry: entry.mode == _LINK)  # last, so that nothing is written through one
    reader = subprocess.Popen(
        git.command("cat-file", "--batch"),
        env={**git.environment, "GIT_NO_LAZY_FETCH": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        left = _LARGEST
        for entry in entries:
            content = _content(reader, entry, commit, left)
            left -= len(content)
            _write(folder, entry, content)
    except OSError as error:
        raise InfrastructureError(f"The files of {commit} cannot be written: {error}.") from error
    finally:
        reader.kill()
        reader.communicate()


def _entries(git: Git, commit: str) -> Iterator[_Entry]:
    for line in git.run("ls-tree", "-r", "-z", "--full-tree", commit).split("\0"):
        if line:
            described, _, path = line.partition("\t")
            mode, _, blob = described.split(" ")
            if ".." in PurePosixPath(path).parts or path.startswith("/"):
                raise InfrastructureError(f"The commit {commit} holds a file that leads out of it: {path[:200]!r}.")
            yield _Entry(mode, blob, path)


def _content(reader: "subprocess.Popen[bytes]", entry: _Entry, commit: str, most: int) -> bytes:
    if reader.stdin is None or reader.stdout is None:
        raise InfrastructureError("git gave no pipes.")
    reader.stdin.write(f"{entry.blob}\n".encode("ascii"))
    reader.stdin.flush()
    header = reader.stdout.readline().split()
    if len(header) != 3 or header[1] != b"blob":  # noqa: PLR2004 - id, kind, size
        raise InfrastructureError(
            f"The file {entry.path[:200]!r} of {commit} is not in this clone.",
            "Check out with fetch-depth: 2 or more, and without a filter.",
        )
    if int(header[2]) > most:
        raise InfrastructureError(f"The files of {commit} are larger than {_LARGEST} bytes.")
    content = reader.stdout.read(int(header[2]))
    reader.stdout.read(1)
    if content.startswith(_LARGE_FILE_POINTER):
        raise InfrastructureError(f"The file {entry.path[:200]!r} of {commit} is kept in Git LFS.")
    return content


def _write(folder: Path, entry: _Entry, content: bytes) -> None:
    path = folder / os.fsdecode(entry.path.encode("utf-8", "surrogateescape"))
    path.parent.mkdir(parents=True, exist_ok=True)
    if entry.mode == _LINK:
        goal = os.fsdecode(content)
        inside = os.path.normpath(Path(entry.path).parent / goal)
        if not goal.startswith("/") and inside.split("/")[0] != "..":
            path.symlink_to(goal)
        return
    path.write_bytes(content)
    path.chmod(0o755 if entry.mode == _EXECUTABLE else 0o644)
