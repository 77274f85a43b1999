"""The variants of a system, side by side."""

from ratiba_action.core.model.variant import VariantResult
from ratiba_action.core.model.verdict import Report
from ratiba_action.reporting.markdown import code, inline, table
from ratiba_action.reporting.wording import number

AS_IT_STANDS = "as it stands"
_METRICS = 6
_DIFFERENCES = 120


def variants(report: Report) -> str:
    """One row a variant; empty where none was run."""
    if not report.variants:
        return ""
    metrics = sorted({name for one in report.variants for name in one.means})[:_METRICS]
    header = ("variant", "differs in", "passed:", "errors:", *(f"{name}:" for name in metrics), "USD at list prices:")
    rows = [_row(one, metrics) for one in report.variants]
    return f"### Variants\n\n{table(header, rows)}\n\nThe verdict is of the system as it stands."


def _row(one: VariantResult, metrics: list[str]) -> tuple[str, ...]:
    name = code(one.name) if one.name else AS_IT_STANDS
    if one.problem:
        return (name, inline(f"not run: {one.problem}", _DIFFERENCES), *("" for _ in metrics), "", "", "")
    total = one.passed + one.failed + one.errored + one.not_run
    return (
        name,
        inline(", ".join(one.differences) or "nothing", _DIFFERENCES),
        f"{one.passed} of {total}",
        str(one.errored + one.not_run),
        *(number(one.means[metric]) if metric in one.means else "" for metric in metrics),
        f"{one.list_price:.4f}",
    )
