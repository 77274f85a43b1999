"""Writes a dataset as a temporary scenarios folder inside a checkout, for one run, with thresholds over all cases."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratiba_action.config.metrics_block import STANDARD_THRESHOLDS, unknown_aggregates
from ratiba_action.errors import FileProblem, SuiteError, UsageError
from ratiba_action.metrics.aggregates import ANSWER_ACCURACY, LABELS, SKILL_RECALL, truth_of
from ratiba_action.observability.traces.datasets import dataset_item_id
from ratiba_action.production.datasets.file_writing import replace_files
from ratiba_action.production.datasets.local_suite import LocalSuite
from ratiba_action.production.datasets.pull_plan import case_ids_of, plan_pull
from ratiba_action.production.datasets.pulled import Pulled
from ratiba_action.production.datasets.row_items import template_of
from ratiba_action.suite.load import NOT_SCENARIOS
from ratiba_action.suite.references import CATALOGUE_SUFFIX
from ratiba_action.util.locked_folder import read_plain_file

_PREFIX = ".ratiba-dataset-"


@dataclass(frozen=True, slots=True)
class ScratchSuite:
    """The files of a dataset run.

    Args:
        files: contents by path relative to the folder.
        items: ids of the items by scenario, if they differ from those derived from the scenario's id.
        left_out: ids of items that a suite cannot use.
    """

    files: Mapping[str, bytes]
    items: Mapping[str, str]
    left_out: tuple[str, ...]


def scratch_suite(
    pulled: Pulled, dataset: str, gates: Mapping[str, float], *, share_decides: bool = False
) -> ScratchSuite:
    """The suite of a dataset.

    Args:
        pulled: content of the dataset; its templates get the thresholds.
        gates: thresholds by name, instead of those of the dataset and the standard ones.
        share_decides: whether answer accuracy decides instead of each case, where the dataset has no such threshold.

    Raises:
        SuiteError: its items are not a valid suite; every problem.
    """
    for path, template in pulled.templates.items():
        pulled.templates[path] = template_of(
            path, with_standard_thresholds(template.data, gates, share_decides=share_decides)
        )
    for path in [path for path, rows in pulled.rows.items() if not rows]:
        # A case file without cases has nothing to run.
        del pulled.templates[path], pulled.rows[path]
    plan = plan_pull(LocalSuite(_PREFIX), pulled, dataset)
    if not plan.files:
        raise SuiteError([FileProblem(f"the dataset {dataset!r}", 0, "it has no active item that a suite can take")])
    return ScratchSuite(plan.files, _items(pulled, dataset), plan.left_out)


def _items(pulled: Pulled, dataset: str) -> dict[str, str]:
    found = {str(data.get("id")): pulled.items[path] for path, data in pulled.scenarios.items()}
    for path, template in pulled.templates.items():
        rows = pulled.rows[path]
        found |= dict(zip(case_ids_of(template, rows), (row.item for row in rows), strict=True))
    return {name: item for name, item in found.items() if item != dataset_item_id(dataset, name)}


@contextmanager
def scratch_folder(repository: Path, scenarios: str, suite: ScratchSuite) -> Iterator[str]:
    """A folder with the suite and the checkout's recordings, calibration and catalogues.

    Args:
        repository: the checkout's root.

    Yields:
        The folder's path from the root; removed when the block ends.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=repository))
    except OSError as error:
        raise UsageError(f"{str(repository)!r} cannot be written to: {error.strerror}.", "Make it writable.") from error
    try:
        folder.chmod(0o755)
        (folder / ".gitignore").write_text("*\n")
        _copy_beside(repository, scenarios, folder)
        replace_files(folder, suite.files)
        yield folder.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy_beside(repository: Path, scenarios: str, folder: Path) -> None:
    top = repository / scenarios
    wanted = [path for name in NOT_SCENARIOS for path in sorted((top / name).rglob("*"))]
    wanted += sorted(top.rglob(f"*{CATALOGUE_SUFFIX}"))
    for path in wanted:
        if path.is_dir():
            continue
        name = path.relative_to(repository).as_posix()
        place = folder / path.relative_to(top)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            place.write_bytes(read_plain_file(repository, name))
        except OSError as error:
            raise UsageError(
                f"{name!r} cannot be read: {error.strerror}.", "Make it readable, or remove it."
            ) from error


def parse_threshold(text: str) -> tuple[str, float]:
    """A threshold such as ``macro_f1=0.85``.

    Raises:
        ValueError: it has another form.
    """
    name, _, minimum = text.partition("=")
    if problem := unknown_aggregates([name]):
        raise ValueError(f"NAME=LEAST such as macro_f1=0.85 ({problem})")
    try:
        value = float(minimum)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError("NAME=LEAST such as macro_f1=0.85, the least from 0 to 1")
    return name, value


def with_standard_thresholds(
    data: Mapping[str, Any], requested: Mapping[str, float], *, share_decides: bool = False
) -> dict[str, Any]:
    """A scenario file with ``cases``, with the standard thresholds that its labels allow.

    Args:
        data: of the file; its own thresholds replace the standard ones.
        requested: by name; replace both.
        share_decides: whether an answer accuracy that the file does not list decides instead of each case.
    """
    parts = data.get("gates", []), data.get("turns", [])
    if not all(isinstance(part, list) and all(map(_is_object, part)) for part in parts):
        # Not a valid scenario: loading it reports that.
        return dict(data)
    listed = {str(gate.get("metric")): gate for gate in parts[0]}
    standard = [name for name in STANDARD_THRESHOLDS if _has_truth(name, data, parts[1])]
    gates = {name: {"metric": name, "at_least": STANDARD_THRESHOLDS[name]} for name in standard}
    if share_decides and ANSWER_ACCURACY in gates:
        gates[ANSWER_ACCURACY]["decides"] = True
    gates |= listed
    gates |= {name: {**gates.get(name, {"metric": name}), "at_least": minimum} for name, minimum in requested.items()}
    return {**data, "gates": list(gates.values())}


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _has_truth(name: str, data: Mapping[str, Any], turns: Sequence[Any]) -> bool:
    expected = [turn.get("expect") or {} for turn in turns]
    if name == ANSWER_ACCURACY:
        # Labels that only aggregates use assert nothing about a single case.
        asserted = any(
            set(expectation) - {"label", "labels", "documents"} for expectation in expected if _is_object(expectation)
        )
        return asserted or any(data.get(part) for part in ("assertions", "rules", "rows"))
    several = any("labels" in expectation for expectation in expected if _is_object(expectation))
    if name == SKILL_RECALL:
        return several
    return truth_of(name) == LABELS and (
        several or any("label" in expectation for expectation in expected if _is_object(expectation))
    )
