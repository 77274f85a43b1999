"""Live runs that are killed and go on: what was paid for is not paid for again, and the judges' facts are the same."""

import asyncio
from collections import Counter
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from ratiba_action.model.conversation import Party, Usage
from ratiba_action.model.event import RunEnded
from ratiba_action.model.values import Usd
from ratiba_action.money.journal_lines import parse_journal
from ratiba_action.observability.event_lines import read_events
from tests.support.eventually import eventually_async
from tests.support.gate_forks import StartedGate
from tests.support.live_repository import CONFIGURATION, LiveRepository, judged, report_of
from tests.support.model_servers import Received
from tests.support.small_repository import Ended

CALLS = 12
"""Three scenarios of two turns, each with a grade and a cross-check."""


def write_scenarios(live: LiveRepository) -> None:
    for name in ("asks", "greets", "thanks"):
        live.scenario(name, f"Hello from {name}", f"Thank you from {name}")


async def begin(live: LiveRepository, hold_from: int, *options: str) -> StartedGate:
    """A run that has settled every call before the held ones, and waits for an answer that does not come."""
    live.talk.hold_from = hold_from
    process = live.small.start(*options)

    async def settled() -> bool:
        events = live.journal_events()
        return live.talk.asked >= hold_from and events["settle"] >= hold_from - 1

    try:
        await eventually_async(settled)
    except AssertionError:
        process.kill()
        raise AssertionError(process.wait().stderr) from None
    return process


async def kill(process: StartedGate) -> None:
    process.kill()
    await asyncio.to_thread(process.wait)


async def uninterrupted(live: LiveRepository, machine: LiveRepository) -> Ended:
    """The same run on another machine; what it asked and cost is taken off the bill."""
    ended = await machine.gate()
    assert ended.code == 0, ended.printed
    live.models.bill.charges.clear()
    live.talk.asked = 0
    return ended


def assert_reported_once(resumed: Ended) -> None:
    """The events are those of one run, which goes on where it was killed and says nothing again but that it begins."""
    found = read_events(resumed.report / "events.jsonl")
    assert found.unreadable == ()
    assert len({one.run for one in found.events}) == 1
    assert [one.sequence for one in found.events] == list(range(1, len(found.events) + 1))
    reported = Counter((one.event.type, one.event.place) for one in found.events)
    for name in ("run_started", "conversation_started", "turn", "model_call", "conversation_ended", "run_ended"):
        counts = {count for (kind, _), count in reported.items() if kind == name}
        assert counts == ({2} if name == "model_call" else {1}), name
    assert isinstance(found.events[-1].event.data, RunEnded)


@pytest.mark.parametrize(("hold_from", "concurrency"), [(1, "1"), (4, "1"), (9, "3")])
async def test_a_killed_run_goes_on_to_the_same_grades_and_agreement_and_pays_for_no_settled_call_again(
    live: LiveRepository, tmp_path: Path, hold_from: int, concurrency: str
) -> None:
    write_scenarios(live)
    whole = await uninterrupted(live, live.elsewhere(tmp_path / "elsewhere"))
    before = len(live.models.received)
    await kill(await begin(live, hold_from, "--concurrency", concurrency))
    killed_at = len(live.models.received)
    live.talk.hold_from = None

    resumed = await live.gate("--resume")
    assert resumed.code == 0, resumed.printed
    assert judged(resumed) == judged(whole)
    in_flight = killed_at - before - (hold_from - 1)
    assert len(live.models.received) - before == CALLS + in_flight, "what was settled is not asked again"
    assert sorted(live.bodies(before).values()) == [1] * (CALLS - in_flight) + [2] * in_flight
    assert Fraction(resumed.outputs["spent_usd"]) >= live.models.bill.total, "what was in flight counts in full"
    assert live.journals == []
    assert_reported_once(resumed)


