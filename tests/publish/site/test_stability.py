"""Whether a scenario is flaky, since when, and what that has cost."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from ratiba_action.publish.site.outcomes import Outcome, Outcomes
from ratiba_action.publish.site.runs import RunLine, line_of
from ratiba_action.publish.site.stability import Stability, marks_of, stability_of
from ratiba_action.verdict.interval import wilson_interval
from tests.support.run_history import START, branch_run

NAMES = {"p": "passed", "f": "failed", "i": "incomplete"}


def lines(outcomes: str, digests: str = "") -> list[RunLine]:
    """A run for each letter, the first one the oldest; the newest comes first."""
    base = line_of(branch_run(0))
    made = [
        replace(
            base,
            id=f"{at:05}",
            started_at=START + timedelta(days=at),
            outcomes=Outcomes.of(
                {"one": Outcome(NAMES[letter], letter == "p", 1, Decimal("0.5"), digest=digests[at : at + 1])}
                if letter in NAMES
                else {}
            ),
        )
        for at, letter in enumerate(outcomes)
    ]
    return made[::-1]


def test_a_scenario_whose_outcome_keeps_changing_is_flaky_since_its_first_change() -> None:
    found = stability_of("one", lines("pppppfpfp"))
    assert found.flaky_since == START + timedelta(days=5)
    assert (found.flaky_runs, found.flaky_usd, found.changes) == (4, Decimal("2.0"), 4)
    assert (found.failed, found.measured) == (2, 9)
    assert found.interval == wilson_interval(2, 9)


@pytest.mark.parametrize(
    ("outcomes", "why"),
    [
        ("pppppppp", "it never failed"),
        ("ppppffff", "a fault is no noise"),
        ("ppffpppp", "a fault that was fixed changes it twice"),
        ("pipipipi", "what could not be measured is no outcome"),
        ("fpfpfp" + "p" * 20, "it has been stable for long"),
        ("pf" + "f" * 20 + "pf", "two changes and a fault long before"),
        ("", "no run has it"),
    ],
)
def test_other_scenarios_are_stable(outcomes: str, why: str) -> None:
    assert stability_of("one", lines(outcomes)).flaky_since is None, why


def test_an_edited_scenario_that_ends_otherwise_is_not_flaky() -> None:
    assert stability_of("one", lines("pfpfpf", digests="abcdef")).flaky_since is None
    assert stability_of("one", lines("pfpfpf", digests="aaaaaa")).flaky_since is not None


def test_runs_without_the_scenario_have_no_mark() -> None:
    found = lines("pf-i")
    assert marks_of("one", found) == ("passed", "failed", "", "incomplete")
    assert stability_of("another", found) == Stability(0, 0, None, 0)
