"""Expands a scenario file with ``cases`` into one scenario per row."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from ratiba_action.errors import FileProblem
from ratiba_action.model.case_file import CaseFile, CaseThreshold
from ratiba_action.model.scenario import Scenario
from ratiba_action.suite.building import build_scenario
from ratiba_action.suite.case_ids import ALLOWED, CASE_ID, COLUMN, HISTORY, case_ids
from ratiba_action.suite.data_file import SUFFIXES, CaseRow, read_rows
from ratiba_action.suite.loaded import Checks, Loaded
from ratiba_action.suite.scenario_schema import ScenarioBlock
from ratiba_action.suite.thresholds import threshold_problems, with_threshold_metrics
from ratiba_action.util.strict_yaml import Path, YamlDocument, read_yaml
from ratiba_action.util.validation import shorten, validate

_MESSAGES = 'give a list of {"role": "user" or "assistant", "content": text}, or leave it out'
_PLACE = re.compile(r"\$\$\{|\$\{([^{}]*)\}")


class FillingError(ValueError):
    """A row cannot fill the scenario's template; says why."""


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Each column that a value refers to, in keys too, with the path of the text."""
    if isinstance(value, str):
        yield from ((path, match[1]) for match in _PLACE.finditer(value) if match[1] is not None)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from ((path, match[1]) for match in _PLACE.finditer(key) if match[1] is not None)
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def earlier_turns(row: Mapping[str, Any]) -> list[dict[str, str]]:
    """A turn for each user message in a row's ``history``; the earlier replies are not used.

    Args:
        row: values by column; in a CSV file, the history is JSON text.

    Raises:
        FillingError: it is not a list of messages.
    """
    history = row.get(HISTORY)
    if isinstance(history, str) and history.strip():
        try:
            history = json.loads(history)
        except (ValueError, RecursionError):
            raise FillingError(f"the column {HISTORY!r} is {shorten(history)}; {_MESSAGES}") from None
    messages = history or []
    if not (isinstance(messages, list) and all(_is_message(message) for message in messages)):
        raise FillingError(f"the column {HISTORY!r} is {shorten(history)}; {_MESSAGES}")
    return [{"user": message["content"]} for message in messages if message["role"] == "user"]


def _is_message(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    content = value.get("content")
    return value.get("role") in {"user", "assistant"} and isinstance(content, str) and bool(content.strip())


def fill(value: Any, row: Mapping[str, Any]) -> Any:
    """The value with its columns filled in.

    A text that is only ``${column}`` becomes the row's value with its type; in a longer text the value is inserted.
    ``$${`` is an escaped ``${``.

    Raises:
        FillingError: a column is missing, a list would be inserted into text, or two keys become equal.
    """
    if isinstance(value, str):
        return _fill_text(value, row)
    if isinstance(value, Mapping):
        filled = {_written(key, row): fill(item, row) for key, item in value.items()}
        if len(filled) < len(value):
            raise FillingError(f"two of the keys {', '.join(map(shorten, value))} become the same")
        return filled
    return [fill(item, row) for item in value] if isinstance(value, list) else value


def _fill_text(text: str, row: Mapping[str, Any]) -> Any:
    if "$" not in text:
        return text
    whole = _PLACE.fullmatch(text)
    if whole is not None and whole[1] is not None:
        return _value(whole[1], row)
    return _written(text, row)


def _written(text: str, row: Mapping[str, Any]) -> str:
    if "$" not in text:
        return text
    return _PLACE.sub(lambda match: "${" if match[1] is None else _text(match[1], row), text)


def _text(column: str, row: Mapping[str, Any]) -> str:
    value = _value(column, row)
    if value is None or isinstance(value, (dict, list)):
        raise FillingError(f"the column {column!r} is {shorten(value)}, which cannot be inserted into text")
    return value if isinstance(value, str) else json.dumps(value)


def _value(column: str, row: Mapping[str, Any]) -> Any:
    if column not in row:
        raise FillingError(f"the row has no column {column!r}")
    return row[column]


FIXED = ("id", "cases", "gates", "touches")
"""Keys that cannot contain columns, because they are used before the rows are read."""

_NOTE = "_"
_SHOWN = 50
_ROW = 0  # marks a value that comes from the row


@dataclass(frozen=True, slots=True)
class _Template:
    """A scenario file and its rows.

    Args:
        lines: of its values; ``_ROW`` if the value comes from the row.
    """

    document: YamlDocument
    lines: Mapping[Path, int]
    path: str
    content: bytes
    rows: Sequence[CaseRow]

    @property
    def id(self) -> str:
        return str(self.document.data.get("id"))

    def problem(self, key: str, message: str) -> FileProblem:
        return FileProblem(self.document.name, self.document.line((key,)), f"{key}: {message}")


def load_cases(document: YamlDocument, files: Mapping[str, bytes], checks: Checks) -> Loaded:
    """The scenarios of a file with ``cases``.

    Args:
        document: a scenario file with ``cases``.
        files: content of every file of the suite by its path.
        checks: beyond the schema.
    """
    path = _data_path(document)
    content = files.get(path) if path.endswith(SUFFIXES) else None
    if content is None:
        wrong = f"{shorten(document.data['cases'])} is not a .jsonl, .json or .csv file in the scenarios folder"
        wrong += "; give its path relative to this file, outside recordings and calibration"
        return Loaded(problems=[FileProblem(document.name, document.line(("cases",)), f"cases: {wrong}")])
    rows, problems = read_rows(path, content)
    template = _Template(document, _lines(document), path, content, rows)
    # Unreadable rows may have further columns, so columns are checked only if all rows are readable.
    problems = problems or tuple(_column_problems(template))
    if problems:
        return Loaded(problems=_few(problems), read=[path])
    return _expand(template, checks)


def _data_path(document: YamlDocument) -> str:
    """The path of ``cases``, relative to the repository; a path that leaves it matches no file."""
    parts: list[str] = []
    for part in (PurePosixPath(document.name).parent / str(document.data["cases"])).parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _lines(document: YamlDocument) -> dict[Path, int]:
    return {**document.lines, **{path: _ROW for path, _ in places(document.data)}}


def _column_problems(template: _Template) -> Iterator[FileProblem]:
    """Problems of the id, which the ids of the cases start with, and of missing columns."""
    if not re.fullmatch(CASE_ID, template.id):
        yield template.problem("id", f"{shorten(template.document.data.get('id'))} is not allowed; {ALLOWED}")
    columns = {column for row in template.rows for column in row.values}
    for path, column in places(template.document.data):
        line = template.document.line(path)
        if path and path[0] in FIXED:
            yield FileProblem(
                template.document.name,
                line,
                f"{path[0]}: columns are not allowed here; it must be the same for all rows",
            )
        elif column not in columns:
            known = ", ".join(sorted(columns))
            yield FileProblem(template.document.name, line, f"{template.path} has no column {column!r}; it has {known}")


def unused_columns(files: Mapping[str, bytes]) -> Iterator[FileProblem]:
    """A warning for each scenario file whose cases have columns that it does not use.

    A column whose name begins with ``_`` is a note, and is not reported.

    Args:
        files: of a suite without mistakes, by repository path.
    """
    for name in sorted(files):
        document, _ = read_yaml(name, files[name]) if name.endswith((".yaml", ".yml")) else (None, ())
        if document is None or not isinstance(document.data, dict) or "cases" not in document.data:
            continue
        path = _data_path(document)
        rows, _ = read_rows(path, files.get(path, b""))
        known = {COLUMN, HISTORY, *(column for _, column in places(document.data))}
        unused = sorted({column for row in rows for column in row.values} - known)
        listed = ", ".join(shorten(column) for column in unused if not column.startswith(_NOTE))
        if listed:
            yield FileProblem(name, document.line(("cases",)), f"cases: not used of {path}: {listed}")


def _expand(template: _Template, checks: Checks) -> Loaded:
    ids, problems = case_ids(template.id, template.path, template.rows)
    scenarios, gates = list[Scenario](), tuple[CaseThreshold, ...]()
    used = {column for _, column in places(template.document.data)}
    constant = frozenset(checks.problems(YamlDocument(template.document.name, template.document.data, template.lines)))
    for name, row in zip(ids, template.rows, strict=True):
        try:
            earlier = earlier_turns(row.values) if HISTORY not in used else []
            data = _without_nulls(fill(template.document.data, row.values), template.document.data)
            filled = _after(earlier, {**data, "id": name or template.id})
        except FillingError as error:
            problems.append(FileProblem(template.path, row.line, str(error)))
            continue
        document = YamlDocument(template.document.name, filled, _shifted(template.lines, len(earlier)))
        block, found = validate(ScenarioBlock, document, checks.context)
        # Problems that exist without the row belong to the scenario file, others to the row.
        referred = (
            replace(problem, line=problem.line if problem in constant else _ROW)
            for problem in checks.problems(document)
        )
        problems += _placed((*found, *referred), template, row)
        if block is not None and name is not None:
            case = build_scenario(block, YamlDocument(template.path, filled, {(): row.line}))
            gates = gates or _gates(block, template.document)
            problems += _gate_problems(gates, case, template)
            scenarios.append(replace(with_threshold_metrics(case, gates), data_set=template.id))
    digest = hashlib.sha256(template.content).hexdigest()
    cases = CaseFile(template.id, template.path, digest, len(template.rows), gates)
    return Loaded(scenarios, [cases], _few(problems), [template.path])


def _without_nulls(filled: dict[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """Without the keys of ``expect`` whose column is null: by those the row asserts nothing."""
    for expect, before in zip(_expects(filled), _expects(written), strict=True):
        for name, text in before.items():
            if isinstance(text, str) and _PLACE.fullmatch(text) and expect.get(name, "") is None:
                del expect[name]
    return filled


def _expects(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each turn expects; empty where it is no mapping."""
    turns = data.get("turns")
    found = (
        [turn.get("expect") if isinstance(turn, dict) else None for turn in turns] if isinstance(turns, list) else []
    )
    return [expect if isinstance(expect, dict) else {} for expect in found]


def _after(earlier: Sequence[Mapping[str, str]], data: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario with the earlier user messages before its own turns."""
    turns = data.get("turns")
    return {**data, "turns": [*earlier, *turns]} if earlier and isinstance(turns, list) else dict(data)


def _shifted(lines: Mapping[Path, int], count: int) -> Mapping[Path, int]:
    """The lines of a scenario with inserted turns before its own; inserted turns belong to the row."""
    if not count:
        return lines
    moved: dict[Path, int] = {}
    for path, line in lines.items():
        match path:
            case ("turns", int(index), *rest):
                moved["turns", index + count, *rest] = line
            case _:
                moved[path] = line
    return {**moved, **{("turns", index): _ROW for index in range(count)}}


def _gates(block: ScenarioBlock, document: YamlDocument) -> tuple[CaseThreshold, ...]:
    return tuple(
        CaseThreshold(gate.metric, gate.at_least, document.line(("gates", index)), gate.decides)
        for index, gate in enumerate(block.gates)
    )


def _gate_problems(gates: Sequence[CaseThreshold], case: Scenario, template: _Template) -> list[FileProblem]:
    return [FileProblem(template.document.name, gate.line, wrong) for gate, wrong in threshold_problems(gates, case)]


def _placed(problems: Iterable[FileProblem], template: _Template, row: CaseRow) -> list[FileProblem]:
    """Problems of a row, reported at its line in the file of cases."""
    return [
        problem if problem.line != _ROW else FileProblem(template.path, row.line, problem.message)
        for problem in problems
    ]


def _few(problems: Iterable[FileProblem]) -> list[FileProblem]:
    """Each problem once, and a bounded number per file."""
    by_file: dict[str, list[FileProblem]] = {}
    for problem in dict.fromkeys(problems):
        by_file.setdefault(problem.path, []).append(problem)
    shown: list[FileProblem] = []
    for path, found in by_file.items():
        shown += found[:_SHOWN]
        if len(found) > _SHOWN:
            shown.append(FileProblem(path, found[_SHOWN].line, f"and {len(found) - _SHOWN} more mistakes"))
    return shown
