"""Reads scenarios and cases from dataset items. Items are untrusted; nothing is written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.errors import FileProblem
from ratiba_action.model.langfuse_dataset import DatasetItem, StoredDataset
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess
from ratiba_action.observability.langfuse_datasets import read_dataset
from ratiba_action.observability.langfuse_server import connected
from ratiba_action.production.datasets.file_writing import ALLOWED, safe_path
from ratiba_action.production.datasets.local_suite import CASE, SCENARIO, SCHEMA
from ratiba_action.production.datasets.row_items import RowParts, RowTemplate, join_row, made_on_server, template_of
from ratiba_action.production.datasets.scenario_items import ScenarioParts, join_scenario, ours, same_json
from ratiba_action.suite.case_ids import COLUMN
from ratiba_action.suite.load import YAML_SUFFIXES
from ratiba_action.util.validation import shorten


def stored_dataset(access: LangfuseAccess, name: str) -> StoredDataset | None:
    """A dataset with all its items; None if there is none of that name.

    Args:
        access: with the time limit in seconds.

    Raises:
        LangfuseError: no answer, or too many items.
    """
    with connected(access, Deadline.after(access.seconds)) as server:
        return read_dataset(server, name)


@dataclass(frozen=True, slots=True)
class PulledRow:
    """A case and the id of its item."""

    values: Mapping[str, Any]
    item: str


@dataclass(slots=True)
class Pulled:
    """The content of a dataset.

    Args:
        scenarios: data by path relative to the scenarios folder.
        templates: scenario files with ``cases``, by the same.
        rows: of each case file, by the path of its scenario file.
        items: ids of the items, by path of a scenario.
        archived: ids of items that are no longer active.
        left_out: ids of items that a suite cannot use.
        problems: everything that is wrong with the others.
    """

    scenarios: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    templates: dict[str, RowTemplate] = field(default_factory=dict)
    rows: dict[str, list[PulledRow]] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    archived: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    problems: list[FileProblem] = field(default_factory=list)


def read_pulled(dataset: StoredDataset) -> Pulled:
    """The content of a dataset, with all its problems."""
    pulled = Pulled()
    _read_templates(pulled, ours(dataset.metadata) or {})
    found = [item for item in dataset.items if item.active]
    pulled.archived = [item.id for item in dataset.items if not item.active]
    for item in found:
        own = ours(item.metadata)
        if own is None:
            continue
        kind = own.get("kind") if own.get("schema") == SCHEMA else None
        if kind == SCENARIO:
            _read_scenario(pulled, item, own)
        elif kind == CASE:
            _read_case(pulled, item, own)
        else:
            what = f"schema {shorten(own.get('schema'))}, kind {shorten(own.get('kind'))}"
            _problem(pulled, item, f"metadata.ratiba has {what}, which this version does not support")
    for item in found:
        if ours(item.metadata) is None:
            _read_foreign(pulled, item)
    pulled.problems += _same_place(pulled)
    return pulled


def _problem(pulled: Pulled, item: DatasetItem, message: str) -> None:
    pulled.problems.append(FileProblem(f"item {shorten(item.id)}", 0, message))


def _read_templates(pulled: Pulled, metadata: Mapping[str, Any]) -> None:
    templates = metadata.get("templates", {})
    for path, data in templates.items() if isinstance(templates, Mapping) else ():
        shown = f"the dataset's template {shorten(path)}"
        if not safe_path(path, YAML_SUFFIXES):
            pulled.problems.append(FileProblem(shown, 0, f"its path is not allowed; {ALLOWED}"))
        elif not (isinstance(data, Mapping) and isinstance(data.get("id"), str)):
            pulled.problems.append(FileProblem(shown, 0, f"{shorten(data)} is not a scenario"))
        elif not (template := template_of(path, data)).rows_path:
            wrong = f"cases: {shorten(data.get('cases'))} is not allowed"
            wrong += "; use a .jsonl, .json or .csv file in the same folder"
            pulled.problems.append(FileProblem(shown, 0, wrong))
        else:
            pulled.templates[path] = template
            pulled.rows[path] = []


def _read_scenario(pulled: Pulled, item: DatasetItem, own: Mapping[str, Any]) -> None:
    path, rest = own.get("path"), own.get("scenario")
    problems: list[str] = []
    if not safe_path(path, YAML_SUFFIXES):
        problems.append(f"its path {shorten(path)} is not allowed; {ALLOWED}")
    parts = {"input": item.input, "expected_output": item.expected_output, "metadata.ratiba.scenario": rest}
    problems += [
        f"{name} must be an object, not {shorten(part)}" for name, part in parts.items() if not _is_object(part)
    ]
    if not problems and isinstance(rest, Mapping) and isinstance(path, str):
        data, problems_of_parts = join_scenario(ScenarioParts(item.input or {}, item.expected_output or {}, rest))
        problems += problems_of_parts
        if path in pulled.scenarios:
            problems.append(f"the item {shorten(pulled.items[path])} has {path} too; archive one of them")
        if not problems:
            pulled.scenarios[path], pulled.items[path] = data, item.id
    for problem in problems:
        _problem(pulled, item, problem)


def _is_object(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and all(isinstance(name, str) for name in value))


def _read_case(pulled: Pulled, item: DatasetItem, own: Mapping[str, Any]) -> None:
    template, rest = pulled.templates.get(str(own.get("template"))), own.get("row")
    if template is None:
        known = ", ".join(pulled.templates) or "none"
        _problem(pulled, item, f"its template {shorten(own.get('template'))} is not in the dataset; it has {known}")
    elif not isinstance(rest, Mapping):
        _problem(pulled, item, f"metadata.ratiba.row must be an object, not {shorten(rest)}")
    else:
        _add_row(pulled, template, item, RowParts(item.input, item.expected_output, rest))


def _read_foreign(pulled: Pulled, item: DatasetItem) -> None:
    """An item made on the server becomes a case of the only case file, once it has an expected output."""
    if len(pulled.templates) != 1:
        pulled.left_out.append(item.id)
        return
    (template,) = pulled.templates.values()
    if template.expected and not item.expected_output:
        # No human label yet.
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
    """Whether the suite has this row already, because it was pulled once and pushed since."""
    if COLUMN in row:
        return any(pulled_row.values.get(COLUMN) == row[COLUMN] for pulled_row in rows)
    return any(same_json(pulled_row.values, row) for pulled_row in rows)


def _add_row(pulled: Pulled, template: RowTemplate, item: DatasetItem, parts: RowParts) -> None:
    row, problems = join_row(template, parts)
    if not problems:
        pulled.rows[template.path].append(PulledRow(row, item.id))
    for problem in problems:
        _problem(pulled, item, problem)


def _same_place(pulled: Pulled) -> Iterator[FileProblem]:
    """Paths that are the same on case-insensitive file systems."""
    paths = [*pulled.scenarios, *pulled.templates, *(template.rows_path for template in pulled.templates.values())]
    first: dict[str, str] = {}
    for path in paths:
        if path.casefold() in first:
            earlier = shorten(first[path.casefold()])
            yield FileProblem(f"the dataset's {shorten(path)}", 0, f"it is the same file as {earlier}")
        first.setdefault(path.casefold(), path)
