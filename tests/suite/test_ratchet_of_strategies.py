"""A change cannot loosen how often a scenario must pass, nor set it aside by itself."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from ratiba_action.model.own_history import Statistical
from ratiba_action.model.scenario import Assertion, Quarantine, Scenario, Strategy, Suite
from ratiba_action.suite.ratchet import ratchet_suite
from ratiba_action.suite.scenario_selection import with_defaults, with_min_trials
from tests.support.sample_report import sample_scenario

OWN = Statistical()
FLAKY = Quarantine("times out at night", "amina", date(2026, 11, 30))


def scenario(**changes: object) -> Scenario:
    return sample_scenario("spa", **changes)


def hold(head: Scenario, *base: Scenario) -> tuple[Scenario, tuple[str, ...]]:
    suite, notes = ratchet_suite(Suite((head,), "h"), Suite(base, "b"))
    return suite.scenarios[0], notes


@pytest.mark.parametrize(
    ("before", "asked", "held"),
    [
        (Strategy(), Strategy(trials=3, passes=2), Strategy()),
        (Strategy(), Strategy(trials=3), Strategy(trials=3)),
        (Strategy(trials=5, passes=4), Strategy(trials=10, passes=8), Strategy(trials=5, passes=4)),
        (Strategy(trials=5, passes=4), Strategy(trials=1), Strategy(trials=5, passes=4)),
        (Strategy(trials=5, passes=4), Strategy(trials=6, passes=5), Strategy(trials=6, passes=5)),
        (Strategy(), Strategy(min_mean=0.5), Strategy()),
        (Strategy(min_mean=0.5), Strategy(), Strategy(min_mean=0.5)),
        (Strategy(min_mean=0.5), Strategy(min_mean=0.4), Strategy(min_mean=0.5)),
        (Strategy(min_mean=0.5), Strategy(min_mean=0.6), Strategy(min_mean=0.6)),
        (Strategy(), Strategy(statistical=OWN), Strategy()),
        (Strategy(statistical=OWN), Strategy(), Strategy(statistical=OWN)),
        (Strategy(statistical=OWN), Strategy(statistical=Statistical(40)), Strategy(statistical=OWN)),
        (Strategy(statistical=OWN), Strategy(statistical=Statistical(20, None, 0.99)), Strategy(statistical=OWN)),
        (Strategy(statistical=OWN), Strategy(statistical=Statistical(metrics=("A",))), Strategy(statistical=OWN)),
        (Strategy(statistical=OWN), Strategy(min_mean=0.1), Strategy(statistical=OWN)),
        (Strategy(min_mean=0.5), Strategy(statistical=OWN), Strategy(min_mean=0.5)),
        (Strategy(retries=1), Strategy(retries=3), Strategy(retries=1)),
        (Strategy(retries=1), Strategy(), Strategy()),
        (Strategy(timeout_seconds=10), Strategy(), Strategy(timeout_seconds=10)),
        (Strategy(timeout_seconds=10), Strategy(timeout_seconds=5), Strategy(timeout_seconds=5)),
    ],
)
def test_the_stricter_strategy_holds_and_the_reader_is_reported(
    before: Strategy, asked: Strategy, held: Strategy
) -> None:
    got, notes = hold(scenario(strategy=asked), scenario(strategy=before))
    assert got.strategy == held
    assert bool(notes) == (held != asked)


def test_a_metric_that_would_lift_the_deciding_mean_waits_for_the_merge() -> None:
    base = scenario(strategy=Strategy(min_mean=0.5), assertions=(Assertion("A", 0.5),))
    got, notes = hold(replace(base, assertions=(*base.assertions, Assertion("B", 0.0))), base)
    assert [entry.metric for entry in got.assertions] == ["A"]
    assert "B is measured only after the merge" in notes[0]


def test_a_rule_that_becomes_an_assertion_stays_exact() -> None:
    base = scenario(assertions=(Assertion("A", 0.5, of_rule=True),))
    got, _ = hold(replace(base, assertions=(Assertion("A", 0.5),)), base)
    assert got.assertions == base.assertions


def test_a_quarantine_of_the_changes_own_making_does_not_hold_and_is_reported() -> None:
    for base in ((scenario(),), ()):
        got, notes = hold(scenario(quarantine=FLAKY), *base)
        assert got.quarantine is None
        assert "adds a quarantine until 2026-11-30" in notes[0]


PROPOSAL = scenario(quarantine=FLAKY, tags=frozenset({"proposed"}), provenance={"source": "proposed"}, critical=False)


def test_a_new_scenario_that_a_model_proposed_does_not_count_until_it_is_reviewed() -> None:
    got, notes = hold(PROPOSAL)
    assert got.quarantine == FLAKY
    assert notes == ("spa: proposed by a model and not reviewed yet, so it is shown and does not count.",)


@pytest.mark.parametrize(
    "change",
    [{"tags": frozenset[str]()}, {"provenance": {}}, {"provenance": {"source": "production"}}, {"critical": True}],
    ids=["its tag is removed", "a person wrote it", "it was promoted", "it is critical"],
)
def test_only_an_unreviewed_proposal_does_not_count(change: dict[str, Any]) -> None:
    assert hold(replace(PROPOSAL, **change))[0].quarantine is None


def test_a_scenario_of_the_base_is_not_set_aside_by_marking_it_as_proposed() -> None:
    got, notes = hold(PROPOSAL, scenario(critical=False))
    assert got.quarantine is None
    assert "adds a quarantine until 2026-11-30" in "".join(notes)


def test_a_quarantine_cannot_be_extended_and_may_be_ended() -> None:
    base = scenario(quarantine=FLAKY)
    got, notes = hold(scenario(quarantine=replace(FLAKY, until=date(2027, 1, 1))), base)
    assert got.quarantine == FLAKY
    assert "this change sets 2027-01-01" in notes[0]
    assert hold(scenario(), base)[0].quarantine is None


def test_a_critical_scenario_is_not_set_aside_by_making_it_ordinary() -> None:
    got, _ = hold(scenario(quarantine=FLAKY), scenario(critical=True))
    assert (got.critical, got.quarantine) == (True, None)


def test_a_suites_defaults_fill_what_a_scenario_leaves_open() -> None:
    defaults = Strategy(trials=3, passes=2, retries=1, given=frozenset({"trials", "passes", "retries"}))
    assert with_defaults(scenario(), defaults).strategy == Strategy(trials=3, passes=2, retries=1)
    own = scenario(strategy=Strategy(trials=1, given=frozenset({"trials"})))
    assert with_defaults(own, defaults).strategy.passes is None
    assert with_defaults(own, defaults).strategy.trials == 1
    assert with_defaults(scenario(critical=True), defaults).strategy.passes is None


def test_asking_for_more_trials_allows_no_more_of_them_to_fail() -> None:
    more = with_min_trials(scenario(strategy=Strategy(trials=5, passes=4)), 10)
    assert (more.strategy.trials, more.strategy.passes) == (10, 9)
    assert with_min_trials(scenario(strategy=Strategy(trials=5)), 2).strategy.trials == 5
