"""A scenario file with ``cases`` → a scenario a row, and the case file that they make."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from ratiba_action.errors import FileProblem
from ratiba_action.model.data_set import DataSet, Gate
from ratiba_action.model.scenario import Scenario
from ratiba_action.suite.building import build_scenario
from ratiba_action.suite.case_ids import ALLOWED, CASE_ID, COLUMN, HISTORY, case_ids
from ratiba_action.suite.data_file import SUFFIXES, Row, read_rows
from ratiba_action.suite.gates import gate_problems, with_gate_metrics
from ratiba_action.suite.loaded import Checks, Loaded
from ratiba_action.suite.scenario_schema import ScenarioBlock
from ratiba_action.util.strict_yaml import Document, Path
from ratiba_action.util.validation import shorten, validate

_MESSAGES = 'give a list of {"role": "user" or "assistant", "content": text}, or leave it out'
_PLACE = re.compile(r"\$\$\{|\$\{([^{}]*)\}")


class FillingError(ValueError):
    """A row cannot fill the scenario; says why."""


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Each column that is named in a value, keys included, with the path of the text that names it.

    Args:
        value: plain data.
        path: of the value.
    """
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
    """A turn for each message of the customer in a row's ``history``; what was answered then is not said again.

    Args:
        row: values by column; of a CSV file, whose cells are texts, the history is JSON.

    Raises:
        FillingError: it is no list of messages.
    """
    history = row.get(HISTORY)
    if isinstance(history, str) and history.strip():
        try:
            history = json.loads(history)
        except (ValueError, RecursionError):
            raise FillingError(f"the column {HISTORY!r} is {shorten(history)}; {_MESSAGES}") from None
    messages = history or []
    if not (isinstance(messages, list) and all(_is_message(one) for one in messages)):
        raise FillingError(f"the column {HISTORY!r} is {shorten(history)}; {_MESSAGES}")
    return [{"user": one["content"]} for one in messages if one["role"] == "user"]


