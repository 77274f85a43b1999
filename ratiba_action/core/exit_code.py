"""From a conclusion to the exit code of the process."""

from ratiba_action.core.model.change import Mode
from ratiba_action.core.model.verdict import Conclusion

CONFIGURATION_ERROR = 2
"""A wrong input or command line; no mode and no trial period hides it."""

_CODES = {
    Conclusion.PASSED: 0,
    Conclusion.SKIPPED: 0,
    Conclusion.INCONCLUSIVE: 0,
    Conclusion.FAILED: 1,
    Conclusion.INCOMPLETE: 3,
}


def exit_code(conclusion: Conclusion, mode: Mode, *, enforce: bool = True) -> int:
    """0 lets the merge pass; 1 failed; 3 incomplete.

    Args:
        conclusion: how the run ended.
        mode: only ``blocking`` may stop a merge.
        enforce: False during a trial period, when nothing stops a merge.
    """
    return _CODES[conclusion] if enforce and mode is Mode.BLOCKING else 0
