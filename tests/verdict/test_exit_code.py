"""What each conclusion does to the merge."""

import pytest

from ratiba_action.model.change import Mode
from ratiba_action.model.verdict import Conclusion, Verdict
from ratiba_action.verdict.decision import exit_code


@pytest.mark.parametrize(
    ("conclusion", "code"),
    [
        (Conclusion.PASSED, 0),
        (Conclusion.SKIPPED, 0),
        (Conclusion.INCONCLUSIVE, 0),
        (Conclusion.FAILED, 1),
        (Conclusion.INCOMPLETE, 3),
    ],
)
def test_a_blocking_run_tells_its_conclusion(conclusion: Conclusion, code: int) -> None:
    assert exit_code(Verdict(conclusion, ""), Mode.BLOCKING) == code


@pytest.mark.parametrize("conclusion", list(Conclusion))
def test_advisory_runs_and_trial_periods_stop_no_merge(conclusion: Conclusion) -> None:
    assert exit_code(Verdict(conclusion, ""), Mode.ADVISORY) == 0
    assert exit_code(Verdict(conclusion, ""), Mode.BLOCKING, enforce=False) == 0


@pytest.mark.parametrize("mode", [Mode.ADVISORY, Mode.BLOCKING])
@pytest.mark.parametrize("enforce", [True, False])
def test_a_wrong_input_is_never_excused(*, mode: Mode, enforce: bool) -> None:
    verdict = Verdict(Conclusion.INCOMPLETE, "The budget is no amount.", misconfigured=True)
    assert exit_code(verdict, mode, enforce=enforce) == 2
