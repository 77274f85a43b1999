"""Shards of one run that are killed at random moments and run again: together they never pass the budget of the run."""

import asyncio
import random
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest

from ratiba_action.model.conversation import Usage
from tests.support.gate_forks import GateForks, StartedGate
from tests.support.live_repository import CONFIGURATION, LiveRepository, report_of
from tests.support.model_servers import Received
from tests.support.small_repository import Ended

SCENARIOS = 8
BUDGETS = {2: "0.02", 4: "0.028"}
"""By the number of shards; all scenarios cost $0.033, and shares pay for half of them: a call may cost $0.0058."""
CALLS = 4
"""That shards make at least, together, if none is killed."""
SEEDS = {
    "a ledger": (1, 3),
    "a ledger without journals": (1, 3),
    "shares": (2, 4),
    "shares without journals": (1, 2),
}
"""By how the shards share the budget, and whether the journals of the killed ones are there for the second attempt.

One seed draws two shards and the other one four. Most further seeds draw shards and moments that were drawn already.
"""


@dataclass
class Shards:
    """The shards of one run, each on a machine of its own.

    Args:
        live: the repository.
        folder: of the machines.
        variables: of the workflow run.
        count: of shards.
    """

    live: LiveRepository
    forks: GateForks
    folder: Path
    variables: Mapping[str, str]
    count: int
    started: dict[int, StartedGate] = field(default_factory=dict)

    def machine(self, number: int, attempt: int = 1) -> LiveRepository:
        return self.live.elsewhere(self.folder / f"shard-{number}-attempt-{attempt}")

    async def run(self, machines: Mapping[int, LiveRepository], attempt: int = 1) -> dict[int, Ended]:
        """Run shards beside each other to their ends; one whose machine has a journal of it goes on with that."""
        for number, machine in machines.items():
            left = ["--resume"] if machine.journals else []
            words = ["gate", "--report-dir", str(machine.small.report), "--shard", f"{number}/{self.count}", *left]
            environment = {**machine.small.environment, **self.variables, "GITHUB_RUN_ATTEMPT": str(attempt)}
            self.started[number] = self.forks.start(words, machine.small.folder, environment)
        done = {number: await asyncio.to_thread(self.started[number].wait) for number in machines}
        return {
            number: Ended(each.returncode, each.stdout + each.stderr, machines[number].small.report)
            for number, each in done.items()
        }

    async def merge(self, reports: Sequence[Path]) -> Ended:
        """Merge reports after the second attempt, on another machine."""
        machine = self.live.elsewhere(self.folder / "merged")
        variables = {**self.variables, "GITHUB_RUN_ATTEMPT": "2"}
        return await asyncio.to_thread(lambda: machine.small.ended("merge", *map(str, reports), **variables))


@pytest.mark.parametrize("case", [f"{kind} {seed}" for kind, seeds in SEEDS.items() for seed in seeds])
async def test_shards_that_are_killed_at_random_and_run_again_never_pass_their_budget(
    live: LiveRepository, tmp_path: Path, forks: GateForks, ledger_url: str, case: str
) -> None:
    drawn = random.Random(case)  # noqa: S311 - no secret
    count, ledger, kept = drawn.choice((2, 2, 2, 4)), "ledger" in case, "without" not in case
    victims = drawn.sample(range(1, count + 1), drawn.randrange(1, count))
    moments = {number: drawn.randint(1, (count - len(victims)) * CALLS // count) for number in victims}
    moments[victims[0]] = min(moments[victims[0]], CALLS // count)  # when no shard can have ended
    live.small.write(".github/ratiba.yml", CONFIGURATION.replace("system:\n", "system:\n  database: false\n"))
    live.talk.usage = Usage(50, 400)
    for number in range(SCENARIOS):
        live.small.scenario(f"greets_{number}", f"Hello, I am guest {number}")
    base = live.git.commit({})
    variables = live.pull_request(base, live.git.commit({"prompts/unused.md": "Be friendly."}))
    variables |= {"RATIBA_EVAL_BUDGET_USD": BUDGETS[count]} | ({"RATIBA_LEDGER_URL": ledger_url} if ledger else {})
    shards, budget, bill = Shards(live, forks, tmp_path, variables, count), Fraction(BUDGETS[count]), live.models.bill

    def kill(_: Received) -> None:
        for number in victims:
            if live.talk.asked == moments[number]:
                shards.started[number].kill()

    live.talk.instead = kill
    machines = {number: shards.machine(number) for number in range(1, count + 1)}
    first = await shards.run(machines)
    killed = [number for number, ended in first.items() if ended.code]
    assert {first[number].code for number in killed} == {-signal.SIGKILL}, [each.printed for each in first.values()]
    assert bill.total <= budget, "without a second attempt, the budget bounds all shards in any case"
    paid, live.talk.instead = bill.total, lambda _: None

    again = {number: machines[number] if kept else shards.machine(number, 2) for number in killed}
    second = await shards.run(again, attempt=2)
    assert {ended.code for ended in second.values()} == {0}, [ended.printed for ended in second.values()]
    merged = await shards.merge([ended.report for ended in (first | second).values()])
    assert (merged.code, merged.outputs["conclusion"]) == (3, "incomplete"), merged.printed
    assert 0 < merged.outputs["passed"] < SCENARIOS, "the budget pays for some scenarios"
    text, accounts = Fraction(merged.outputs["spent_usd"]), report_of(merged).shared_spending
    of_pull_request = [Fraction(account.spent) for account in accounts if "pull request" in account.name]
    assert text <= budget
    if kept:  # Each shard went on with its journal, and its report has the calls of both attempts.
        assert bill.total <= text
    elif ledger:  # Attempts without a report are known to the ledger alone, with the calls that had no outcome.
        assert bill.total <= of_pull_request[0] <= budget
    else:  # A shard that begins anew has its share again; the merge sets aside what is not known of the first one.
        aside = budget * len(killed) / count
        assert bill.total - paid <= aside
        assert bill.total <= text + aside
        assert f"\\${float(aside):g} is set aside" in merged.comment
    assert len(of_pull_request) == ledger
    assert f"Raise budget-usd (RATIBA_EVAL_BUDGET_USD) from \\${BUDGETS[count]} to" in merged.comment
