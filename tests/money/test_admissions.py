"""Trials start as the budget allows: as many as fit are run, the rest are told why not."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path

from ratiba_action.model.conversation import Party, Reservation, Usage
from ratiba_action.model.plan import Arm, Trial
from ratiba_action.model.scenario import Scenario
from ratiba_action.money.admissions import Admissions
from ratiba_action.money.budget import Ledger
from ratiba_action.money.journal import begin_journal, resume_journal
from ratiba_action.money.monthly import MonthlyLedger
from ratiba_action.money.reservations import RunReservations
from tests.support.cases import case

HEAD = Arm("head", "/repository")


def scenario(scenario_id: str) -> Scenario:
    return case(scenario_id=scenario_id).scenario


def trials(count: int) -> list[Trial]:
    return [Trial(scenario(f"s{number}"), HEAD) for number in range(count)]


def admissions(plan: Sequence[Trial], ledger: Ledger, envelope: str = "0.10") -> Admissions:
    return Admissions(plan, lambda _: Decimal(envelope), ledger)


def spend(ledger: Ledger, trial: Trial, cost: str, party: Party = Party.SYSTEM) -> None:
    reservation = ledger.reserve(party, trial.scenario.id, "gpt-6", Decimal(cost))
    ledger.settle(reservation, Usage(1, 1), Decimal(cost))


async def run(plan: Sequence[Trial], office: Admissions, ledger: Ledger, cost: str, workers: int = 4) -> list[str]:
    """As the runner does: some workers, one trial after the other; what each trial was told."""
    reported: dict[int, str] = {}
    waiting = iter(enumerate(plan))

    async def work() -> None:
        for index, trial in waiting:
            async with office.admit(trial) as reported[index]:
                if not reported[index]:
                    await asyncio.sleep(0)
                    spend(ledger, trial, cost)

    await asyncio.gather(*(work() for _ in range(workers)))
    return [reported[index] for index in sorted(reported)]


async def test_as_many_as_fit_are_run_and_what_is_left_is_less_than_one_envelope() -> None:
    ledger, plan = Ledger(Decimal("0.30")), trials(10)
    reported = await run(plan, admissions(plan, ledger), ledger, "0.04")
    assert reported.count("") == 6
    assert ledger.cap - ledger.spent < Decimal("0.10")
    assert set(reported) == {"", "it may cost $0.10, and the budget of this run has $0.06 left of $0.30"}


async def test_once_calls_have_shown_what_they_cost_the_rest_of_the_cap_is_used() -> None:
    ledger, plan = Ledger(Decimal("1.00")), trials(60)

    def estimate(_: Trial) -> Decimal:
        costs = ledger.costs_of("gpt-6")
        return Decimal("0.30") if costs is None else costs.dearest

    reported = await run(plan, Admissions(plan, estimate, ledger), ledger, "0.02")
    assert reported.count("") == 50, "a guess of thirty cents alone would leave up to so much unspent"
    assert ledger.spent == ledger.cap


async def test_a_trial_that_waits_is_let_in_when_another_ends() -> None:
    ledger, plan = Ledger(Decimal("0.15")), trials(2)
    office = admissions(plan, ledger)
    async with AsyncExitStack() as first:
        assert await first.enter_async_context(office.admit(plan[0])) == ""
        second = asyncio.ensure_future(run(plan[1:], office, ledger, "0.01"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not second.done()
        spend(ledger, plan[0], "0.02")
    assert await second == [""]


async def test_a_trial_that_is_cancelled_while_it_waits_or_runs_holds_nothing() -> None:
    ledger, plan = Ledger(Decimal("0.10")), trials(3)
    office = admissions(plan, ledger)
    ended = asyncio.Event()

    async def hold(trial: Trial) -> None:
        async with office.admit(trial):
            await ended.wait()

    tasks = [asyncio.ensure_future(hold(trial)) for trial in plan[:2]]
    for _ in range(5):
        await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert await run(plan[2:], office, ledger, "0.10") == [""]


async def test_the_cross_check_stops_before_any_scenario_does_and_stays_stopped() -> None:
    ledger, plan = Ledger(Decimal("0.50")), trials(4)
    office = admissions(plan, ledger)
    assert await office.cross_check_refusal(Decimal("0.10")) == ""
    spend(ledger, plan[0], "0.05", Party.CROSS_CHECK)
    refusal = await office.cross_check_refusal(Decimal("0.10"))
    assert refusal == "the budget of this run has $0.45 left of $0.50, and the scenarios that wait may need $0.40"
    assert await run(plan, office, ledger, "0.01") == ["", "", "", ""]
    assert await office.cross_check_refusal() == refusal


async def test_what_the_cross_check_costs_is_not_taken_from_a_running_trials_envelope() -> None:
    ledger, plan = Ledger(Decimal("0.30")), trials(2)
    office = Admissions(plan, lambda trial: Decimal("0.10") if trial is plan[0] else Decimal("0.15"), ledger)
    async with office.admit(plan[0]) as reported:
        assert reported == ""
        spend(ledger, plan[0], "0.06", Party.CROSS_CHECK)
        second = asyncio.ensure_future(run(plan[1:], office, ledger, "0.01"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not second.done()
    assert await second == [""]


async def test_several_trials_of_one_scenario_are_not_credited_with_each_others_costs() -> None:
    ledger = Ledger(Decimal("0.30"))
    plan = [Trial(scenario("s"), HEAD, number) for number in range(3)]
    office = admissions(plan, ledger)
    async with office.admit(plan[0]), office.admit(plan[1]):
        spend(ledger, plan[0], "0.08")
        third = asyncio.ensure_future(run(plan[2:], office, ledger, "0.01"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not third.done()
    assert await third == [""]


async def test_a_resumed_run_lets_those_go_on_that_it_had_let_in_and_no_one_in_their_place(tmp_path: Path) -> None:
    path, workspace, plan = tmp_path / "state" / "run.jsonl", tmp_path / "workspace", trials(3)
    journal = begin_journal(path, "run", workspace)
    ledger = Ledger(Decimal("0.20"))
    reservations = RunReservations(ledger, journal, warn=print)
    office = Admissions(plan, lambda _: Decimal("0.10"), ledger, journal)
    async with office.admit(plan[0]), office.admit(plan[1]):
        for trial in plan[:2]:
            paid = await reservations.reserve(Party.SYSTEM, trial.scenario.id, "gpt-6", Decimal("0.09"))
            await reservations.settle(paid, Usage(1, 1), Decimal("0.09"))
        journal.close()

    journal = resume_journal(path, "run", workspace)
    ledger = Ledger(Decimal("0.20"))
    ledger.carry_on(journal.state.calls, journal.state.last_number)
    office = Admissions(plan, lambda _: Decimal("0.10"), ledger, journal)
    reported = await run([plan[2], plan[0], plan[1]], office, ledger, "0", workers=1)
    assert reported == ["it may cost $0.10, and the budget of this run has $0.00 left of $0.20", "", ""]
    journal.close()


async def test_the_month_is_asked_too_and_what_other_runs_reserved_is_gone(database: str) -> None:
    shared, others = (MonthlyLedger(database, Decimal(1), run=name) for name in ("mine", "others"))
    await shared.open()
    await others.open()
    await others.reserve(Reservation(1, Party.SYSTEM, "spa", "gpt-6", Decimal("0.95")))
    ledger, plan = Ledger(Decimal(20)), trials(1)
    office = Admissions(plan, lambda _: Decimal("0.10"), ledger, shared=shared)
    async with office.admit(plan[0]) as reported:
        assert "has $0.05 left of $1.00" in reported
        assert "the budget of the month" in reported
    await others.close()
    await shared.close()


async def test_a_ledger_that_cannot_be_read_stops_what_has_not_begun() -> None:
    shared = MonthlyLedger("host=127.0.0.1 port=1 dbname=none", Decimal(1), run="mine")
    plan = trials(1)
    office = Admissions(plan, lambda _: Decimal("0.10"), Ledger(Decimal(20)), shared=shared)
    async with office.admit(plan[0]) as reported:
        assert "shared ledger cannot be used" in reported
    assert "shared ledger cannot be used" in await office.cross_check_refusal()
