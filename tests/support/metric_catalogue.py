"""The tables of metrics in ``docs/metrics*.md``, written from the code: ``make catalogue``."""

import sys
from collections.abc import Mapping
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
FAMILY_BEGIN = "<!-- parameters: written by `make catalogue` -->"
FAMILY_END = "<!-- end of the parameters -->"
_HEAD = "| Metric | Measures | Judge calls | Systems |\n|---|---|---|---|\n"
_FAMILY_HEAD = "| Metric | Needs | Parameters |\n|---|---|---|\n"

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "metrics-bookings.md": ("booking_slot_consistency", "mpesa_payment_safety"),
    "metrics-code.md": ("code_syntax", "code_lint", "code_tests"),
    "metrics-deepeval.md": ("deepeval_metrics", "g_eval"),
    "metrics-judged.md": (
        "answer_correctness",
        "coherence",
        "english_fluency",
        "faithfulness_by_claim",
        "fluency",
        "jailbreak",
        "pairwise_preference",
        "refusal_by_judge",
        "reverse_question_relevancy",
        "swahili_fluency",
        "translation_accuracy",
    ),
    "metrics-labels.md": ("label_metrics",),
    "metrics-safety.md": ("refusal", "pii_leak", "secret_leak"),
    "metrics-search.md": ("search_metrics",),
    "metrics-texts.md": (
        "bleu_and_chrf",
        "character_similarity",
        "embedding_similarity",
        "key_phrase",
        "reply_language",
        "rouge_l",
        "terminology",
    ),
    "metrics-tools.md": ("tool_consistency", "tool_metrics"),
}
"""By page of a family, its modules in ``ratiba_action.metrics``."""


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


def family_of(name: str) -> str:
    """The page that explains a metric.

    Raises:
        LookupError: its module is in no family.
    """
    for page, modules in FAMILIES.items():
        if METRICS[name].module in modules:
            return page
    raise LookupError(f"{name} is in no family: name its module in tests/support/metric_catalogue.py")


def with_parameters(page: str, text: str) -> str:
    """A family's page with the table of what its metrics need and take.

    Args:
        page: name of the file.
        text: its content.

    Raises:
        ValueError: a marker is missing.
    """
    rows = (
        _line(name, _needs(METRICS[name]), "<br>".join(_parameters(name)))
        for name in metric_names()
        if family_of(name) == page
    )
    return _between(text, FAMILY_BEGIN, FAMILY_END, _FAMILY_HEAD + "".join(rows))


def with_catalogue(page: str) -> str:
    """The page of all metrics with both tables, each between its two markers.

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
    return _line(f"[{name}]({family_of(name)})", entry.measures, _calls(entry), systems)


def _needs(entry: MetricEntry) -> str:
    return " or ".join(f"`{part}`" for part in entry.needs.split(" or ")) if entry.needs else ""


def _line(*cells: str) -> str:
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
    """Write the tables into the pages in the folder that the one argument names."""
    folder = Path(arguments[0])
    page = folder / "metrics.md"
    page.write_text(with_catalogue(page.read_text("utf-8")), "utf-8")
    for name in FAMILIES:
        page = folder / name
        page.write_text(with_parameters(name, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
