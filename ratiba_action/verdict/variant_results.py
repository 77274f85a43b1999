"""The results of one variant of a system in a row of figures."""

from collections.abc import Sequence

from ratiba_action.model.values import Usd
from ratiba_action.model.variant import VariantResult
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.verdict.tally import summarise_metrics, tally


def variant_result(name: str, differences: Sequence[str], report: Report, list_price: Usd) -> VariantResult:
    """Counts of conversations, and the mean of each metric over the conversations that it measured.

    Args:
        name: of the variant; empty for the system as it stands.
        differences: what differs from the system as it stands.
        report: of its run.
        list_price: of its model calls.
    """
    counts = tally(report)
    means = {summary.metric: summary.mean for summary in summarise_metrics(report.results)}
    verdict = report.verdict
    return VariantResult(
        name=name,
        differences=tuple(differences),
        passed=counts.passed,
        failed=counts.failed,
        errored=counts.errored,
        not_run=counts.not_run,
        means=means,
        list_price=list_price,
        conclusion=verdict.conclusion.value,
        reason="" if verdict.conclusion is Conclusion.PASSED else verdict.reason,
    )
