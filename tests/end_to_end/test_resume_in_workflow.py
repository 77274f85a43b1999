"""Attempts of a workflow run on machines of their own: what an interrupted one has paid for is not paid for again."""

import asyncio
import signal
from fractions import Fraction
from pathlib import Path

import pytest

from ratiba_action.money.sealed_journal import JournalRun, OpenedCopy, find_copy
from tests.end_to_end.test_live_resume import CALLS, begin, kill, write_scenarios
from tests.support.live_repository import LiveRepository, report_of
from tests.support.small_repository import Ended

JOURNAL_KEY = "5ea1ed0123456789" * 4


@pytest.fixture
def kept(live: LiveRepository, tmp_path: Path) -> Path:
    """The folder that the workflow hands from attempt to attempt; the first attempt of a pull request's run begins."""
    write_scenarios(live)
    folder = tmp_path / "kept"
    base = live.git.commit({"prompts/asks.md": "Be friendly."})
    live.small.environment.update(
        live.pull_request(base, live.git.commit({"prompts/thanks.md": "Be brief."})),
        RATIBA_JOURNAL_KEY=JOURNAL_KEY,
        RATIBA_SEALED_JOURNALS=str(folder),
        RATIBA_EARLIER_JOURNALS=str(folder),
    )
    return folder


async def attempt(live: LiveRepository, folder: Path, number: int, *options: str, **variables: str) -> Ended:
    """A further attempt, on a machine that knows nothing of the ones before but what the workflow has kept."""
    live.talk.hold_from = None
    return await live.elsewhere(folder / f"attempt-{number}").gate(
        *options, **variables, GITHUB_RUN_ATTEMPT=str(number)
    )


def copies(kept: Path) -> dict[str, Path]:
    """The copies that attempts have left, by the attempt's number."""
    return {path.stem.partition("-")[2]: path for path in sorted(kept.iterdir())}


def copy_before(kept: Path, number: int) -> OpenedCopy | None:
    """What an attempt would go on with."""
    return find_copy(kept, JOURNAL_KEY, JournalRun("salon/assistant", 1001, "ratiba"), number)


async def test_an_attempt_goes_on_with_a_killed_one_and_pays_for_nothing_twice(
    live: LiveRepository, kept: Path, tmp_path: Path
) -> None:
    await kill(await begin(live, 7, "--concurrency", "2"))
    killed_at = len(live.models.received)
    in_flight = killed_at - 6
    (copy,) = copies(kept).values()
    sealed = copy.read_bytes()
    assert not any(word.encode() in sealed for word in ("welcome", "Plain and friendly", "gpt-5", JOURNAL_KEY))

    second = await attempt(live, tmp_path, 2)
    assert second.code == 0, second.printed
    assert len(live.models.received) == CALLS + in_flight, "what was settled is not asked again"
    assert sorted(live.bodies().values()) == [1] * (CALLS - in_flight) + [2] * in_flight
    assert Fraction(second.outputs["spent_usd"]) >= live.models.bill.total, "what was in flight counts in full"
    for text in (second.printed, second.comment.replace("\\", "")):
        assert "This run goes on with attempt 1, which was interrupted: $0." in text
    assert copy_before(kept, 3) == OpenedCopy(2, (1,), concluded=True, content=b""), "a third attempt starts anew"


async def test_an_attempt_goes_on_with_one_whose_time_was_up_under_one_cap(
    live: LiveRepository, kept: Path, tmp_path: Path
) -> None:
    live.small.environment["RATIBA_EVAL_BUDGET_USD"] = "0.30"
    live.talk.hold_from = 3
    late = await live.gate("--deadline", "4", "--concurrency", "1")
    assert late.code == 3, late.printed
    paid_before = live.models.bill.total
    second = await attempt(live, tmp_path, 2)
    assert second.code == 3, second.printed
    assert "goes on with attempt 1" in second.printed
    assert paid_before < live.models.bill.total <= Fraction(second.outputs["spent_usd"]) <= Fraction("0.30")
    left = copy_before(kept, 3)
    assert left is not None
    assert left.concluded, "a run that ended for its budget is not gone on with"


async def test_what_was_altered_or_is_of_another_plan_is_not_gone_on_with(
    live: LiveRepository, kept: Path, tmp_path: Path
) -> None:
    await kill(await begin(live, 4, "--concurrency", "1"))
    (copy,) = copies(kept).values()
    whole, asked = copy.read_bytes(), live.talk.asked
    lines = whole.splitlines(keepends=True)
    copy.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    refused = await attempt(live, tmp_path, 2)
    assert (refused.code, refused.outputs["conclusion"]) == (3, "incomplete"), refused.printed
    assert "is not used: its line 3 is not the one that was written there" in refused.printed
    assert "Start a new workflow run" in refused.printed
    assert "Traceback" not in refused.printed
    assert live.talk.asked == asked, "nothing was paid for"

    without = await attempt(live, tmp_path, 3, "--scenario", "thanks", RATIBA_JOURNAL_KEY="")
    assert without.code == 0, without.printed
    assert live.talk.asked == asked + CALLS // 3
    assert list(copies(kept)) == ["1"], "without a key nothing is read, and nothing is written"

    copy.write_bytes(whole)
    other = await attempt(live, tmp_path / "other", 2, "--scenario", "asks")
    assert other.code == 0, other.printed
    assert "The write-ahead journal of attempt 1 is not used: its scenarios, configuration" in other.printed
    assert live.talk.asked == asked + 2 * (CALLS // 3)
    assert list(copies(kept)) == ["1", "2"]


@pytest.mark.usefixtures("kept")
async def test_a_merge_counts_the_money_of_a_resumed_shard_once(live: LiveRepository, tmp_path: Path) -> None:
    process = await begin(live, 3, "--shard", "1/2", "--concurrency", "1")
    process.send_signal(signal.SIGTERM)
    done = await asyncio.to_thread(process.wait)
    assert done.returncode == 3, done.stderr
    first = live.small.report
    of_first = Fraction(str(report_of(Ended(3, done.stdout, first)).spending.spent))
    assert of_first > 0
    resumed = await attempt(live, tmp_path, 2, "--shard", "1/2")
    other = await live.elsewhere(tmp_path / "other").gate("--shard", "2/2")
    assert (resumed.code, other.code) == (0, 0), resumed.printed + other.printed
    shard = report_of(resumed).shard
    assert shard is not None
    assert (shard.resumed, shard.carried >= of_first) == ((1,), True)

    machine = live.elsewhere(tmp_path / "merge")
    folders = [str(folder) for folder in (first, resumed.report, other.report)]
    merged = await asyncio.to_thread(lambda: machine.small.ended("merge", *folders, GITHUB_RUN_ATTEMPT="2"))
    assert merged.code == 0, merged.printed
    spent = Fraction(resumed.outputs["spent_usd"]) + Fraction(other.outputs["spent_usd"])
    assert Fraction(merged.outputs["spent_usd"]) == spent >= live.models.bill.total
    assert "a later attempt went on with it, and its cost includes this one" in merged.comment
    assert "is set aside" not in merged.comment
