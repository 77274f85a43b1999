"""The results of a run beside those of a base that was named."""

from dataclasses import replace
from pathlib import Path

from ratiba_action.history.found import FoundBaseline
from ratiba_action.history.named_runs import read_named_runs
from ratiba_action.model.comparison import Rules
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_file import read_results
from ratiba_action.verdict.runs import compare_as_measured


def compared_with(results: Path, base: str, rules: Rules) -> Report:
    """The report of a run, compared with a base; its verdict is as it was.

    Args:
        results: the run's ``results.json``.
        base: another one, or the folder that holds it.
        rules: of the comparison.

    Raises:
        ConfigurationError: one of both cannot be read, or holds nothing that was measured; tells every problem.
    """
    ours, theirs = read_named_runs((str(results), base))
    report = read_results(results)
    verdict = replace(report.verdict, comparison=compare_as_measured(ours, theirs, rules))
    facts = FoundBaseline((theirs,), base).facts(ours.started_at, rules)
    return replace(report, verdict=verdict, baseline=facts)
