"""What an import writes, again and again: it updates its own files, and keeps what a person changed.

A file beside the scenarios has the digest of each file as it was last imported. Three contents are compared: the last
imported one, the one that is there, and the new one.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ratiba_action.errors import UsageError
from ratiba_action.util.locked_folder import change_files, read_plain_file
from ratiba_action.util.text import printable

_SIDECAR = ".imported.json"


@dataclass(frozen=True, slots=True)
class Written:
    """What became of the files of an import, by path.

    Args:
        written: new ones.
        updated: those that nobody had changed, with the source's change.
        unchanged: those that had the content already.
        kept: those that a person changed or removed, whose source is the same.
        conflicts: those that both a person and the source changed, which stay as they are; with the new content.
        removed: those that nobody had changed and whose test is gone.
    """

    written: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    conflicts: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether any file changes."""
        return bool(self.written or self.updated or self.removed)


@dataclass(frozen=True, slots=True)
class ImportedFiles:
    """The files of one import.

    Args:
        folder: of its scenarios, relative to the repository.
        origin: the command without its options: what it no longer makes is removed.
    """

    repository: Path
    folder: str
    origin: str

    def is_ours(self, name: str) -> bool:
        """Whether a file is as an earlier import wrote it."""
        there = self._read(name)
        return there is not None and self._recorded().get(name) == _digest(there)

    def write(self, files: Mapping[str, bytes], *, dry_run: bool) -> Written:
        """Write what changes, all or nothing; nothing for an import without any file.

        Raises:
            UsageError: a file of somebody else has the name and other content, or one cannot be written; names all.
        """
        if not files:
            return Written()
        recorded = self._recorded()
        result = self._compared(files, recorded)
        if dry_run:
            return result
        changes: dict[str, bytes | None] = {name: files[name] for name in (*result.written, *result.updated)}
        changes |= dict.fromkeys(result.removed)
        sidecar = self._sidecar(files)
        if changes or self._read(f"{self.folder}/{_SIDECAR}") != sidecar:
            change_files(self.repository, {**changes, f"{self.folder}/{_SIDECAR}": sidecar})
        return result

    def _compared(self, files: Mapping[str, bytes], recorded: Mapping[str, str]) -> Written:
        found: dict[str, list[str]] = {name: [] for name in ("written", "updated", "unchanged", "kept", "removed")}
        conflicts: dict[str, str] = {}
        foreign: list[str] = []
        for name, content in files.items():
            outcome = self._outcome(name, content, recorded.get(name))
            if outcome == "conflict":
                conflicts[name] = content.decode("utf-8", "replace")
            else:
                (foreign if outcome == "foreign" else found[outcome]).append(name)
        if foreign:
            listed = "".join(f"\n  {printable(name)}" for name in foreign)
            raise UsageError(
                f"Nothing was written: these files exist with other content.{listed}\n",
                "Move them away, or give the import other names with --prefix.",
            )
        for name, last in self._listed().get(self.origin, {}).items():
            there = self._read(name)
            if name not in files and there is not None and name.startswith(f"{self.folder}/"):
                found["removed" if _digest(there) == last else "kept"].append(name)
        return Written(**{name: tuple(paths) for name, paths in found.items()}, conflicts=conflicts)

    def _outcome(self, name: str, content: bytes, last: str | None) -> str:
        """What becomes of a file, a field of ``Written`` or ``foreign``.

        Args:
            last: digest of its content when it was last imported.
        """
        there = self._read(name)
        if there == content:
            return "unchanged"
        if there is None and not self._exists(name):
            return "written" if last is None else "kept"
        if there is None or last is None:
            return "foreign"
        if last == _digest(there):
            return "updated"
        return "kept" if last == _digest(content) else "conflict"

    def _recorded(self) -> dict[str, str]:
        """The digest of each file as it was last imported."""
        return {name: digest for files in self._listed().values() for name, digest in files.items()}

    def _listed(self) -> dict[str, dict[str, str]]:
        content = self._read(f"{self.folder}/{_SIDECAR}")
        try:
            data: Any = json.loads(content) if content is not None else {}
        except (ValueError, RecursionError):
            data = None
        groups = data.values() if isinstance(data, dict) else [None]
        if not all(
            isinstance(group, dict) and all(isinstance(each, str) for each in group.values()) for group in groups
        ):
            raise UsageError(
                f"{self.folder}/{_SIDECAR} does not list files with their digests.",
                "Restore it from git, or remove it and give the import another --prefix.",
            )
        return dict(data)

    def _sidecar(self, files: Mapping[str, bytes]) -> bytes:
        listed = {**self._listed(), self.origin: {name: _digest(content) for name, content in sorted(files.items())}}
        return (json.dumps(dict(sorted(listed.items())), indent=1) + "\n").encode()

    def _read(self, name: str) -> bytes | None:
        try:
            return read_plain_file(self.repository, name)
        except OSError:
            return None

    def _exists(self, name: str) -> bool:
        path = self.repository / name
        return path.is_symlink() or path.exists()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
