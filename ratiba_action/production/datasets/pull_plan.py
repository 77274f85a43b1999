"""Computes which files a pull would change in a checkout, with their new content."""

import csv
import difflib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.observability.traces.datasets import dataset_item_id
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.production.datasets.local_suite import LocalSuite
from ratiba_action.production.datasets.pulled import Pulled, PulledRow
from ratiba_action.production.datasets.row_items import RowTemplate
from ratiba_action.production.datasets.scenario_items import same_json
from ratiba_action.suite.case_ids import HISTORY, case_ids
from ratiba_action.suite.data_file import CaseRow
from ratiba_action.suite.load import load_suite
from ratiba_action.suite.scenario_schema import ScenarioBlock
from ratiba_action.util.strict_yaml import read_yaml

_WIDTH = 110


class RenderingError(ValueError):
    """Data that cannot be written to a file; says why."""


def render_scenario(data: Mapping[str, Any]) -> bytes:
    """A scenario file, its keys in the order of the documentation.

    Raises:
        RenderingError: it cannot be written as YAML that reads back equal.
    """
    order = {name: number for number, name in enumerate(ScenarioBlock.model_fields)}
    sorted_data = {name: data[name] for name in sorted(data, key=lambda name: order.get(name, len(order)))}
    # Unicode line separators survive only if escaped, and escaping applies to all non-ASCII characters.
    for legible in (True, False):
        text = _as_yaml(sorted_data, legible=legible)
        document, problems = read_yaml("the item", text)
        if document is not None and same_json(document.data, sorted_data):
            return text
    reason = problems[0].message if problems else "it contains a number or a text that YAML reads back differently"
    raise RenderingError(f"it cannot be written as YAML: {reason}")


def _as_yaml(data: Mapping[str, Any], *, legible: bool) -> bytes:
    import yaml  # only what writes scenarios needs it

    try:
        return yaml.safe_dump(dict(data), allow_unicode=legible, sort_keys=False, width=_WIDTH).encode()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RenderingError(f"it cannot be written as YAML: {type(error).__name__}") from error


def render_json_rows(rows: Iterable[Mapping[str, Any] | str]) -> bytes:
    """A JSON Lines file; a string row is a line that stays unchanged.

    Raises:
        RenderingError: a row cannot be encoded as UTF-8 JSON.
    """
    try:
        lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
        return "".join(f"{line}\n" for line in lines).encode()
    except ValueError as error:
        raise RenderingError("a row contains half of a surrogate pair, NaN or infinity") from error


def render_csv_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """A CSV file.

    Args:
        rows: each with some of the columns.
        columns: of the file, in order.

    Raises:
        RenderingError: a value is not text, or a column is unknown.
    """
    for row in rows:
        for name, value in row.items():
            if not isinstance(value, str):
                raise RenderingError(f"the column {name!r:.80} is not text, but a CSV file has only text")
            if name not in columns:
                raise RenderingError(f"the CSV file has no column {name!r:.80}")
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row.get(name, "") for name in columns] for row in rows)
    try:
        return stream.getvalue().encode()
    except ValueError as error:
        raise RenderingError("a row contains half of a surrogate pair") from error


def line_of(content: bytes, row: CaseRow) -> str:
    """The line of a JSON Lines file that a row was read from."""
    return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").split("\n")[row.line - 1]


