"""The variants of a system, side by side."""

from collections.abc import Sequence

from ratiba_action.model.verdict import Report, VariantResult
from ratiba_action.reporting.markdown import code, inline, table
from ratiba_action.reporting.variant_words import (
    VERDICT_IS_OF,
    differences_of,
    ended,
    metrics_of,
    name_of,
    passed_of,
    why,
)
from ratiba_action.reporting.wording import number

_METRICS = 6
_DIFFERENCES = 120
_WHY = 200


def variants(report: Report) -> str:
    """One row a variant; empty where none was run."""
    if not report.variants:
        return ""
    metrics = metrics_of(report.variants)[:_METRICS]
    figures = ("passed:", "errors:", *(f"{name}:" for name in metrics), "estimated cost (USD):")
    rows = table(("variant", "differs in", "on its own", *figures), [_row(one, metrics) for one in report.variants])
    # Why the system itself ended so stands above the table.
    speaking = [one for one in report.variants if one.name and why(one)]
    told = [f"- {code(one.name)} {inline(f'{ended(one)}: {why(one)}', _WHY)}" for one in speaking]
    reasons = ["\n".join(told)] if told else []
    return "\n\n".join(["### Variants", rows, *reasons, VERDICT_IS_OF])


def _row(one: VariantResult, metrics: Sequence[str]) -> tuple[str, ...]:
    name = code(one.name) if one.name else name_of(one)
    about = (name, inline(differences_of(one), _DIFFERENCES), inline(ended(one)))
    if one.problem:
        return (*about, "", "", *("" for _ in metrics), "")
    return (
        *about,
        passed_of(one),
        str(one.errored + one.not_run),
        *(number(one.means[metric]) if metric in one.means else "" for metric in metrics),
        f"{one.list_price:.4f}",
    )
