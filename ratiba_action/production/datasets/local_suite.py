"""The scenario files of a checkout, and their dataset items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.langfuse_dataset import DatasetItem
from ratiba_action.observability.traces.datasets import APART, OURS, dataset_item_id
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.production.datasets.file_writing import ALLOWED, safe_path
from ratiba_action.production.datasets.row_items import (
    TRACE,
    RowParts,
    RowTemplate,
    join_row,
    made_on_server,
    split_row,
    template_of,
)
from ratiba_action.production.datasets.scenario_items import inexact_number, split_scenario
from ratiba_action.suite.case_ids import COLUMN, case_ids
from ratiba_action.suite.data_file import CaseRow, read_rows
from ratiba_action.suite.load import YAML_SUFFIXES, load_suite, read_scenario_files
from ratiba_action.suite.references import CATALOGUE_SUFFIX
from ratiba_action.util.strict_yaml import read_yaml

SCHEMA = 1
"""Version of the metadata under ``ratiba``."""

SCENARIO, CASE = "scenario", "case"


@dataclass(frozen=True, slots=True)
class LocalRows:
    """A case file's rows."""

    template: RowTemplate
    rows: Sequence[CaseRow] = ()
    ids: Sequence[str] = ()

    @property
    def named(self) -> bool:
        """Whether its cases have ids of their own; new cases of an empty file get one."""
        return not self.rows or any(COLUMN in row.values for row in self.rows)


@dataclass(frozen=True, slots=True)
class LocalSuite:
    """The scenario files of a checkout.

    Args:
        folder: of the scenarios, from the repository's root.
        files: contents by path relative to the folder.
        scenarios: data by path relative to the folder.
        data_sets: by path of their scenario file, relative to the folder.
    """

    folder: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    scenarios: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    data_sets: Mapping[str, LocalRows] = field(default_factory=dict)

    @property
    def templates(self) -> dict[str, Mapping[str, Any]]:
        """Data of every scenario file with ``cases``."""
        return {path: dict(rows.template.data) for path, rows in self.data_sets.items()}


def read_local_suite(repository: Path, folder: str) -> LocalSuite:
    """Read and check the scenario files of a checkout; a missing folder has none.

    Raises:
        SuiteError: they are invalid, or a server could not return them unchanged; every problem.
    """
    if not (repository / folder).is_dir():
        return LocalSuite(folder)
    named = read_scenario_files(repository, folder)
    files = {name.removeprefix(f"{folder}/"): content for name, content in named.items()}
    return parse_suite(folder, files)


def parse_suite(folder: str, files: Mapping[str, bytes]) -> LocalSuite:
    """Parse and check scenario files, given by path relative to the folder.

    Raises:
        SuiteError: they are invalid; every problem.
    """
    if not any(_is_scenario(name) for name in files):
        return LocalSuite(folder, files)
    loaded = {f"{folder}/{name}": content for name, content in files.items()}
    # Only whether they are valid; the zone of those that name none stands in the configuration.
    load_suite(loaded, metric_problems, validate_rule, timezone=None)
    scenarios, data_sets = dict[str, Mapping[str, Any]](), dict[str, LocalRows]()
    for name in sorted(filter(_is_scenario, files)):
        document, _ = read_yaml(name, files[name])
        data = document.data if document is not None else {}
        if "cases" not in data:
            scenarios[name] = data
            continue
        template = template_of(name, data)
        rows, _ = read_rows(template.rows_path, files.get(template.rows_path, b""))
        ids, _ = case_ids(str(data["id"]), template.rows_path, rows)
        data_sets[name] = LocalRows(template, rows, [case or "" for case in ids])
    suite = LocalSuite(folder, files, scenarios, data_sets)
    problems = list(_problems(suite))
    if problems:
        raise SuiteError(problems)
    return suite


def _is_scenario(name: str) -> bool:
    return name.endswith(YAML_SUFFIXES) and not name.endswith(CATALOGUE_SUFFIX)


