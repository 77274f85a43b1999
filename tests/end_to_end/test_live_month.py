"""Runs that share a ledger: together they never pass the month's cap, and without the ledger nothing is spent."""

import asyncio
from fractions import Fraction
from pathlib import Path

from ratiba_action.model.measurement import NotRun, Scored
from tests.support.live_repository import LiveRepository, outcomes, report_of
from tests.support.small_repository import Ended
from tests.support.sql import fetch

CAP = "0.60"


def scored(ended: Ended) -> int:
    return sum(isinstance(one, Scored) for one in outcomes(ended).values())


async def test_runs_at_once_and_one_after_them_never_pass_the_months_cap_together(
    live: LiveRepository, tmp_path: Path, ledger_url: str
) -> None:
    for number in range(16):
        live.scenario(f"greets_{number:02}", f"Hello, I am guest {number}")
    month = {"RATIBA_LEDGER_URL": ledger_url, "RATIBA_EVAL_MONTHLY_BUDGET_USD": CAP}
    machines = [live.elsewhere(tmp_path / name) for name in ("shard-1", "shard-2")]
    together = await asyncio.gather(*(machine.gate(**month) for machine in machines))
    after = await live.gate(**month)
    assert live.models.bill.total <= Fraction(CAP)
    assert sum(Fraction(ended.outputs["spent_usd"]) for ended in (*together, after)) == live.models.bill.total
    assert all(scored(ended) for ended in together), "both of them did what they could"
    assert after.code == 3, after.printed
    (shared,) = report_of(after).shared_spending
    assert (Fraction(shared.spent), str(shared.cap)) == (live.models.bill.total, CAP)
    assert f"of {CAP}" in after.comment
    assert "not tracked" not in after.comment
    left_out = [one for one in outcomes(after).values() if isinstance(one, NotRun)]
    assert left_out
    assert all("month" in one.reason for one in left_out)
    everything = "".join(ended.printed + ended.comment for ended in (*together, after))
    assert ledger_url not in everything
    kept = await fetch(ledger_url, "SELECT sum(spent_usd), count(*) FROM ratiba_history.run")
    assert [(Fraction(spent), runs) for spent, runs in kept] == [(live.models.bill.total, 3)]


async def test_runs_at_once_and_one_after_them_never_pass_their_pull_requests_budget_together(
    live: LiveRepository, tmp_path: Path, ledger_url: str
) -> None:
    for number in range(8):
        live.scenario(f"greets_{number:02}", f"Hello, I am guest {number}")
    base = live.git.commit({})
    head = live.git.commit({"prompts/unused.md": "Be friendly."})
    shared = live.pull_request(base, head) | {"RATIBA_LEDGER_URL": ledger_url, "RATIBA_EVAL_BUDGET_USD": "0.30"}
    machines = [live.elsewhere(tmp_path / name) for name in ("first", "second")]
    together = await asyncio.gather(
        *(machine.gate(**shared | {"GITHUB_RUN_ID": f"200{number}"}) for number, machine in enumerate(machines))
    )
    after = await live.gate(**shared)
    bill = live.models.bill.total
    assert 0 < bill <= Fraction("0.30")
    assert sum(Fraction(ended.outputs["spent_usd"]) for ended in (*together, after)) == bill
    assert after.code == 3, after.printed
    accounts = {account.name: account for account in report_of(after).shared_spending}
    (mine,) = (name for name in accounts if "pull request salon/assistant#" in name)
    assert (Fraction(accounts[mine].spent), str(accounts[mine].cap)) == (bill, "0.30")
    left_out = [one for one in outcomes(after).values() if isinstance(one, NotRun)]
    assert left_out
    assert all("pull request salon/assistant#" in one.reason for one in left_out)


async def test_a_ledger_that_cannot_be_reached_lets_nothing_be_spent(live: LiveRepository) -> None:
    live.scenario("greets", "Hello")
    ended = await live.gate(RATIBA_LEDGER_URL="postgresql://ratiba:planted-ledger-password@127.0.0.1:1/ledger")
    assert ended.code == 3, ended.printed
    assert ended.outputs["conclusion"] == "incomplete"
    assert live.models.received == ()
    assert "ledger" in ended.comment
    assert "planted-ledger-password" not in ended.printed + ended.comment
    assert "Traceback" not in ended.printed
    assert "warning: The run could not be written to the metrics history" in ended.printed
    assert "ratiba report --to-history" in ended.printed


async def test_a_run_without_a_ledger_says_that_the_month_is_not_tracked(live: LiveRepository) -> None:
    live.scenario("greets", "Hello")
    ended = await live.gate()
    assert ended.code == 0, ended.printed
    assert "The spending of this month is not tracked" in ended.comment
