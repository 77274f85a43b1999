"""What a run is asked for ends early: few modules of the product know the options of the command line."""

import pytest

from tests.support.followed_parameter import Parameter, modules_entered

COMMANDS = "ratiba_action.commands"


@pytest.mark.parametrize(
    ("start", "through", "maximum"),
    [
        (Parameter(f"{COMMANDS}.gate_run", "run", "options"), f"{COMMANDS}.gate_request", 10),
        (Parameter("ratiba_action.run.gate", "evaluate", "run"), "ratiba_action.run.arms", 45),
    ],
)
def test_few_modules_know_what_a_run_is_asked_for(start: Parameter, through: str, maximum: int) -> None:
    entered = modules_entered(start)
    assert through in entered
    assert len(entered) <= maximum, sorted(entered)
