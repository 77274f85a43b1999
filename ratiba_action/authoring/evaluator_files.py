"""Reads Python files that evaluate with LangSmith or Langfuse. They are parsed and never run."""

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from ratiba_action.authoring.goldens import FORMATS, Mapped, read_row
from ratiba_action.authoring.imports import Import, ImportedCase, ImportOutcome
from ratiba_action.authoring.python_reading import (
    Names,
    PythonFile,
    PythonReader,
    arguments,
    called,
    items_of,
    literal,
    read_python,
    shown,
)
from ratiba_action.authoring.source_folder import SourceFolder

_PERSON = ImportOutcome.MANUAL
_RUNS = frozenset({"evaluate", "aevaluate", "run_experiment", "run_on_dataset", "arun_on_dataset"})
_EVALUATORS = ("evaluators", "summary_evaluators", "run_evaluators", "evaluation")
_ITEMS = frozenset({"create_example", "create_examples", "create_dataset_item"})
_JUDGE = "create_llm_as_judge"
_OWN = "not imported: write a metric of your own, a function of the gate's evidence, and name it as `module:function`"
_BY_JUDGE = "not imported: write its prompt for TemplateJudgeMetric, with {reply}, {asked} and {reference}"
_ELSEWHERE = "not imported: its items are not in this file; export the dataset, and give that file to this command"


class EvaluatorFile(PythonReader):
    """A file with examples and evaluators; what becomes nothing is left to a person."""

    def visit(self, node: ast.Call) -> None:
        """A run with its evaluators, or examples."""
        given = arguments(node)
        if called(node) in _ITEMS:
            for line, row in self._rows(node, given):
                form = "langfuse" if called(node) == "create_dataset_item" else "langsmith"
                read_row(self.found, ImportedCase(self.name, line), row, Mapped(FORMATS[form]))
            return
        for each in (item for key in _EVALUATORS for item in items_of(given.get(key))):
            judge = isinstance(each, ast.Call) and called(each) == _JUDGE
            what = f"evaluator {called(each) if isinstance(each, ast.Call) else shown(each)}"
            self.note(each, _PERSON, what, _BY_JUDGE if judge else _OWN)
        data = given.get("data", given.get("dataset_name"))
        if data is not None:
            self.note(node, _PERSON, f"{called(node)} {shown(data)}", _ELSEWHERE)

    def asserted(self, statement: ast.Assert, _names: Names) -> None:
        """An ``assert`` of a pytest file."""
        result = "code is not run: name the file in `tests` of the configuration, or use `expect`"
        self.note(statement, _PERSON, "assert", result)

    def _rows(self, node: ast.Call, given: Mapping[str, ast.expr]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Examples as rows of an export, with their lines."""
        if called(node) == "create_examples" and "examples" in given:
            listed = items_of(given["examples"])
        elif called(node) == "create_examples":
            listed = _zipped(given)
        else:
            keys = [ast.Constant(key) for key in given]
            listed = [ast.copy_location(ast.Dict(list(keys), list(given.values())), node)]
        for each in listed:
            row = literal(_known(each) if isinstance(each, ast.Dict) else each)
            if isinstance(row, Mapping) and ("inputs" in row or "input" in row):
                yield each.lineno, row
            else:
                self.note(
                    each, _PERSON, called(node), f"not imported: `{shown(each)}` is not written here as a literal"
                )


def _known(node: ast.Dict) -> ast.Dict:
    """The mapping without the dataset and what else only a run knows of the item itself."""
    pairs = list(zip(node.keys, node.values, strict=True))
    kept = [(key, value) for key, value in pairs if key is None or literal(key) not in {"dataset_id", "dataset_name"}]
    return ast.Dict([key for key, _ in kept], [value for _, value in kept])


def _zipped(given: Mapping[str, ast.expr]) -> list[ast.expr]:
    """Examples of lists of inputs and outputs."""
    columns = {key: items_of(given[key]) for key in ("inputs", "outputs", "metadata") if key in given}
    rows = zip(*columns.values(), strict=False)
    return [ast.copy_location(ast.Dict([ast.Constant(key) for key in columns], list(row)), row[0]) for row in rows]


def read_evaluators(folder: SourceFolder, name: str, found: Import) -> list[dict[str, Any]]:
    """Parse a file; its evaluators are left to a person, so no assertion is shared.

    Raises:
        SuiteError: it cannot be read, is not Python, or would be too large.
    """
    file = PythonFile(read_python(folder, name), _RUNS | _ITEMS)
    evaluators = EvaluatorFile(folder.name(name), found, file)
    before = len(found.findings) + len(found.cases)
    evaluators.read()
    if len(found.findings) + len(found.cases) == before:
        found.note((evaluators.name, 1), _PERSON, "file", "not imported: it has no examples and runs no evaluators")
    return []