async def test_a_run_that_is_killed_at_any_moment_twice_still_comes_to_the_same_grades_votes_and_agreement(
    live: LiveRepository, tmp_path: Path
) -> None:
    write_scenarios(live)
    live.talk.scores = (8, 9)
    before = len(live.models.received)
    whole = await uninterrupted(live, live.elsewhere(tmp_path / "elsewhere"))
    calls = len(live.models.received) - before
    assert calls > CALLS, "some grades are near the threshold and were voted on"
    voted = [score for scores in judged(whole).scores.values() for score in scores if score.votes]
    assert {score.voters for score in voted} == {("claude-opus-5-5", "claude-opus-5-5", "gpt-5.6")}
    assert all(score.value == score.votes[0] for score in voted)
    for moment, options in ((3, ()), (8, ("--resume",))):
        process = live.small.start("--concurrency", "2", *options)
        goal = moment

        async def reached(goal: int = goal) -> bool:
            return live.talk.asked >= goal

        await eventually_async(reached)
        await kill(process)
    in_flight = live.journal_events()["reserve"] - live.journal_events()["settle"]
    resumed = await live.gate("--resume")
    assert resumed.code == 0, resumed.printed
    assert judged(resumed) == judged(whole)
    assert live.talk.asked <= calls + in_flight
    assert Fraction(resumed.outputs["spent_usd"]) >= live.models.bill.total


async def test_a_killed_run_with_a_warm_cache_comes_to_the_same_cache_hits_and_agreement(
    live: LiveRepository, tmp_path: Path
) -> None:
    write_scenarios(live)
    other = live.elsewhere(tmp_path / "elsewhere")
    for machine in (live, other):
        assert (await machine.gate("--scenario", "asks")).code == 0
    whole = await uninterrupted(live, other)
    assert judged(whole).cache_hits == 2, "of both judges"
    await kill(await begin(live, 8))
    live.talk.hold_from = None
    resumed = await live.gate("--resume")
    assert resumed.code == 0, resumed.printed
    assert judged(resumed) == judged(whole)


async def test_what_the_second_judge_was_paid_for_is_compared_although_nothing_more_can_be_afforded(
    live: LiveRepository,
) -> None:
    write_scenarios(live)
    await kill(await begin(live, 9, "--concurrency", "1"))
    live.talk.hold_from = None
    (journal,) = live.journals
    books = parse_journal(journal, journal.read_bytes())
    paid = [call for call in books.calls if call.party is Party.CROSS_CHECK and call.usage != Usage()]
    assert paid
    asked = live.talk.asked
    poor = await live.gate("--resume", RATIBA_EVAL_BUDGET_USD="0.01")
    assert poor.code == 3, poor.printed
    assert live.talk.asked == asked, "the budget holds nothing more"
    checking = judged(poor).cross_checking
    assert checking is not None
    assert checking.status.compared == checking.agreement.pairs == len(paid)


async def test_a_finished_run_leaves_no_journal_and_nothing_to_go_on_with(live: LiveRepository) -> None:
    write_scenarios(live)
    assert (await live.gate()).code == 0
    assert live.journals == []
    asked = live.talk.asked
    resumed = await live.gate("--resume")
    assert resumed.code == 2, resumed.printed
    assert "no interrupted run of this commit is left" in resumed.printed
    assert "Traceback" not in resumed.printed
    assert live.talk.asked == asked, "nothing was paid for"


async def test_an_incomplete_run_leaves_its_journal_and_goes_on_with_a_larger_budget(live: LiveRepository) -> None:
    write_scenarios(live)
    poor = await live.gate(RATIBA_EVAL_BUDGET_USD="0.30")
    assert poor.code == 3, poor.printed
    assert len(live.journals) == 1
    asked, spent = live.talk.asked, report_of(poor).spending.spent
    assert 0 < spent <= Usd("0.30")
    rich = await live.gate("--resume", RATIBA_EVAL_BUDGET_USD="20")
    assert rich.code == 0, rich.printed
    assert asked < live.talk.asked <= CALLS
    assert Fraction(rich.outputs["spent_usd"]) == live.models.bill.total
    assert live.journals == []


