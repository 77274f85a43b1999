"""Mappings of promptfoo's files, each with its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratiba_action.authoring.imports import Import, ImportOutcome
from ratiba_action.util.strict_yaml import Path, YamlDocument
from ratiba_action.util.validation import shorten


@dataclass(frozen=True, slots=True)
class FilePart:
    """A mapping of a file, with its place."""

    document: YamlDocument
    path: Path
    data: Mapping[str, Any]

    def place(self, *path: str | int) -> tuple[str, int]:
        """File and line of a value in it."""
        return self.document.name, self.document.line((*self.path, *path))


@dataclass(frozen=True, slots=True)
class Parts:
    """Takes mappings out of files; what is none is a finding."""

    found: Import

    def part(self, document: YamlDocument, path: Path, value: Any, what: str) -> FilePart | None:
        """A value as a mapping with its place; None, and a finding, if it is something else."""
        if isinstance(value, Mapping):
            return FilePart(document, path, value)
        self.found.wrong((document.name, document.line(path)), f"{what}: {shorten(value)} is not a mapping")
        return None

    def list(self, part: FilePart, key: str) -> Sequence[FilePart]:
        """The mappings of a list."""
        value = part.data.get(key, [])
        if not isinstance(value, list):
            self.found.wrong(part.place(key), f"{key}: {shorten(value)} is not a list")
            return []
        found = (
            self.part(part.document, (*part.path, key, index), item, f"{key}.{index}")
            for index, item in enumerate(value)
        )
        return [item for item in found if item is not None]

    def note_unread(
        self, part: FilePart, table: Mapping[str, tuple[ImportOutcome, str]], read: Sequence[str], what: str = ""
    ) -> None:
        """A finding for each key that is not read."""
        for key in part.data:
            if key not in read:
                outcome, result = table.get(key, (ImportOutcome.MANUAL, "not imported: unknown here"))
                self.found.note(part.place(key), outcome, f"{what}{shorten(key)[1:-1]}", result)
