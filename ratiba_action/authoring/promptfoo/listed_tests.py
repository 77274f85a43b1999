"""The tests of a promptfoo configuration: those that it lists, those of files, and those that code makes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.authoring.imports import Import, ImportOutcome, NotImportedError
from ratiba_action.authoring.promptfoo.parts import FilePart, Parts
from ratiba_action.authoring.promptfoo.project_code import CODE, OPTION, ProjectCode, is_code, split_code
from ratiba_action.authoring.promptfoo.rows import LEFT_OUT, UNNAMED, read_row, with_commas
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.util.strict_yaml import Path, YamlDocument
from ratiba_action.util.validation import shorten

_DATA = (".yaml", ".yml", ".json", ".jsonl", ".csv")
_MAX_FILES = 100
_SHEETS = (".xlsx", ".xls", "docs.google.com/spreadsheets")


@dataclass(slots=True)
class ListedTests:
    """Reads lists of tests. A test is its layers: what a scenario's entry gives, then its own mapping.

    Args:
        code: runs what makes tests; None if nobody asked for it.
    """

    folder: SourceFolder
    found: Import
    code: ProjectCode | None = None
    parts: Parts = field(init=False)

    def __post_init__(self) -> None:
        self.parts = Parts(self.found)

    def document(self, name: str) -> YamlDocument:
        """A file as data; of a CSV file with any separator, and columns without a name left out.

        Raises:
            SuiteError: it cannot be read or is malformed.
        """
        if self.code is not None and name.endswith(CODE):
            try:
                return YamlDocument(self.folder.name(name), self.code.call(self.folder, name, ""), {})
            except NotImportedError as error:
                raise SuiteError([FileProblem(self.folder.name(name), 1, str(error))]) from error
        if not name.endswith(".csv"):
            return self.folder.document(name)
        changed = with_commas(self.folder.text(name))
        document = self.folder.document(name, changed.encode())
        if UNNAMED in changed.partition("\n")[0]:
            self.found.note((document.name, 1), ImportOutcome.APPROXIMATED, "column without a name", LEFT_OUT)
        return document

    def scenarios(self, whole: FilePart) -> Sequence[FilePart]:
        """Promptfoo's scenarios, in this file or in others."""
        value = whole.data.get("scenarios")
        listed = value if isinstance(value, list) else [value]
        if not any(isinstance(each, str) for each in listed):
            return self.parts.list(whole, "scenarios")
        found: list[FilePart] = []
        for index, each in enumerate(listed):
            if isinstance(each, str):
                parts = self._files(whole.place("scenarios", index), each)
            else:
                part = self.parts.part(whole.document, ("scenarios", index), each, f"scenarios.{index}")
                parts = [[part]] if part is not None else []
            found += [part for layers in parts for part in layers]
        return found

    def default(self, whole: FilePart) -> FilePart | None:
        """What every test has, in this file or in another one."""
        value = whole.data.get("defaultTest")
        document = whole.document
        path: Path = ("defaultTest",)
        if isinstance(value, str):
            try:
                document, path = self.folder.document(value.removeprefix("file://")), ()
            except SuiteError as error:
                self.found.wrong(whole.place("defaultTest"), f"defaultTest: {error.problems[0]}")
                return None
            value = document.data
        return self.parts.part(document, path, value, "defaultTest") if value is not None else None

    def of(self, part: FilePart, key: str) -> list[list[FilePart]]:
        """The tests of a key, in this file or in others."""
        value = part.data.get(key)
        if isinstance(value, str):
            return self._files(part.place(key), value)
        if value is None:
            return []
        if isinstance(value, Mapping):
            value = [value]
        if not isinstance(value, list):
            self.found.wrong(part.place(key), f"{key}: {shorten(value)} is not a list of tests or a file")
            return []
        return self._listed(part.document, (*part.path, key), value, files=True)

    def of_document(self, document: YamlDocument) -> list[list[FilePart]]:
        """The tests of a file that holds nothing else."""
        data = document.data if isinstance(document.data, list) else [document.data]
        if document.name.endswith(".csv"):
            data = [
                read_row(self.found, (document.name, document.line((index,))), row) for index, row in enumerate(data)
            ]
            document = YamlDocument(document.name, data, document.lines)
        return self._listed(document, (), data)

    def _listed(
        self, document: YamlDocument, path: Path, value: Sequence[Any], *, files: bool = False
    ) -> list[list[FilePart]]:
        tests: list[list[FilePart]] = []
        for index, item in enumerate(value):
            inner = (*path, index)
            place = (document.name, document.line(inner))
            if isinstance(item, Mapping) and isinstance(item.get("path"), str):
                self.parts.note_unread(FilePart(document, inner, item), {}, ("path", "config"))
            if isinstance(item, str) and files:
                tests += self._files(place, item)
            elif isinstance(item, Mapping) and str(item.get("path")).removeprefix("file://").endswith(_DATA):
                tests += self._files(place, item["path"])
            elif isinstance(item, Mapping) and isinstance(item.get("path"), str) and is_code(item["path"]):
                tests += self._made(place, item["path"], *([item["config"]] if "config" in item else []))
            elif isinstance(item, Mapping) and isinstance(item.get("path"), str):
                tests += self._files(place, item["path"])
            else:
                part = self.parts.part(document, inner, item, "a test")
                tests += [[part]] if part is not None else []
        return tests

    def _files(self, place: tuple[str, int], reference: str) -> list[list[FilePart]]:
        """The tests of other files, which must lie inside the folder."""
        name = reference.removeprefix("file://").removeprefix("./")
        if is_code(reference):
            return self._made(place, reference)
        if "://" in name or not name.endswith(_DATA):
            result = f"not imported: {shorten(reference)} is not a YAML, JSON, JSON Lines or CSV file"
            result += "; save it as CSV" if any(each in reference for each in _SHEETS) else ""
            self.found.note(place, ImportOutcome.MANUAL, "tests", result)
            return []
        names = self.folder.matching(name, _MAX_FILES) if "*" in name else [name]
        if not names or len(names) > _MAX_FILES:
            self.found.wrong(place, f"tests: {shorten(reference)} names {len(names)} files; allowed: 1 to {_MAX_FILES}")
            return []
        tests: list[list[FilePart]] = []
        for each in names:
            try:
                document = self.document(each)
            except SuiteError as error:
                self.found.wrong(place, f"tests: {shorten(reference)}: {error.problems[0]}")
                continue
            tests += self.of_document(document)
        return tests

    def _made(self, place: tuple[str, int], reference: str, *config: Any) -> list[list[FilePart]]:
        """The tests that code makes.

        Args:
            config: what it is given.
        """
        name = shorten(reference)
        if self.code is None:
            result = f"not imported: {name} makes them by code, which an import runs only with {OPTION}"
            self.found.note(place, ImportOutcome.MANUAL, "tests", result)
            return []
        try:
            made = self.code.call(self.folder, reference, "generate_tests", *config)
        except NotImportedError as error:
            self.found.note(place, ImportOutcome.MANUAL, "tests", f"not imported: {error}")
            return []
        except SuiteError as error:
            self.found.wrong(place, f"tests: {error.problems[0]}")
            return []
        if not isinstance(made, list):
            self.found.wrong(place, f"tests: {name} makes {shorten(made)}, which is not a list of tests")
            return []
        result = f"{name} makes {len(made)} today; import again when it makes others"
        self.found.note(place, ImportOutcome.MAPPED, "tests", result)
        return self._listed(YamlDocument(self.folder.name(split_code(reference)[0]), made, {}), (), made)
