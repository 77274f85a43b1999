"""How far the worker is from the gate is told where it is less than it could be, and refused where secrets are near."""

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.systems.separation import has_landlock, separation_warnings
from ratiba_action.worker import landlock


def test_a_worker_of_the_same_user_on_an_old_kernel_is_told_when_the_gate_holds_no_secret() -> None:
    (warning,) = separation_warnings(same_user=True, landlock=False, secrets=False)
    assert "without Landlock" in warning


def test_beside_secrets_it_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigurationError) as refused:
        separation_warnings(same_user=True, landlock=False, secrets=True)
    assert "without Landlock" in refused.value.problem
    assert "/sys/kernel/security/lsm" in refused.value.remedy


@pytest.mark.parametrize(("same_user", "kernel"), [(False, False), (False, True), (True, True)])
def test_otherwise_there_is_nothing_to_tell(*, same_user: bool, kernel: bool) -> None:
    assert separation_warnings(same_user=same_user, landlock=kernel, secrets=True) == ()


def test_gate_and_worker_know_the_same_kernel() -> None:
    assert has_landlock() == bool(landlock.version())