async def test_a_malformed_journal_is_refused_line_by_line_and_nothing_is_spent(live: LiveRepository) -> None:
    write_scenarios(live)
    await kill(await begin(live, 3))
    live.talk.hold_from = None
    (journal,) = live.journals
    whole, asked = journal.read_bytes(), live.talk.asked
    broken = whole + b'?\n{"event":"settle","number":1,"cost":"-1","usage":[0,0,0,0]}\n'
    journal.write_bytes(broken)
    refused = await live.gate("--resume")
    assert refused.code == 3, refused.printed
    assert refused.outputs["conclusion"] == "incomplete"
    first = whole.count(b"\n") + 1
    for number, problem in ((first, "it is not JSON"), (first + 1, "its cost is")):
        assert f".jsonl:{number}: {problem}" in refused.printed
    assert "Run without --resume" in refused.printed
    assert "Traceback" not in refused.printed
    assert live.talk.asked == asked, "nothing was paid for"
    assert journal.read_bytes() == broken, "what is wrong with it can still be looked at"
    journal.write_bytes(whole)
    assert (await live.gate("--resume")).code == 0, "fixed, it serves again"


@pytest.mark.parametrize("options", [(), ("--resume",)], ids=["a new run", "a resumed run"])
async def test_a_journal_that_another_run_writes_is_left_alone_and_nothing_is_spent(
    live: LiveRepository, tmp_path: Path, options: tuple[str, ...]
) -> None:
    write_scenarios(live)
    running = await begin(live, 3, "--concurrency", "1")
    (journal,) = live.journals
    written, asked = journal.read_bytes(), live.talk.asked
    refused = await live.gate(*options, "--report-dir", str(tmp_path / "other-report"))
    assert refused.code == 3, refused.printed
    assert "in use by another process" in refused.printed
    assert "Traceback" not in refused.printed
    assert live.talk.asked == asked, "nothing was paid for"
    assert journal.read_bytes() == written
    assert running.is_running()
    await kill(running)
    live.talk.hold_from = None
    assert (await live.gate("--resume")).code == 0, "the journal is whole"


@pytest.mark.parametrize("changed", ["commit", "configuration", "scenarios", "source of answers"])
async def test_a_run_of_something_else_is_not_gone_on_with(live: LiveRepository, changed: str) -> None:
    write_scenarios(live)
    base = live.git.commit({})
    head = live.git.commit({"prompts/asks.md": "Be friendly."})
    live.small.environment.update(live.pull_request(base, head))
    await kill(await begin(live, 3))
    live.talk.hold_from = None
    asked, options = live.talk.asked, ["--resume"]
    if changed == "commit":
        again = live.git.commit({"prompts/asks.md": "Be brief."})
        live.small.environment.update(live.pull_request(base, again))
    elif changed == "configuration":
        live.small.write(".github/ratiba.yml", CONFIGURATION + "pass_rate: 0.95\n")
    elif changed == "scenarios":
        options += ["--scenario", "asks"]
    else:
        live.small.environment["RATIBA_LLM"] = "auto"
    refused = await live.gate(*options)
    assert refused.code == 3, refused.printed
    assert "journal" in refused.printed
    assert "Traceback" not in refused.printed
    assert live.talk.asked == asked, "nothing was paid for"
    assert len(live.journals) == 1


async def test_a_run_that_is_killed_before_its_report_is_written_is_not_paid_for_again(
    live: LiveRepository, ledger_url: str
) -> None:
    live.small.scenario("asks", "Hello from asks")
    base = live.git.commit({})
    head = live.git.commit({"prompts/asks.md": "Be friendly."})
    live.small.environment.update(live.pull_request(base, head), RATIBA_LEDGER_URL=ledger_url)
    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'ratiba_history.run'::regclass"
    with psycopg.connect(ledger_url) as locking:

        def lock(_: Received) -> None:
            locking.execute("LOCK TABLE ratiba_history.run")  # which a run reads when everything is measured

        def is_measured() -> bool:
            return live.talk.asked > 0 and locking.execute(waiting).fetchone() is not None

        live.talk.instead = lock
        process = live.small.start("--baseline", "none")
        try:
            await eventually_async(lambda: asyncio.to_thread(is_measured))
        finally:
            await kill(process)
    assert not (live.small.report / "results.json").exists()
    live.talk.instead = lambda _: None
    resumed = await live.gate("--resume", "--baseline", "none")
    assert resumed.code == 0, resumed.printed
    assert live.talk.asked == 1, "what was settled is not asked again"
    assert live.journals == []
