"""Variables of a promptfoo test: of its layers, of files, and of code where a person asked to run it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from ratiba_action.authoring.imports import Import, ImportOutcome, NotImportedError
from ratiba_action.authoring.promptfoo.parts import FilePart
from ratiba_action.authoring.promptfoo.project_code import OPTION, ProjectCode, is_code
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.errors import SuiteError
from ratiba_action.util.validation import shorten

_TEXT = (".txt", ".md", ".json", ".yaml", ".yml", ".csv")
_MAX_FILES, _MAX_COMBINATIONS = 100, 200


@dataclass(slots=True)
class Variables:
    """Reads the variables of tests.

    Args:
        code: runs what makes them; None if nobody asked for it.
        prompt: the text of the only prompt, which code is given.
    """

    folder: SourceFolder
    found: Import
    code: ProjectCode | None
    prompt: str | None = None

    def of(self, layers: Sequence[FilePart], change: Any = None) -> dict[str, Any]:
        """The variables of a test by name; a text that names a file is its content.

        Args:
            change: ``transformVars`` of the test, which sees the names of files and not their content.

        Raises:
            NotImportedError: a file cannot be read as text.
        """
        values: dict[str, Any] = {}
        for layer in layers:
            given = layer.data.get("vars")
            if isinstance(given, str) or (given and isinstance(given, list) and all(isinstance(x, str) for x in given)):
                given = self._merged(layer.place("vars"), [given] if isinstance(given, str) else given)
            if given is not None and not isinstance(given, Mapping):
                self.found.wrong(layer.place("vars"), f"vars: {shorten(given)} is not a mapping")
                continue
            values |= given or {}
        values = self._transformed(layers[-1].place(), change, values)
        return {name: self.loaded(value, name, values) for name, value in values.items()}

    def _transformed(self, place: tuple[str, int], code: Any, variables: dict[str, Any]) -> dict[str, Any]:
        """The variables of a test with those that ``transformVars`` makes of them."""
        if self.code is None or not isinstance(code, str):
            return variables
        # A test has the same number in each import.
        number = str(uuid5(NAMESPACE_URL, json.dumps(variables, sort_keys=True, default=str)))
        given = (variables, {"prompt": {}, "uuid": number})
        try:
            if code.startswith("file://"):
                made = self.code.call(self.folder, code, "get_transform", *given)
            else:
                made = self.code.inline(self.folder, code, ("vars", "context"), *given)
        except (NotImportedError, SuiteError) as error:
            reason = error.problems[0] if isinstance(error, SuiteError) else error
            self.found.note(place, ImportOutcome.MANUAL, "options.transformVars", f"not imported: {reason}")
            return variables
        if not isinstance(made, Mapping):
            result = f"not imported: it makes {shorten(made)}, which is not a mapping"
            self.found.note(place, ImportOutcome.MANUAL, "options.transformVars", result)
            return variables
        return {**variables, **made}

    def _merged(self, place: tuple[str, int], references: Sequence[str]) -> Mapping[str, Any] | None:
        """The variables of files, those of a later one first."""
        merged: dict[str, Any] = {}
        for reference in references:
            name = reference.removeprefix("file://").removeprefix("./")
            names = self.folder.matching(name, _MAX_FILES) if "*" in name else [name]
            if reference.startswith("file://"):
                result = "the file's values; promptfoo 0.121.20 takes none, unless the path is without `file://`"
                self.found.note(place, ImportOutcome.APPROXIMATED, "vars", result)
            if not 0 < len(names) <= _MAX_FILES:
                self.found.wrong(
                    place, f"vars: {shorten(reference)} names {len(names)} files; allowed: 1 to {_MAX_FILES}"
                )
                return None
            for each in names:
                data = self.folder.document(each).data
                if not isinstance(data, Mapping):
                    self.found.wrong(place, f"vars: {each}: {shorten(data)} is not a mapping")
                    return None
                merged |= data
        return merged

    def loaded(self, value: Any, variable: str = "", others: Mapping[str, Any] | None = None) -> Any:
        """A value; of a text that names a file its content, of code its result, of a pattern each file's content.

        Args:
            variable: its name; empty for a value of an assertion.
            others: all variables of the test.
        """
        if isinstance(value, list):
            return [self.loaded(each, variable, others) for each in value]
        if not isinstance(value, str) or not value.startswith("file://"):
            return value
        if variable and is_code(value):
            return self._computed(value, variable, others or {})
        name = value.removeprefix("file://").removeprefix("./")
        if not name.endswith(_TEXT):
            raise NotImportedError(f"{shorten(value)} is not a text file")
        if "*" not in name:
            return self._content(name)
        names = self.folder.matching(name, _MAX_FILES)
        if not 0 < len(names) <= _MAX_FILES:
            raise NotImportedError(f"{shorten(value)} names {len(names)} files; allowed: 1 to {_MAX_FILES}")
        return [self._content(each) for each in names]

    def _computed(self, reference: str, variable: str, others: Mapping[str, Any]) -> Any:
        """The value of a variable that code makes.

        Raises:
            NotImportedError: it fails, or nobody asked to run it.
            SuiteError: it cannot be read.
        """
        if self.code is None:
            raise NotImportedError(
                f"{shorten(reference)} makes a variable by code, which an import runs only with {OPTION}"
            )
        made = self.code.call(self.folder, reference, "get_var", variable, self.prompt or "", others)
        if not isinstance(made, Mapping) or made.get("error") or "output" not in made:
            raise NotImportedError(f"{shorten(reference)} makes {shorten(made)}, which has no `output`")
        output = made["output"]
        return output.strip() if isinstance(output, str) and ".py" in reference else output

    def _content(self, name: str) -> str:
        """The text of a file, and of YAML its JSON, as promptfoo reads it."""
        if not name.endswith((".yaml", ".yml")):
            return self.folder.text(name)
        return json.dumps(self.folder.document(name).data, ensure_ascii=False, separators=(",", ":"))


def combinations(variables: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each combination of the values of listed variables.

    Raises:
        NotImportedError: there are too many.
    """
    # promptfoo looks at the first entry: a list of anything but texts is one value.
    listed = [
        value if isinstance(value, list) and value and isinstance(value[0], str) else [value]
        for value in variables.values()
    ]
    found = list(islice(product(*listed), _MAX_COMBINATIONS + 1))
    if len(found) > _MAX_COMBINATIONS:
        raise NotImportedError(f"its lists of variables have more than {_MAX_COMBINATIONS} combinations")
    return [dict(zip(variables, values, strict=True)) for values in found]
