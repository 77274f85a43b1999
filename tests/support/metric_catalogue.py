"""The tables of metrics in ``docs/metrics.md``, written from the code: ``make catalogue``."""

import sys
from pathlib import Path
from typing import Any

from pydantic_core import PydanticUndefined, to_json

from ratiba_action.metrics.metric_table import METRICS, STANDARD, MetricEntry
from ratiba_action.metrics.registry import metric_names, parameters_of
from ratiba_action.model.scenario import SystemType

BEGIN = "<!-- catalogue: written by `make catalogue` -->"
END = "<!-- end of the catalogue -->"
STANDARD_BEGIN = "<!-- standard metrics: written by `make catalogue` -->"
STANDARD_END = "<!-- end of the standard metrics -->"
_HEAD = "| Metric | Measures | Judge calls | Systems | Needs | Parameters |\n|---|---|---|---|---|---|\n"


def catalogue_table() -> str:
    """One row a metric, in order of name, as Markdown."""
    return _HEAD + "".join(_row(name, METRICS[name]) for name in metric_names())


def standard_table() -> str:
    """One row a type of system, as Markdown."""
    rows = (
        f"| {system_type} | {', '.join(f'{name} {threshold:.1f}' for name, threshold in metrics)} |\n"
        for system_type, metrics in STANDARD.items()
    )
    return "| System | `standard` |\n|---|---|\n" + "".join(rows)


def with_catalogue(page: str) -> str:
    """A page with both tables, each between its two markers.

    Raises:
        ValueError: a marker is missing.
    """
    written = _between(page, BEGIN, END, catalogue_table())
    return _between(written, STANDARD_BEGIN, STANDARD_END, standard_table())


def _between(page: str, begin: str, end: str, table: str) -> str:
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"the page lacks the markers {begin!r} and {end!r}")
    return f"{before}{begin}\n{table}{end}{after}"


def _row(name: str, entry: MetricEntry) -> str:
    systems = "all" if set(entry.system_types) == set(SystemType) else ", ".join(entry.system_types)
    calls = _calls(entry)
    needs = " or ".join(f"`{part}`" for part in entry.needs.split(" or ")) if entry.needs else ""
    cells = (name, entry.measures, calls, systems, needs, "<br>".join(_parameters(name)))
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"


def _calls(entry: MetricEntry) -> str:
    parts = (f"up to {entry.judge_calls}" if entry.judge_calls else "", _calls_a_turn(entry.judge_calls_a_turn))
    return " and ".join(filter(None, parts)) or "0"


def _calls_a_turn(calls: int) -> str:
    return f"up to {calls} a turn" if calls else ""


def _parameters(name: str) -> list[str]:
    model = parameters_of(name)
    if model is None:
        return []
    return [
        f"`{field.alias or name}`{_default(field.get_default(call_default_factory=True))}"
        f"{f': {field.description}' if field.description else ''}"
        for name, field in model.model_fields.items()
    ]


def _default(value: Any) -> str:
    if value is PydanticUndefined:
        return " (required)"
    return "" if value is None else f" = {to_json(value).decode()}"


def main(arguments: list[str]) -> None:
    """Write the table into the page that the one argument names."""
    page = Path(arguments[0])
    page.write_text(with_catalogue(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
