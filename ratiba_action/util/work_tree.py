"""Compares files of the work tree with commits by hashing them here: git itself is never asked what they hold.

Git would run the filters that attributes and configuration name. The conversions that need no program are done here, so
that a checkout with CR LF line ends, or with the content of Git LFS, is equal to its commit. Neither the index nor a
time stamp is trusted to say that a file is as it was (``docs/decisions/0027-one-way-to-git.md``).
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence

from ratiba_action.errors import InfrastructureError
from ratiba_action.util.git import EXECUTABLE, LINK, PLAIN, SUBMODULE, Blobs, Git, TreeEntry, blob_id, hash_of_ids
from ratiba_action.util.large_files import POINTER

_CHUNK = 1 << 20  # bytes
_LARGEST_CONVERTED = 50_000_000  # bytes; what is larger is equal only as it is, or as a file of Git LFS
_LARGEST_POINTER = 1024  # bytes, by the specification of Git LFS
_ATTRIBUTES = ("filter", "text", "eol", "ident", "working-tree-encoding")


def changed_since(git: Git, commit: str) -> tuple[str, ...]:
    """Paths in which the work tree differs from a commit, then those that are neither tracked nor ignored.

    Raises:
        InfrastructureError: git failed, a folder of the commit is not in this clone, or a file cannot be read.
    """
    tree, index = git.tree(commit), git.index()
    files = _WorkTree(git)
    added = [path for path in index if path not in tree and files.status(path) is not None]
    return tuple(dict.fromkeys((*sorted({*files.differing(tree, index), *added}), *git.untracked())))


def changes_digest(git: Git, commit: str) -> str:
    """SHA-256 of what ``changed_since`` names: each path, its kind and its content; the same for the same work tree.

    Raises:
        InfrastructureError: see ``changed_since``; or a file changed while it was read.
    """
    files, digest = _WorkTree(git), hashlib.sha256()
    for path in sorted(set(changed_since(git, commit))):
        name = path.encode("utf-8", "surrogateescape")
        digest.update(b"%d %b %b\0" % (len(name), name, files.content_digest(path).encode("ascii")))
    return digest.hexdigest()


def differing(git: Git, tree: Mapping[str, TreeEntry]) -> tuple[str, ...]:
    """Paths of a tree that the work tree holds in another form, or not at all.

    What a sparse checkout leaves out counts as the index has it, a submodule by the commit that it is at.

    Args:
        tree: entries of a commit.

    Raises:
        InfrastructureError: git failed, or a file cannot be read.
    """
    return _WorkTree(git).differing(tree)


class _WorkTree:
    """The files of a checkout; no link is followed."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._folders = {"": True}
        self._modes_count: bool | None = None

    def differing(self, tree: Mapping[str, TreeEntry], index: Mapping[str, TreeEntry] | None = None) -> tuple[str, ...]:
        found, unlike = set[str](), list[str]()
        for path, entry in tree.items():
            status = self.status(path)
            if status is None or stat.S_ISDIR(status.st_mode):
                index = self._git.index() if index is None else index
                if not self._stands(path, entry, index.get(path), is_folder=status is not None):
                    found.add(path)
            elif not self._has_mode(status, entry):
                found.add(path)
            elif self._hashed(path, status, entry.id) != entry.id:
                unlike.append(path)
        return tuple(sorted({*found, *self._still_unlike(unlike, tree)}))

    def status(self, path: str) -> os.stat_result | None:
        """Of what stands at a path; None when nothing does, or only behind a link."""
        if not self._is_folder(path.rpartition("/")[0]):
            return None
        try:
            return os.lstat(self._full(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(path, error) from error

    def content_digest(self, path: str) -> str:
        """Of a file or link with its mode; of a submodule its commit; empty where nothing stands."""
        status = self.status(path)
        if status is None:
            return ""
        kind = f"{stat.S_IFMT(status.st_mode):o}"
        if stat.S_ISDIR(status.st_mode):
            return f"{kind} {self._submodule_commit(path, None) or ''}"
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            return kind
        digest = hashlib.sha256()
        if not self._feed(path, status, digest):
            raise InfrastructureError(f"The file {path[:300]!r} of the work tree changed while it was read.")
        return f"{kind} {bool(status.st_mode & stat.S_IXUSR)} {digest.hexdigest()}"

    def _is_folder(self, path: str) -> bool:
        if path not in self._folders:
            status = self.status(path)
            self._folders[path] = status is not None and stat.S_ISDIR(status.st_mode)
        return self._folders[path]

    def _full(self, path: str) -> bytes:
        return os.fsencode(self._git.root) + b"/" + path.encode("utf-8", "surrogateescape")

    def _stands(self, path: str, entry: TreeEntry, tracked: TreeEntry | None, *, is_folder: bool) -> bool:
        """Whether an entry is as it should be where the work tree has no file."""
        if entry.mode == SUBMODULE:
            return self._submodule_commit(path, tracked) == entry.id
        if is_folder or tracked is None or not tracked.skipped:
            return False
        return (tracked.mode, tracked.id) == (entry.mode, entry.id)

    def _submodule_commit(self, path: str, tracked: TreeEntry | None) -> str | None:
        """What a submodule is at; as the index has it where it is not checked out."""
        folder = self._git.root / path
        if not os.path.lexists(folder / ".git"):
            return tracked.id if tracked is not None else None
        try:
            return self._git.submodule(folder).commit("HEAD")
        except InfrastructureError:
            return None

    def _has_mode(self, status: os.stat_result, entry: TreeEntry) -> bool:
        if stat.S_ISLNK(status.st_mode):
            return entry.mode == LINK
        if not stat.S_ISREG(status.st_mode) or entry.mode not in (PLAIN, EXECUTABLE):
            return False
        if (entry.mode == EXECUTABLE) == bool(status.st_mode & stat.S_IXUSR):
            return True
        if self._modes_count is None:
            self._modes_count = self._git.setting("core.fileMode", "bool") != "false"
        return not self._modes_count

    def _hashed(self, path: str, status: os.stat_result, identifier: str) -> str:
        """Id that git would give a file or a link as it is; empty where it changes meanwhile."""
        digest = hash_of_ids(identifier)
        digest.update(b"blob %d\0" % status.st_size)
        return digest.hexdigest() if self._feed(path, status, digest) else ""

    def _feed(self, path: str, status: os.stat_result, digest: "hashlib._Hash") -> bool:
        size = 0
        try:
            for chunk in self._chunks(path, status):
                digest.update(chunk)
                size += len(chunk)
        except OSError as error:
            raise _unreadable(path, error) from error
        return size == status.st_size

    def _chunks(self, path: str, status: os.stat_result) -> Iterator[bytes]:
        if stat.S_ISLNK(status.st_mode):
            yield os.readlink(self._full(path))  # noqa: PTH115 - the name may not be UTF-8
            return
        descriptor = os.open(self._full(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - what is open already
            # Python sets memory aside for all that is asked for.
            while chunk := file.read(min(_CHUNK, status.st_size + 1)):
                yield chunk

    def _still_unlike(self, paths: Sequence[str], tree: Mapping[str, TreeEntry]) -> Iterator[str]:
        """Those that no conversion of git's own makes equal; git's programs for it are asked nothing."""
        if not paths:
            return
        attributes = self._git.attributes(_ATTRIBUTES, paths)
        automatic = self._git.setting("core.autocrlf").casefold() in ("true", "input", "yes", "on", "1")
        with self._git.blobs() as blobs:
            for path in paths:
                values = attributes.get(path, {})
                if values.get("filter") == "lfs":
                    same = self._is_large_file(path, tree[path].id, blobs)
                else:
                    same = self._equal_converted(path, tree[path], values, automatic=automatic)
                if not same:
                    yield path

    def _is_large_file(self, path: str, identifier: str, blobs: Blobs) -> bool:
        """Whether a file is the one that its pointer names."""
        try:
            pointer = POINTER.match(blobs.read(identifier, _LARGEST_POINTER) or b"")
        except InfrastructureError:
            return False
        status = self.status(path)
        if pointer is None or status is None or status.st_size != int(pointer[2]):
            return False
        digest = hashlib.sha256()
        return self._feed(path, status, digest) and digest.hexdigest().encode() == pointer[1]

    def _equal_converted(self, path: str, entry: TreeEntry, values: Mapping[str, str], *, automatic: bool) -> bool:
        status = self.status(path)
        if entry.mode == LINK or status is None or status.st_size > _LARGEST_CONVERTED:
            return False
        content = _as_committed(b"".join(self._chunks(path, status)), values, automatic=automatic)
        return blob_id(content, entry.id) == entry.id


def _as_committed(content: bytes, values: Mapping[str, str], *, automatic: bool) -> bytes:
    """What git would commit of a file, by ``gitattributes(5)``, where that takes no program.

    Args:
        automatic: ``core.autocrlf`` is on: files without an attribute are looked at.
    """
    encoding = values.get("working-tree-encoding", "unspecified")
    if encoding not in ("unspecified", "unset", "set"):
        try:
            content = content.decode(encoding).encode()
        except (LookupError, UnicodeError):
            return content
    if _has_converted_ends(content, values, automatic=automatic):
        content = content.replace(b"\r\n", b"\n")
    if values.get("ident") == "set":
        content = re.sub(rb"\$Id:[^$\n]*\$", b"$Id$", content)
    return content


def _has_converted_ends(content: bytes, values: Mapping[str, str], *, automatic: bool) -> bool:
    text = values.get("text", "unspecified")
    if text == "unspecified" and values.get("eol") in ("lf", "crlf"):
        text = "set"
    if text == "set":
        return True
    # What git takes for binary keeps its bytes.
    looks_like_text = b"\0" not in content and content.count(b"\r") == content.count(b"\r\n")
    return looks_like_text and (text == "auto" or (text == "unspecified" and automatic))


def _unreadable(path: str, error: OSError) -> InfrastructureError:
    return InfrastructureError(f"The file {path[:300]!r} of the work tree cannot be read: {error.strerror}.")
