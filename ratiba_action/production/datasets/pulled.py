"""Items of a server → scenarios and rows; what a server says is looked at as anybody's, and nothing is written here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.errors import FileProblem
from ratiba_action.model.data_set import DatasetItem, StoredDataset
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess
from ratiba_action.observability.langfuse_datasets import read_dataset
from ratiba_action.observability.langfuse_server import connected
from ratiba_action.production.datasets.file_writing import ALLOWED, safe_path
from ratiba_action.production.datasets.local_suite import CASE, SCENARIO, SCHEMA
from ratiba_action.production.datasets.row_items import RowParts, Template, join_row, made_on_server, template_of
from ratiba_action.production.datasets.scenario_items import ScenarioParts, join_scenario, ours, same_json
from ratiba_action.suite.case_ids import COLUMN
from ratiba_action.suite.load import YAML_SUFFIXES
from ratiba_action.util.validation import shorten


def stored_dataset(access: LangfuseAccess, name: str) -> StoredDataset | None:
    """A dataset with all its items; None when there is none of that name.

    Args:
        access: with the seconds that everything may take.
        name: of the dataset.

    Raises:
        LangfuseError: no answer, or more than a suite can hold.
    """
    with connected(access, Deadline.after(access.seconds)) as server:
        return read_dataset(server, name)


@dataclass(frozen=True, slots=True)
class PulledRow:
    """A case, and the item that it stands in."""

    values: Mapping[str, Any]
    item: str


@dataclass(slots=True)
class Pulled:
    """What a dataset holds.

    Args:
        scenarios: data by path relative to the folder of scenarios.
        templates: scenario files with ``cases``, by the same.
        rows: of each case file, by the path of its scenario file.
        items: ids of the items, by path of a scenario.
        archived: ids of items that are no longer active.
        left_out: ids of items that hold nothing a suite can take.
        problems: everything that is wrong with the others.
    """

    scenarios: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    templates: dict[str, Template] = field(default_factory=dict)
    rows: dict[str, list[PulledRow]] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    archived: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    problems: list[FileProblem] = field(default_factory=list)


def read_pulled(dataset: StoredDataset) -> Pulled:
    """Everything that a dataset holds, and everything that is wrong with it."""
    pulled = Pulled()
    _read_templates(pulled, ours(dataset.metadata) or {})
    found = [item for item in dataset.items if item.active]
    pulled.archived = [item.id for item in dataset.items if not item.active]
    for item in found:
        said = ours(item.metadata)
        if said is None:
            continue
        kind = said.get("kind") if said.get("schema") == SCHEMA else None
        if kind == SCENARIO:
            _read_scenario(pulled, item, said)
        elif kind == CASE:
            _read_case(pulled, item, said)
        else:
            what = f"schema {shorten(said.get('schema'))}, kind {shorten(said.get('kind'))}"
            _problem(pulled, item, f"metadata.ratiba is of {what}, which this version does not know")
    for item in found:
        if ours(item.metadata) is None:
            _read_foreign(pulled, item)
    pulled.problems += _same_place(pulled)
    return pulled


def _problem(pulled: Pulled, item: DatasetItem, message: str) -> None:
    pulled.problems.append(FileProblem(f"item {shorten(item.id)}", 0, message))


def _read_templates(pulled: Pulled, said: Mapping[str, Any]) -> None:
    templates = said.get("templates", {})
    for path, data in templates.items() if isinstance(templates, Mapping) else ():
        shown = f"the dataset's template {shorten(path)}"
        if not safe_path(path, YAML_SUFFIXES):
            pulled.problems.append(FileProblem(shown, 0, f"its path is not allowed; {ALLOWED}"))
        elif not (isinstance(data, Mapping) and isinstance(data.get("id"), str)):
            pulled.problems.append(FileProblem(shown, 0, f"{shorten(data)} is no scenario"))
        elif not (template := template_of(path, data)).rows_path:
            wrong = f"cases: {shorten(data.get('cases'))} is not allowed; name a .jsonl or .csv file beside it"
            pulled.problems.append(FileProblem(shown, 0, wrong))
        else:
            pulled.templates[path] = template
            pulled.rows[path] = []


def _read_scenario(pulled: Pulled, item: DatasetItem, said: Mapping[str, Any]) -> None:
    path, rest = said.get("path"), said.get("scenario")
    problems: list[str] = []
    if not safe_path(path, YAML_SUFFIXES):
        problems.append(f"its path {shorten(path)} is not allowed; {ALLOWED}")
    parts = {"input": item.input, "expected_output": item.expected_output, "metadata.ratiba.scenario": rest}
    problems += [f"{name} is {shorten(one)}, no object" for name, one in parts.items() if not _is_object(one)]
    if not problems and isinstance(rest, Mapping) and isinstance(path, str):
        data, problems_of_parts = join_scenario(ScenarioParts(item.input or {}, item.expected_output or {}, rest))
        problems += problems_of_parts
        if path in pulled.scenarios:
            problems.append(f"{path} stands in the item {shorten(pulled.items[path])} too; archive one of them")
        if not problems:
            pulled.scenarios[path], pulled.items[path] = data, item.id
    for problem in problems:
        _problem(pulled, item, problem)


def _is_object(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and all(isinstance(name, str) for name in value))


def _read_case(pulled: Pulled, item: DatasetItem, said: Mapping[str, Any]) -> None:
    template, rest = pulled.templates.get(str(said.get("template"))), said.get("row")
    if template is None:
        known = ", ".join(pulled.templates) or "none"
        _problem(pulled, item, f"its template {shorten(said.get('template'))} is not in the dataset; it has {known}")
    elif not isinstance(rest, Mapping):
        _problem(pulled, item, f"metadata.ratiba.row is {shorten(rest)}, no object")
    else:
        _add_row(pulled, template, item, RowParts(item.input, item.expected_output, rest))


def _read_foreign(pulled: Pulled, item: DatasetItem) -> None:
    """An item that was made on the server is a case of the one case file that there is, once it has a truth."""
    if len(pulled.templates) != 1:
        pulled.left_out.append(item.id)
        return
    (template,) = pulled.templates.values()
    if template.expected and not item.expected_output:
        # Nobody has said yet what is right.
        pulled.left_out.append(item.id)
        return
    rows = pulled.rows[template.path]
    named = not rows or any(COLUMN in row.values for row in rows)
    parts = RowParts(item.input, item.expected_output, {})
    made = made_on_server(template, item.id, parts, trace=item.source_trace_id, named=named)
    if _taken_over(join_row(template, made)[0], rows):
        pulled.left_out.append(item.id)
        return
    _add_row(pulled, template, item, made)


def _taken_over(row: Mapping[str, Any], rows: Sequence[PulledRow]) -> bool:
    """Whether the suite has this row already: it was pulled once and pushed since, as an item of the suite's own."""
    if COLUMN in row:
        return any(one.values.get(COLUMN) == row[COLUMN] for one in rows)
    return any(same_json(one.values, row) for one in rows)


def _add_row(pulled: Pulled, template: Template, item: DatasetItem, parts: RowParts) -> None:
    row, problems = join_row(template, parts)
    if not problems:
        pulled.rows[template.path].append(PulledRow(row, item.id))
    for problem in problems:
        _problem(pulled, item, problem)


def _same_place(pulled: Pulled) -> Iterator[FileProblem]:
    """Paths that some file systems take for the same."""
    paths = [*pulled.scenarios, *pulled.templates, *(one.rows_path for one in pulled.templates.values())]
    first: dict[str, str] = {}
    for path in paths:
        if path.casefold() in first:
            earlier = shorten(first[path.casefold()])
            yield FileProblem(f"the dataset's {shorten(path)}", 0, f"it is the same file as {earlier}")
        first.setdefault(path.casefold(), path)
