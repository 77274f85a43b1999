"""Data → the text of a scenario file or of a file of rows, so that reading it gives the same data."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ratiba_action.production.datasets.fingerprint import same_json
from ratiba_action.suite.data_file import Row
from ratiba_action.suite.scenario_schema import ScenarioBlock
from ratiba_action.util.strict_yaml import read_yaml

_WIDTH = 110


class RenderingError(ValueError):
    """Data that no file can hold; says why."""


def render_scenario(data: Mapping[str, Any]) -> bytes:
    """A scenario file, its keys in the order of the documentation.

    Raises:
        RenderingError: it cannot be written so that it reads as the same.
    """
    order = {name: number for number, name in enumerate(ScenarioBlock.model_fields)}
    sorted_data = {name: data[name] for name in sorted(data, key=lambda name: order.get(name, len(order)))}
    # Line ends of Unicode are only kept where they are escaped, and then all letters beyond ASCII are.
    for legible in (True, False):
        text = _as_yaml(sorted_data, legible=legible)
        document, problems = read_yaml("the item", text)
        if document is not None and same_json(document.data, sorted_data):
            return text
    told = problems[0].message if problems else "it holds a number or a text that YAML reads as another"
    raise RenderingError(f"it cannot be written as YAML: {told}")


def _as_yaml(data: Mapping[str, Any], *, legible: bool) -> bytes:
    import yaml  # noqa: PLC0415 - only what writes scenarios needs it

    try:
        return yaml.safe_dump(dict(data), allow_unicode=legible, sort_keys=False, width=_WIDTH).encode()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RenderingError(f"it cannot be written as YAML: {type(error).__name__}") from error


def render_json_rows(rows: Iterable[Mapping[str, Any] | str]) -> bytes:
    """A file of JSON Lines; a text stands for a line that stays as it is.

    Raises:
        RenderingError: a row holds what UTF-8 cannot.
    """
    try:
        lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
        return "".join(f"{line}\n" for line in lines).encode()
    except ValueError as error:
        raise RenderingError("a row holds half of a surrogate pair, or a number that is none") from error


def render_csv_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """A file of comma-separated texts.

    Args:
        rows: each with these columns, or fewer.
        columns: of the file, in order.

    Raises:
        RenderingError: a value is no text, or a column is not of the file.
    """
    for row in rows:
        for name, value in row.items():
            if not isinstance(value, str):
                raise RenderingError(f"the column {name!r:.80} is no text, and a CSV file holds texts only")
            if name not in columns:
                raise RenderingError(f"the CSV file has no column {name!r:.80}")
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row.get(name, "") for name in columns] for row in rows)
    try:
        return stream.getvalue().encode()
    except ValueError as error:
        raise RenderingError("a row holds half of a surrogate pair") from error


def line_of(content: bytes, row: Row) -> str:
    """The line of a JSON Lines file that a row was read from."""
    return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").split("\n")[row.line - 1]
