"""Items of a dataset that `ratiba` did not make, mapped to a scenario with a file of cases. Items are untrusted."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.authoring.goldens import DEFAULT_METRIC, OVER_ALL, Mapped, cell, read_row
from ratiba_action.authoring.imported_suite import ITEM, Target, scenario_files
from ratiba_action.authoring.imports import TEST, Import, ImportedCase, ImportOutcome
from ratiba_action.model.langfuse_dataset import DatasetItem, StoredDataset
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.datasets.local_suite import LocalSuite
from ratiba_action.production.datasets.pulled import Pulled, PulledRow
from ratiba_action.production.datasets.row_items import template_of
from ratiba_action.production.datasets.scenario_items import ours
from ratiba_action.production.datasets.scratch_suite import with_standard_thresholds
from ratiba_action.util.strict_yaml import read_yaml
from ratiba_action.util.validation import shorten

USUAL: Mapping[str, str] = {"input": "input", "name": "id"}
"""What is mapped without a word: the input as a text or a list of messages, and the item's id."""


@dataclass(frozen=True, slots=True)
class ItemMapping:
    """How items become cases.

    Args:
        columns: JMESPath into ``{id, input, expectedOutput, metadata}`` by field.
        target: of the files; its folder is that of the scenarios.
        redactor: masks what an item holds before anything else reads it.
        metric: that compares with ``answer``, and its threshold.
        gates: thresholds over all cases, instead of the standard ones.
        share_decides: whether answer accuracy decides instead of each case.
    """

    columns: Mapping[str, str]
    target: Target
    redactor: Redactor
    metric: tuple[str, float] = DEFAULT_METRIC
    gates: Mapping[str, float] = field(default_factory=dict)
    share_decides: bool = False


def map_items(stored: StoredDataset, mapping: ItemMapping, local: LocalSuite) -> tuple[Pulled, Import]:
    """The scenario files and rows that a dataset's items become, and what could not be mapped, by the item's id.

    A scenario file that is there already with the same file of cases stays as it is: people add thresholds and metrics.

    Raises:
        SuiteError: there are more items than an import takes.
    """
    found, pulled = Import(), Pulled()
    columns = {**USUAL, **mapping.columns}
    mapped = Mapped(columns, mapping.metric, over_all=True)
    for item in stored.items:
        if item.active:
            _read_item(found, item, mapped, mapping.redactor)
        else:
            pulled.archived.append(item.id)
    files = scenario_files(found, mapping.target)
    for name in (name for name in files if name.endswith(".yaml")):
        path = name.removeprefix(f"{mapping.target.folder}/")
        document, _ = read_yaml(path, files[name])
        given = _without_labels(document.data if document is not None else {})
        data = with_standard_thresholds(given, mapping.gates, share_decides=mapping.share_decides)
        here = local.templates.get(path, {})
        pulled.templates[path] = template_of(path, here if here.get("cases") == data["cases"] else data)
        rows = [json.loads(line) for line in files[f"{name.removesuffix('.yaml')}.jsonl"].splitlines()]
        pulled.rows[path] = [PulledRow(row, row[ITEM]) for row in rows]
    taken = {row.item for rows in pulled.rows.values() for row in rows}
    pulled.left_out = [item.id for item in stored.items if item.active and item.id not in taken]
    return pulled, found


def _without_labels(data: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario without the metrics that its thresholds over all cases bring."""
    listed = [entry for entry in data.get("assertions", ()) if entry["metric"] not in OVER_ALL.values()]
    return {name: value for name, value in {**data, "assertions": listed}.items() if value}


def _read_item(found: Import, item: DatasetItem, mapped: Mapped, redactor: Redactor) -> None:
    place = (f"item {shorten(item.id)[1:-1]}", 0)
    if ours(item.metadata) is not None:
        found.note(
            place, ImportOutcome.MANUAL, TEST, "not mapped: `ratiba dataset push` made it; pull it without --map"
        )
        return
    content = {"input": item.input, "expectedOutput": item.expected_output, "metadata": dict(item.metadata)}
    masked = {name: redactor.value(value) for name, value in content.items()}
    row: dict[str, Any] = {"id": item.id, **masked}
    if masked != content:
        found.note(place, ImportOutcome.APPROXIMATED, TEST, "secrets, and what identifies a person, are masked")
    if cell(row, mapped.columns["input"]) is None:
        result = f"not mapped: there is nothing at {mapped.columns['input']}. Give --map input=PATH"
        found.note(place, ImportOutcome.MANUAL, TEST, result)
        return
    for name, path in mapped.columns.items():
        if name not in USUAL and cell(row, path) in (None, "", []) and (name, cell(row, path)) != ("history", []):
            found.note(place, ImportOutcome.MANUAL, name, f"not mapped: there is nothing at {path}")
    read_row(found, ImportedCase(*place, name=item.id, item=item.id), row, mapped)
