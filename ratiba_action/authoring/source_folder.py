"""The folder of an imported file, and what may be read from it."""

from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath

from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.suite.data_file import read_json, read_rows
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.strict_yaml import Path as DataPath
from ratiba_action.util.strict_yaml import YamlDocument, read_yaml

MAX_BYTES = 4 << 20
"""Size of a file of rows; a YAML or Python file may have 1 MiB."""


@dataclass(frozen=True, slots=True)
class SourceFolder:
    """The folder of an imported file. No file outside the repository, and none behind a symbolic link, is read.

    Args:
        shown: its name in messages; empty for the current folder.
        repository: that its files may name files of; None, or one that the folder is not in, for the folder alone.
    """

    root: Path
    shown: str
    repository: Path | None = None

    @property
    def top(self) -> Path:
        """The folder whose files may be read."""
        inside = self.repository is not None and self.root.is_relative_to(self.repository)
        return self.repository if self.repository is not None and inside else self.root

    def below_top(self, reference: str) -> str | None:
        """The path of a file below ``top``; None if it leaves it."""
        parts = list(self.root.relative_to(self.top).parts)
        for part in PurePosixPath(reference).parts:
            if part == ".." and not parts:
                return None
            parts = parts[:-1] if part == ".." else [*parts, part]
        return "/".join(parts)

    def name(self, reference: str) -> str:
        """The path of a file in messages."""
        return str(PurePosixPath(self.shown) / reference)

    def matching(self, pattern: str, maximum: int) -> list[str]:
        """The files below the folder that a glob pattern matches, sorted; one more than ``maximum`` where more do."""
        if ".." in PurePosixPath(pattern).parts:
            return []
        try:
            found = list(islice(self.root.glob(pattern), maximum + 1))
        except (ValueError, NotImplementedError, OSError):  # pathlib implements no absolute pattern
            return []
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def read(self, reference: str, maximum: int = MAX_BYTES) -> bytes:
        """The content of a file.

        Raises:
            SuiteError: it lies outside the folder, is missing, too large, or no regular file.
        """
        path, problem = self.below_top(reference), ""
        if path is None or PurePosixPath(reference).is_absolute() or "\0" in reference:
            top = "the repository" if self.top == self.repository else "the folder of the imported file"
            problem = f"it lies outside {top}"
        else:
            try:
                return read_plain_file(self.top, path, maximum)
            except (OSError, ValueError) as error:
                problem = getattr(error, "strerror", None) or str(error)
        raise SuiteError([FileProblem(self.name(reference), 1, f"it cannot be read: {problem}")])

    def text(self, reference: str) -> str:
        """The text of a file, without white space at its ends.

        Raises:
            SuiteError: it cannot be read or is not UTF-8.
        """
        try:
            return self.read(reference).decode("utf-8-sig").strip()
        except UnicodeDecodeError as error:
            raise SuiteError([FileProblem(self.name(reference), 1, "it is not UTF-8; save it as UTF-8")]) from error

    def document(self, reference: str, given: bytes | None = None) -> YamlDocument:
        """A YAML, JSON, JSON Lines or CSV file as data with lines; rows are a list.

        Args:
            given: content instead of the file's.

        Raises:
            SuiteError: it cannot be read or is malformed.
        """
        name, content = self.name(reference), self.read(reference) if given is None else given
        if reference.endswith((".csv", ".jsonl")):
            rows, problems = read_rows(name, content)
            lines: dict[DataPath, int] = {(index,): row.line for index, row in enumerate(rows)}
            document: YamlDocument | None = YamlDocument(name, [dict(row.values) for row in rows], lines)
        else:
            yaml = partial(read_yaml, aliases=True)
            document, problems = (read_json if reference.endswith(".json") else yaml)(name, content)
        if document is None or problems:
            raise SuiteError([FileProblem(each.path, max(each.line, 1), each.message) for each in problems])
        return document
