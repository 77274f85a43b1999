"""Contents of files at the base and at the head of a change."""

import contextlib
import os
import stat
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ratiba_action.errors import InfrastructureError
from ratiba_action.util.git import EXECUTABLE, LINK, PLAIN, SUBMODULE, Git, TreeEntry, blob_id
from ratiba_action.util.links import Links, TreeListing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NO_DOCUMENT = (EXECUTABLE, SUBMODULE)
_LARGEST_KEPT = 100_000  # bytes; what is larger is read again when it is asked for again
_LARGEST = 50_000_000  # bytes; a lock file of a thousand packages has about two million


class Contents:
    """Reads files of commits, and files of the work tree.

    Args:
        git: the repository; None when there is none, so that nothing can be read.
        base: commit of the base; None when it is not known.
        head: commit of the head; None for the work tree.
        links: what ``links`` answers, where it was read already; None to read it when it is asked for.
        known: what others have read of commits; see ``of_commits``.
    """

    def __init__(
        self,
        git: Git | None,
        base: str | None,
        head: str | None,
        links: Links | None = None,
        known: "Mapping[tuple[str, str], bytes | None] | None" = None,
    ) -> None:
        self._git = git
        self._commits = {"base": base, "head": head}
        self._blobs = git.blobs() if git is not None else None
        self._read = {
            (side, path): content
            for side, commit in self._commits.items()
            for (of, path), content in (known or {}).items()
            if of == commit
        }
        self._trees: dict[str, Mapping[str, TreeEntry]] = {}
        if git is not None and links is not None:
            self._trees = {side: git.tree(commit) for side, commit in self._commits.items() if commit}
        self._listed: dict[str, dict[str, TreeEntry]] = {"base": {}, "head": {}}
        self._links = links

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
            InfrastructureError: that cannot be known, or the file is not a plain file of a sane size.
        """
        key = (side, path)
        if key not in self._read:
            commit = self._commits[side]
            if self._git is None or (commit is None and side == "base"):
                raise InfrastructureError(f"the {side} of {path!r} is not available")
            content = self._blob(self._git, commit, side, path) if commit else _file(self._git, path)
            if content is not None and len(content) > _LARGEST_KEPT:
                return content
            self._read[key] = content
        return self._read[key]

    @property
    def of_commits(self) -> "Mapping[tuple[str, str], bytes | None]":
        """What was read of small files of commits, which never change, by the commit and the path."""
        commits = self._commits
        return {(commit, path): found for (side, path), found in self._read.items() if (commit := commits[side])}

    def has(self, side: str, path: str, content: bytes) -> bool:
        """Whether a commit is known to have a file with this content: by its id in what was listed, unread."""
        entry = self._trees.get(side, self._listed[side]).get(path)
        return entry is not None and entry.id == blob_id(content, entry.id)

    def names(self, side: str, under: str = "") -> tuple[str, ...]:
        """Paths of the files of a commit, sorted; none without a commit.

        What was listed is read by the id of its content: git looks for a path in the whole list of its folder, so that
        reading all files of a folder by their paths takes time with the square of their number.

        Args:
            side: ``base`` or ``head``.
            under: a path of it, as ``Git.tree`` takes it.

        Raises:
            InfrastructureError: the commit is not in this clone.
        """
        commit = self._commits[side]
        if self._git is None or commit is None:
            return ()
        found = self._git.tree(commit, under)
        self._listed[side] |= found
        return tuple(found)

    def first_lines(self, side: str, under: str, ending: str, maximum: int) -> "Iterator[tuple[str, bytes]]":
        """Path and first line of each plain file of a commit below a folder; none without a commit.

        Args:
            side: ``base`` or ``head``.
            under: the folder, with a slash at its end.
            maximum: bytes of a line that are read.

        Raises:
            InfrastructureError: a file is not in this clone.
        """
        commit = self._commits[side]
        if self._git is None or commit is None or self._blobs is None:
            return
        tree = self._trees.get(side) or self._git.tree(commit, under)
        wanted = [path for path in tree if path.startswith(under) and path.endswith(ending)]
        files = [path for path in wanted if tree[path].mode in (PLAIN, EXECUTABLE)]
        yield from zip(files, self._blobs.first_lines([tree[path].id for path in files], maximum), strict=True)

    def both(self, path: str) -> list[bytes]:
        """Content of a file at base and head, as far as it is there and can be read."""
        found: list[bytes] = []
        for side in ("base", "head"):
            with contextlib.suppress(InfrastructureError):
                content = self.read(side, path)
                found += [content] if content is not None else []
        return found

    def links(self) -> Links:
        """The links of both sides, as far as they are known: without a base those of the head.

        Raises:
            InfrastructureError: a side that is known cannot be read.
        """
        if self._git is not None and self._links is None:
            sides = [self._committed(self._git, side, commit) for side, commit in self._commits.items() if commit]
            self._links = Links(sides if self._commits["head"] else [*sides, _work_tree(self._git)])
        return self._links or Links()

    def _committed(self, git: Git, side: str, commit: str) -> TreeListing:
        tree = self._trees[side] = git.tree(commit)
        of: dict[str, list[str]] = {mode: [] for mode in (LINK, *_NO_DOCUMENT)}
        for path, entry in tree.items():
            if entry.mode != PLAIN:
                of.setdefault(entry.mode, []).append(path)
        targets = {path: (self.read(side, path) or b"").decode("utf-8", "surrogateescape") for path in of[LINK]}
        return TreeListing(tuple(tree), targets, frozenset(of[EXECUTABLE]), frozenset(of[SUBMODULE]))

    def _blob(self, git: Git, commit: str, side: str, path: str) -> bytes | None:
        if side in self._trees and path not in self._trees[side]:
            return None
        entry = self._trees.get(side, self._listed[side]).get(path)
        name = f"{commit}:{path}" if entry is None else entry.id
        content = self._blobs.read(name, _LARGEST) if self._blobs is not None else None
        if content is None and git.tree(commit, path):
            # It is in the commit, whose content is not here.
            raise InfrastructureError(f"the content of {path!r} of {commit} is not in this clone. {git.remedy()}")
        return content


def _work_tree(git: Git) -> TreeListing:
    """The head of a change that is not committed: what is tracked or could be."""
    index = git.index()
    submodules = frozenset(path for path, entry in index.items() if entry.mode == SUBMODULE)
    targets: dict[str, str] = {}
    executables: list[str] = []
    paths: list[str] = []
    for path in (*index, *git.untracked()):
        full = git.root / path
        try:
            mode = full.lstat().st_mode
            if stat.S_ISLNK(mode):
                targets[path] = str(full.readlink())
            elif stat.S_ISREG(mode) and mode & stat.S_IXUSR:
                executables.append(path)
        except OSError:
            continue  # gone, or replaced meanwhile
        paths.append(path)
    return TreeListing(tuple(paths), targets, frozenset(executables), submodules)


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
