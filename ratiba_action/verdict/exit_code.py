"""From a verdict to the exit code of the process."""

from ratiba_action.model.change import Mode
from ratiba_action.model.verdict import Conclusion, Verdict

MISCONFIGURED = 2

_CODES = {
    Conclusion.PASSED: 0,
    Conclusion.SKIPPED: 0,
    Conclusion.INCONCLUSIVE: 0,
    Conclusion.FAILED: 1,
    Conclusion.INCOMPLETE: 3,
}


def exit_code(verdict: Verdict, mode: Mode, *, enforce: bool = True) -> int:
    """0 lets the merge pass; 1 failed; 2 misconfigured; 3 incomplete.

    Args:
        verdict: how the run ended; no mode and no trial period hides that it was misconfigured.
        mode: only ``blocking`` may stop a merge.
        enforce: False during a trial period, when no measurement stops a merge.
    """
    if verdict.misconfigured:
        return MISCONFIGURED
    return _CODES[verdict.conclusion] if enforce and mode is Mode.BLOCKING else 0
