from datetime import UTC, datetime
from typing import Any

import pytest

from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision
from ratiba_action.model.reads import Reads
from ratiba_action.model.scenario import Customer, Scenario, Suite
from ratiba_action.suite.scenario_selection import select


def scenario(name: str, *, tags: frozenset[str] = frozenset(), **fields: Any) -> Scenario:
    now = datetime(2026, 4, 25, tzinfo=UTC)
    return Scenario(name, "en", (), now, Customer("Wanjiku", "+254"), tags=tags, **fields)


SUITE = Suite(
    (
        scenario("broken", touches=("a[b",)),
        scenario("plain"),
        scenario("smoke", tags=frozenset({"smoke"})),
        scenario("touching", touches=("app/booking/",)),
    ),
    "digest",
)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.BLOCKING, ["broken", "plain", "smoke", "touching"]),
        (Mode.ADVISORY, ["broken", "smoke", "touching"]),
        (Mode.SKIP, []),
    ],
)
def test_what_each_mode_runs(mode: Mode, expected: list[str]) -> None:
    selection = select(ModeDecision(mode, ()), SUITE, ChangedFiles(("app/booking/slots.py",)))

    assert [one.id for one in selection.scenarios] == expected
    assert set(selection.left_out) == {one.id for one in SUITE.scenarios} - set(expected)


def test_advisory_runs_what_costs_nothing_too_and_knows_it_apart() -> None:
    selection = select(
        ModeDecision(Mode.ADVISORY, ()), SUITE, ChangedFiles(("app/other.py",)), lambda one: one.id != "touching"
    )
    assert [one.id for one in selection.scenarios] == ["broken", "plain", "smoke"]
    assert (selection.free, selection.left_out, selection.covered) == (("plain",), ("touching",), True)


def test_advisory_runs_what_reads_a_changed_file_besides_what_touches_one() -> None:
    seen = {"plain": Reads(("knowledge/",), {})}
    changed = ChangedFiles(("app/booking/slots.py", "knowledge/returns.md"))
    selection = select(ModeDecision(Mode.ADVISORY, ()), SUITE, changed, seen=seen.get)
    assert [one.id for one in selection.scenarios] == ["broken", "plain", "smoke", "touching"]


def test_a_change_that_nothing_covers_is_known() -> None:
    plain = Suite((scenario("plain"), scenario("touching", touches=("app/booking/",))), "digest")
    changed = ChangedFiles(("app/other.py",))
    assert not select(ModeDecision(Mode.ADVISORY, ()), plain, changed, lambda _: True).covered
    assert select(ModeDecision(Mode.BLOCKING, ()), plain, changed).covered


def test_advisory_leaves_out_what_the_change_does_not_touch() -> None:
    selection = select(ModeDecision(Mode.ADVISORY, ()), SUITE, ChangedFiles(("app/other.py",)))

    assert "touching" in selection.left_out


def test_an_advisory_run_that_nothing_covers_selects_the_critical_scenarios_beside_those_that_cost_nothing() -> None:
    suite = Suite((scenario("cheap"), scenario("dear", critical=True), scenario("plain")), "digest")
    changed = ChangedFiles(("app/other.py",))
    selection = select(ModeDecision(Mode.ADVISORY, ()), suite, changed, lambda one: one.id == "cheap")
    assert [one.id for one in selection.scenarios] == ["cheap", "dear"]
    assert (selection.free, selection.left_out, selection.covered) == (("cheap",), ("plain",), False)


def test_an_advisory_run_that_would_select_nothing_selects_the_critical_scenarios() -> None:
    changed, dear = ChangedFiles(("app/other.py",)), scenario("dear", critical=True)
    untouched = scenario("touching", touches=("app/booking/",))
    alone = select(ModeDecision(Mode.ADVISORY, ()), Suite((dear, untouched), "digest"), changed)
    assert ([one.id for one in alone.scenarios], alone.left_out, alone.covered) == (["dear"], ("touching",), False)
    beside = select(ModeDecision(Mode.ADVISORY, ()), Suite((dear, *SUITE.scenarios), "digest"), changed)
    assert "dear" in beside.left_out
