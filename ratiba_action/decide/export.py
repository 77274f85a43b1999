"""Files of a commit, written to a folder: neither the work tree nor the index is touched, and no filter runs.

``git archive`` and ``git checkout-index`` let the attributes of the commit decide what is left out or rewritten; here
every file is what its blob holds.
"""

import os
from pathlib import Path, PurePosixPath

from ratiba_action.errors import InfrastructureError
from ratiba_action.util.git import EXECUTABLE, LINK, SUBMODULE, Git

_LARGEST = 2_000_000_000
"""Bytes of all files together."""
_LARGE_FILE_POINTER = b"version https://git-lfs.github.com/spec/"


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
    entries = [(path, entry) for path, entry in git.tree(commit).items() if entry.mode != SUBMODULE]
    entries.sort(key=lambda pair: pair[1].mode == LINK)  # last, so that nothing is written through one
    left = _LARGEST
    try:
        with git.blobs() as blobs:
            for path, entry in entries:
                if ".." in PurePosixPath(path).parts or path.startswith("/"):
                    raise InfrastructureError(f"The commit {commit} holds a file that leads out of it: {path[:200]!r}.")
                content = blobs.read(entry.id, left)
                if content is None:
                    raise InfrastructureError(
                        f"The file {path[:200]!r} of {commit} is not in this clone.", git.remedy()
                    )
                if content.startswith(_LARGE_FILE_POINTER):
                    raise InfrastructureError(f"The file {path[:200]!r} of {commit} is kept in Git LFS.")
                left -= len(content)
                _write(folder, path, entry.mode, content)
    except OSError as error:
        raise InfrastructureError(f"The files of {commit} cannot be written: {error}.") from error


def _write(folder: Path, name: str, mode: str, content: bytes) -> None:
    path = folder / os.fsdecode(name.encode("utf-8", "surrogateescape"))
    path.parent.mkdir(parents=True, exist_ok=True)
    if mode == LINK:
        goal = os.fsdecode(content)
        inside = os.path.normpath(Path(name).parent / goal)
        if not goal.startswith("/") and inside.split("/")[0] != "..":
            path.symlink_to(goal)
        return
    path.write_bytes(content)
    path.chmod(0o755 if mode == EXECUTABLE else 0o644)