def _is_message(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    content = value.get("content")
    return value.get("role") in {"user", "assistant"} and isinstance(content, str) and bool(content.strip())


def fill(value: Any, row: Mapping[str, Any]) -> Any:
    """The value with its columns filled.

    A text that is one column takes the row's value with its type; in a longer text it is written out. ``$${`` stands
    for ``${``.

    Args:
        value: plain data.
        row: values by column.

    Raises:
        FillingError: the row lacks a column, a list is to stand inside a text, or two keys become one.
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
        raise FillingError(f"the column {column!r} is {shorten(value)}, which cannot stand inside a text")
    return value if isinstance(value, str) else json.dumps(value)


def _value(column: str, row: Mapping[str, Any]) -> Any:
    if column not in row:
        raise FillingError(f"the row has no column {column!r}")
    return row[column]


FIXED = ("id", "cases", "gates", "touches")
"""Keys that are the same for all rows: what depends on a file is decided before its rows are read."""

_NOTE = "_"
_TOLD = 50
_ROW = 0  # line of a value that the row gives: no file has it


@dataclass(frozen=True, slots=True)
class _Template:
    """A scenario file and its rows.

    Args:
        lines: of its values; ``_ROW`` where a row decides.
    """

    document: Document
    lines: Mapping[Path, int]
    path: str
    content: bytes
    rows: Sequence[Row]

    @property
    def id(self) -> str:
        return str(self.document.data.get("id"))

    def problem(self, key: str, message: str) -> FileProblem:
        return FileProblem(self.document.name, self.document.line((key,)), f"{key}: {message}")


def load_data_set(document: Document, files: Mapping[str, bytes], checks: Checks) -> Loaded:
    """The scenarios of a case file.

    Args:
        document: a scenario file with ``cases``.
        files: content of every file of the suite by its path.
        checks: what the shape of a file cannot tell.
    """
    path = _data_path(document)
    content = files.get(path) if path.endswith(SUFFIXES) else None
    if content is None:
        wrong = f"{shorten(document.data['cases'])} is no .jsonl or .csv file of the scenario folder"
        wrong += "; name it from the folder of this file, outside recordings and calibration"
        return Loaded(problems=[FileProblem(document.name, document.line(("cases",)), f"cases: {wrong}")])
    rows, problems = read_rows(path, content)
    template = _Template(document, _lines(document), path, content, rows)
    # Rows that cannot be read hide columns, so that those are looked at only when all rows are known.
    problems = problems or tuple(_column_problems(template))
    if problems:
        return Loaded(problems=_few(problems), read=[path])
    return _expand(template, checks)


def _data_path(document: Document) -> str:
    """The path that ``cases`` leads to from the folder of its file; what leaves the repository is no file of it."""
    parts: list[str] = []
    for part in (PurePosixPath(document.name).parent / str(document.data["cases"])).parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _lines(document: Document) -> dict[Path, int]:
    return {**document.lines, **{path: _ROW for path, _ in places(document.data)}}


def _column_problems(template: _Template) -> Iterator[FileProblem]:
    """An id that cannot begin those of the cases; columns that do not exist, or that nothing uses."""
    if not re.fullmatch(CASE_ID, template.id):
        yield template.problem("id", f"{shorten(template.document.data.get('id'))} is not allowed; {ALLOWED}")
    columns = {column for row in template.rows for column in row.values}
    used: set[str] = set()
    for path, column in places(template.document.data):
        line = template.document.line(path)
        if path and path[0] in FIXED:
            yield FileProblem(
                template.document.name, line, f"{path[0]}: a column cannot stand here; it is the same for all rows"
            )
        elif column not in columns:
            known = ", ".join(sorted(columns))
            yield FileProblem(template.document.name, line, f"{template.path} has no column {column!r}; it has {known}")
        used.add(column)
    for column in sorted(columns - used - {COLUMN, HISTORY}):
        if not column.startswith(_NOTE):
            message = f"the column {column!r} of {template.path} is not used; name it _{column} if it is a note"
            yield template.problem("cases", message)


def _expand(template: _Template, checks: Checks) -> Loaded:
    ids, problems = case_ids(template.id, template.path, template.rows)
    scenarios, gates = list[Scenario](), tuple[Gate, ...]()
    used = {column for _, column in places(template.document.data)}
    constant = frozenset(checks.problems(Document(template.document.name, template.document.data, template.lines)))
    for name, row in zip(ids, template.rows, strict=True):
        try:
            earlier = earlier_turns(row.values) if HISTORY not in used else []
            filled = _after(earlier, {**fill(template.document.data, row.values), "id": name or template.id})
        except FillingError as error:
            problems.append(FileProblem(template.path, row.line, str(error)))
            continue
        document = Document(template.document.name, filled, _shifted(template.lines, len(earlier)))
        block, found = validate(ScenarioBlock, document)
        # What is wrong without a row too is the file's mistake; what a row makes wrong is the row's.
        referred = (replace(one, line=one.line if one in constant else _ROW) for one in checks.problems(document))
        problems += _placed((*found, *referred), template, row)
        if block is not None and name is not None:
            case = build_scenario(block, Document(template.path, filled, {(): row.line}))
            gates = gates or _gates(block, template.document)
            problems += _gate_problems(gates, case, template)
            scenarios.append(replace(with_gate_metrics(case, gates), data_set=template.id))
    digest = hashlib.sha256(template.content).hexdigest()
    data_set = DataSet(template.id, template.path, digest, len(template.rows), gates)
    return Loaded(scenarios, [data_set], _few(problems), [template.path])


def _after(earlier: Sequence[Mapping[str, str]], data: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario with the customer's earlier messages before its own turns."""
    turns = data.get("turns")
    return {**data, "turns": [*earlier, *turns]} if earlier and isinstance(turns, list) else dict(data)


def _shifted(lines: Mapping[Path, int], count: int) -> Mapping[Path, int]:
    """The lines of a scenario before whose turns there are others; those are the row's."""
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


def _gates(block: ScenarioBlock, document: Document) -> tuple[Gate, ...]:
    return tuple(
        Gate(gate.metric, gate.at_least, document.line(("gates", index))) for index, gate in enumerate(block.gates)
    )


def _gate_problems(gates: Sequence[Gate], case: Scenario, template: _Template) -> list[FileProblem]:
    return [FileProblem(template.document.name, gate.line, wrong) for gate, wrong in gate_problems(gates, case)]


def _placed(problems: Iterable[FileProblem], template: _Template, row: Row) -> list[FileProblem]:
    """What a row is to blame for is told at its line of the data file."""
    return [
        problem if problem.line != _ROW else FileProblem(template.path, row.line, problem.message)
        for problem in problems
    ]


def _few(problems: Iterable[FileProblem]) -> list[FileProblem]:
    """Each problem once, and of each file no more than a person reads."""
    by_file: dict[str, list[FileProblem]] = {}
    for problem in dict.fromkeys(problems):
        by_file.setdefault(problem.path, []).append(problem)
    told: list[FileProblem] = []
    for path, found in by_file.items():
        told += found[:_TOLD]
        if len(found) > _TOLD:
            told.append(FileProblem(path, found[_TOLD].line, f"and {len(found) - _TOLD} more mistakes"))
    return told
