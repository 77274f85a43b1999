"""The configuration's ``comparison`` block: its defaults, its bounds, and what a change cannot loosen."""

import pytest

from ratiba_action.config.configuration import Configuration, read_configuration
from ratiba_action.errors import SuiteError
from ratiba_action.model.comparison import Rules

"""Every one of them finds less than its default."""


def configured(*lines: str) -> Configuration:
    text = "\n".join(["system:", "  command: [my-bot]", *(["comparison:"] if lines else []), *lines])
    return read_configuration("ratiba.yml", text.encode())


def test_without_the_block_the_rules_are_the_documented_ones() -> None:
    assert configured().comparison.rules == Rules()


def test_what_is_written_is_what_a_run_is_held_to() -> None:
    rules = configured("  confirm_level: 0.01", "  min_margin: 0.05", "  pooled_runs: 5").comparison.rules
    assert rules == Rules(confirm_level=0.01, min_margin=0.05, pooled_runs=5)


@pytest.mark.parametrize(
    "line",
    [
        "screen_level: 0",
        "single_run_screen_level: 0.51",
        "confirm_level: 0.2",
        "confirm_level: .nan",
        "min_margin: -0.1",
        "scenario_drop: 25",
        "detectable_power: 1",
        "confirming_trials: 0",
        "suspect_trials: 1",
        "min_scenarios: 5",
        "pooled_runs: 11",
        "stale_days: 0",
        "screen_levle: 0.1",
    ],
)
def test_a_value_out_of_bounds_or_an_unknown_key_is_reported_with_its_line(line: str) -> None:
    with pytest.raises(SuiteError) as raised:
        configured("  scenario_drop: 0.2" if "drop" not in line else "  stale_days: 7", f"  {line}")
    (problem,) = raised.value.problems
    assert (problem.line, line.split(":", maxsplit=1)[0] in str(problem)) == (5, True)