def _problems(suite: LocalSuite) -> Iterator[FileProblem]:
    """What a server would not return unchanged, and credentials, which must not leave the machine."""
    shared: dict[str, str] = {}
    for name in (*suite.scenarios, *suite.data_sets):
        shown = f"{suite.folder}/{name}"
        if not safe_path(name, YAML_SUFFIXES):
            yield FileProblem(shown, 0, f"its path is not allowed in a dataset; {ALLOWED}")
        yield from _contents(shown, suite.files[name], suite.scenarios.get(name, {}))
    for name, rows in suite.data_sets.items():
        shown, path = f"{suite.folder}/{name}", rows.template.rows_path
        if not path:
            yield FileProblem(shown, 0, "cases: the file of cases must be in this file's folder or below")
        elif path in shared:
            yield FileProblem(shown, 0, f"cases: {shared[path]} has the same rows; give each scenario of cases its own")
        else:
            yield from _contents(
                f"{suite.folder}/{path}", suite.files.get(path, b""), [dict(row.values) for row in rows.rows]
            )
        shared.setdefault(path, shown)


def _contents(shown: str, content: bytes, data: Any) -> Iterator[FileProblem]:
    kinds = find_credentials(content.decode("utf-8", "replace"))
    if kinds:
        yield FileProblem(shown, 0, f"it contains {', '.join(sorted(set(kinds)))}; remove it before pushing")
    number = inexact_number(data)
    if number is not None:
        yield FileProblem(
            shown, 0, f"the number {number} is too large for a server to store exactly; write it as a string"
        )


def dataset_metadata(suite: LocalSuite, apart: Sequence[str] = ()) -> dict[str, Any]:
    """Metadata of the dataset itself: the scenario files with ``cases``, and the ids of those with a dataset apart."""
    return {"schema": SCHEMA, "templates": suite.templates, **({APART: list(apart)} if apart else {})}


def parts_of(suite: LocalSuite) -> dict[str, LocalSuite]:
    """Each file of cases by the id of its scenario, and below an empty name everything else."""
    cases = {str(rows.template.data["id"]): {path: rows} for path, rows in suite.data_sets.items()}
    return {"": replace(suite, data_sets={})} | {
        name: replace(suite, scenarios={}, data_sets=rows) for name, rows in cases.items()
    }


def suite_items(suite: LocalSuite, dataset: str) -> tuple[DatasetItem, ...]:
    """An item for each scenario and each case.

    Args:
        dataset: its name, since ids must be unique in a Langfuse project.
    """
    scenarios = (_scenario_item(dataset, name, data) for name, data in suite.scenarios.items())
    cases = (
        _case_item(dataset, rows.template, case, row.values)
        for rows in suite.data_sets.values()
        for case, row in zip(rows.ids, rows.rows, strict=True)
    )
    return (*scenarios, *cases)


def _scenario_item(dataset: str, path: str, data: Mapping[str, Any]) -> DatasetItem:
    parts = split_scenario(data)
    provenance = data.get("provenance")
    trace = provenance.get("trace") if isinstance(provenance, Mapping) else None
    return DatasetItem(
        id=dataset_item_id(dataset, str(data["id"])),
        input=dict(parts.input),
        expected_output=dict(parts.expected_output),
        metadata={OURS: {"schema": SCHEMA, "kind": SCENARIO, "path": path, "scenario": dict(parts.rest)}},
        source_trace_id=trace if isinstance(trace, str) else "",
    )


def _case_item(dataset: str, template: RowTemplate, case: str, row: Mapping[str, Any]) -> DatasetItem:
    parts = split_row(template, row)
    trace = row.get(TRACE)
    return DatasetItem(
        id=dataset_item_id(dataset, case),
        input=parts.input,
        expected_output=parts.expected_output,
        metadata={OURS: {"schema": SCHEMA, "kind": CASE, "template": template.path, "row": dict(parts.rest)}},
        source_trace_id=trace if isinstance(trace, str) else "",
    )


def adopted_item(suite: LocalSuite, dataset: str, item: DatasetItem) -> str:
    """Id of the suite's item that an item made on the server became after a pull; empty for none."""
    if OURS in item.metadata or len(suite.data_sets) != 1:
        return ""
    (rows,) = suite.data_sets.values()
    parts = RowParts(item.input, item.expected_output, {})
    made = made_on_server(rows.template, item.id, parts, trace=item.source_trace_id, named=rows.named)
    row, problems = join_row(rows.template, made)
    if problems:
        return ""
    (case,), wrong = case_ids(str(rows.template.data["id"]), rows.template.rows_path, [CaseRow(1, row)])
    return dataset_item_id(dataset, case) if case and not wrong and case in rows.ids else ""