@dataclass(frozen=True, slots=True)
class PullPlan:
    """Files to write, and ids to report.

    Args:
        files: new contents by path relative to the scenarios folder; unchanged files are left out.
        only_here: ids of scenarios and cases without an active item in the dataset.
        left_out: ids of items that a suite cannot use.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    only_here: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def plan_pull(local: LocalSuite, pulled: Pulled, dataset: str) -> PullPlan:
    """Compare a server with a checkout.

    Args:
        pulled: content of the dataset.

    Raises:
        SuiteError: the items, or the suite they would make, are invalid; every problem.
    """
    problems = list(pulled.problems)
    files: dict[str, bytes] = {}
    for path, data in pulled.scenarios.items():
        if not same_json(data, _local_data(local, path)):
            _render(files, problems, pulled, path, data)
    for path, template in pulled.templates.items():
        if not same_json(template.data, _local_data(local, path)):
            _render(files, problems, pulled, path, template.data)
        try:
            content = _rows(local, template, pulled.rows[path])
        except RenderingError as error:
            problems.append(FileProblem(f"the rows of {path}", 0, str(error)))
            continue
        if content is not None:
            files[template.rows_path] = content
    if not problems:
        problems = list(_suite_problems({**local.files, **files}, files, pulled, local.folder))
    if problems:
        raise SuiteError(problems)
    here = _ids(local)
    there = _pulled_ids(pulled)
    only_here = tuple(name for name in here if name not in there)
    archived = tuple(name for name in only_here if dataset_item_id(dataset, name) in pulled.archived)
    return PullPlan(files, only_here, archived, tuple(pulled.left_out))


def _local_data(local: LocalSuite, path: str) -> Any:
    return local.scenarios.get(path) or local.templates.get(path)


def _render(
    files: dict[str, bytes], problems: list[FileProblem], pulled: Pulled, path: str, data: Mapping[str, Any]
) -> None:
    try:
        files[path] = render_scenario(data)
    except RenderingError as error:
        problems.append(FileProblem(_item_or_path(pulled, path), 0, str(error)))


def _item_or_path(pulled: Pulled, path: str) -> str:
    return f"item {pulled.items[path]!r:.80} ({path})" if path in pulled.items else f"the dataset's {path}"


def _rows(local: LocalSuite, template: RowTemplate, pulled: Sequence[PulledRow]) -> bytes | None:
    """New content of a file of cases; None if unchanged. Rows that exist only locally stay."""
    local_rows = local.data_sets.get(template.path)
    rows = local_rows.rows if local_rows is not None and local_rows.template.rows_path == template.rows_path else ()
    ids = dict(zip(local_rows.ids, rows, strict=True)) if local_rows is not None and rows else {}
    content = local.files.get(template.rows_path, b"")
    by_id = dict(zip(case_ids_of(template, pulled), pulled, strict=True))
    changed = {
        case: row for case, row in by_id.items() if case not in ids or not same_json(ids[case].values, row.values)
    }
    if not changed:
        return None
    new = [changed[case].values for case in sorted(changed) if case not in ids]
    if template.rows_path.endswith(".csv"):
        existing = [dict(changed[case].values if case in changed else row.values) for case, row in ids.items()]
        columns = list(rows[0].values) if rows else list(dict.fromkeys(name for row in new for name in row))
        columns += [HISTORY] if HISTORY not in columns and any(HISTORY in row.values for row in pulled) else []
        return render_csv_rows([*existing, *new], columns)
    if template.rows_path.endswith(".json"):
        listed = (changed[case].values if case in changed else row.values for case, row in ids.items())
        return b"[\n" + render_json_rows([*listed, *new]).rstrip().replace(b"\n", b",\n") + b"\n]\n"
    lines = [changed[case].values if case in changed else line_of(content, row) for case, row in ids.items()]
    return render_json_rows([*lines, *new])


def case_ids_of(template: RowTemplate, pulled: Sequence[PulledRow]) -> list[str]:
    """Ids of the cases that rows become.

    Raises:
        RenderingError: some items cannot have an id; which and why.
    """
    rows = [CaseRow(number, row.values) for number, row in enumerate(pulled, 1)]
    ids, problems = case_ids(str(template.data.get("id")), template.rows_path, rows)
    if problems:
        messages = [f"item {pulled[problem.line - 1].item!r:.80}: {problem.message}" for problem in problems]
        raise RenderingError("; ".join(messages[:20]))
    return [problem or "" for problem in ids]


def _suite_problems(
    whole: Mapping[str, bytes], changed: Mapping[str, bytes], pulled: Pulled, folder: str
) -> Iterator[FileProblem]:
    """Problems of the suite that a pull would make; line numbers are those of the new files."""
    for path, content in changed.items():
        kinds = find_credentials(content.decode("utf-8", "replace"))
        if kinds:
            yield FileProblem(_item_or_path(pulled, path), 0, f"it contains {', '.join(sorted(set(kinds)))}")
    try:
        if whole:
            named = {f"{folder}/{path}": content for path, content in whole.items()}
            load_suite(named, metric_problems, validate_rule, timezone=None)
    except SuiteError as error:
        for problem in error.problems:
            path = problem.path.removeprefix(f"{folder}/")
            yield replace(problem, path=_item_or_path(pulled, path)) if path in changed else problem


def _ids(local: LocalSuite) -> list[str]:
    ids = [str(data["id"]) for data in local.scenarios.values()]
    return ids + [case for rows in local.data_sets.values() for case in rows.ids]


def _pulled_ids(pulled: Pulled) -> set[str]:
    ids = {str(data.get("id")) for data in pulled.scenarios.values()}
    for path, template in pulled.templates.items():
        ids |= set(case_ids_of(template, pulled.rows[path]))
    return ids


def difference(local: LocalSuite, plan: PullPlan) -> Iterator[str]:
    """The change of each file as a unified diff; its content is untrusted."""
    for path, content in sorted(plan.files.items()):
        name = f"{local.folder}/{path}"
        before = local.files.get(path)
        old = before.decode("utf-8", "replace").splitlines() if before is not None else []
        new = content.decode("utf-8").splitlines()
        yield from difflib.unified_diff(old, new, name if before is not None else "/dev/null", name, lineterm="", n=2)
