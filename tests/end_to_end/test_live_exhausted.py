"""What a person reads when money, time or patience ended a live run: what is known, and what to do."""

import asyncio
import json
import re
import signal

from ratiba_action.model.conversation import Usage
from tests.support.eventually import eventually_async
from tests.support.live_repository import LiveRepository, report_of
from tests.support.small_repository import Ended

COUNT = 6


async def recorded(live: LiveRepository) -> None:
    """Conversations of which it is known what they cost: about 0.05 each with the cross-check."""
    for number in range(COUNT):
        live.scenario(f"greets_{number}", f"Hello, I am guest {number}")
    live.talk.usage, live.talk.judged = Usage(400, 400), Usage(2_000, 1_100)
    await live.record()
    live.models.bill.charges.clear()
    live.talk.asked = 0


def action(ended: Ended) -> str:
    """The line of the comment that says what to do."""
    (line,) = (line for line in ended.comment.splitlines() if line.startswith("**What to do:**"))
    return line


async def test_an_exhausted_budget_names_the_cap_its_input_and_what_the_rest_needed(live: LiveRepository) -> None:
    await recorded(live)
    ended = await live.gate("--budget-usd", "0.20", "--concurrency", "1", "--no-deepeval-cache")
    assert ended.code == 3, ended.printed
    reported = action(ended)
    assert re.search(
        r"Raise budget-usd \(RATIBA_EVAL_BUDGET_USD\) from \\\$0\.20 to about \\\$0\.[3-4]\d, or select", reported
    ), reported
    assert re.search(
        r"the budget of this run has \\\$0\.\d\d left, and \d scenarios need about \\\$0\.\d\d", reported
    ), reported
    assert "could not be measured" in ended.comment
    assert "the budget is not enough for them." in ended.comment


async def test_a_month_that_is_nearly_full_is_what_the_forecast_and_the_action_name(
    live: LiveRepository, ledger_url: str
) -> None:
    await recorded(live)
    month = {"RATIBA_LEDGER_URL": ledger_url, "RATIBA_EVAL_MONTHLY_BUDGET_USD": "0.30"}
    first = await live.gate("--scenario", "greets_0", "--scenario", "greets_1", "--scenario", "greets_2", **month)
    assert first.code == 0, first.printed
    second = await live.gate("--no-deepeval-cache", **month)
    assert second.code == 3, second.printed
    assert "\nWhat is left of the budget of the month " in second.printed
    assert "of 0.30) should cover" in second.printed
    assert "Raise monthly-budget-usd (RATIBA_EVAL_MONTHLY_BUDGET_USD) from \\$0.30 to about" in action(second)
    assert "budget-usd (RATIBA_EVAL_BUDGET_USD)" not in action(second)


async def test_a_dry_run_reads_the_month_and_makes_no_table(live: LiveRepository, ledger_url: str) -> None:
    live.scenario("greets", "Hello")
    month = {"RATIBA_LEDGER_URL": ledger_url, "RATIBA_EVAL_MONTHLY_BUDGET_USD": "0.0001"}
    for _ in range(2):
        ended = await live.gate("--dry-run", **month)
        assert ended.code == 0, ended.printed
        assert "(USD 0.0001) should cover 0 of 1 scenario; it may not cover greets." in ended.printed


async def test_a_cancelled_run_says_what_was_checked_and_what_the_month_holds(
    live: LiveRepository, ledger_url: str
) -> None:
    await recorded(live)
    live.talk.hold_from = 5
    process = live.small.start(
        "--concurrency", "1", "--no-deepeval-cache", RATIBA_LEDGER_URL=ledger_url, GITHUB_ACTIONS=""
    )

    async def held() -> bool:
        return live.talk.asked >= 5

    try:
        await eventually_async(held)
    finally:
        process.send_signal(signal.SIGINT)
        done = await asyncio.to_thread(process.wait)
    ended = Ended(done.returncode, done.stdout + done.stderr, live.small.report)
    assert ended.code == 3, ended.printed
    assert report_of(ended).cross_checking is not None
    assert "the month " in ended.comment
    assert "of 300.00" in ended.comment
    assert "not tracked" not in ended.comment
    assert "| cross-check | gpt-5.6" in ended.comment
    assert action(ended) == "**What to do:** Run the gate again."


async def test_a_resumed_run_is_forecast_for_what_is_left_of_it(live: LiveRepository) -> None:
    await recorded(live)
    live.talk.hold_from = 10
    process = live.small.start("--concurrency", "1", "--no-deepeval-cache")

    async def held() -> bool:
        return live.talk.asked >= 10 and live.journal_events()["settle"] >= 9

    try:
        await eventually_async(held)
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)
    live.talk.hold_from = None
    resumed = await live.gate("--resume", "--no-deepeval-cache")
    assert resumed.code == 0, resumed.printed
    first = resumed.printed.splitlines()[2]
    assert "of what is left of the budget of this run (USD 19." in first
    assert float(first.split("USD ")[1].split(" ")[0]) < 0.20, "most of it is paid for"


async def test_recordings_that_nobody_said_are_informed_of_only_where_one_of_them_answered(
    live: LiveRepository,
) -> None:
    live.scenario("greets", "Hello")
    await live.record()
    path = live.small.folder / "scenarios/recordings/greets.jsonl"
    recorded = [json.loads(line) for line in path.read_text().splitlines()]
    lines = [line if line["kind"] == "reads" else {**line, "source": "authored"} for line in recorded]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    replayed = await live.gate(RATIBA_LLM="replay")
    assert "2 of 2 replayed answers were written by hand" in replayed.comment
    unheard = await live.gate("--budget-usd", "0.0001", RATIBA_LLM="live")
    assert unheard.code == 3, unheard.printed
    assert "written by hand" not in unheard.comment


async def test_a_budget_that_holds_no_scenario_is_said_before_set_up_and_the_advice_is_enough(
    live: LiveRepository,
) -> None:
    await recorded(live)
    settings = live.small.folder / ".github" / "ratiba.yml"
    text = settings.read_text()
    settings.write_text(text.replace("system:\n", "system:\n  setup: [/bin/false]\n", 1))
    assert settings.read_text() != text
    ended = await live.gate("--budget-usd", "0.01", RATIBA_LLM="live")
    settings.write_text(text)
    assert ended.code == 3, ended.printed
    assert "set-up command" not in ended.printed, "it would have failed"
    assert "it may cost" in ended.printed
    reported = action(ended)
    found = re.search(r"from \\\$0\.01 to about \\\$(\d+\.\d\d)", reported)
    assert found is not None, reported
    assert f"need about \\${found[1]}" in reported or f"needs about \\${found[1]}" in reported
    again = await live.gate("--budget-usd", found[1], "--concurrency", "1", RATIBA_LLM="live")
    assert again.code in (0, 1), again.printed


async def test_a_call_that_is_refused_in_the_middle_of_a_run_names_the_amount_that_is_enough(
    live: LiveRepository,
) -> None:
    live.scenario("greets", "Hello")
    await live.record()
    adapter = live.small.folder / "adapter.py"
    adapter.write_text(adapter.read_text().replace('"max_completion_tokens": 400', '"max_completion_tokens": 60_000'))
    ended = await live.gate("--llm", "live", "--budget-usd", "0.50")
    assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed
    reported = action(ended)
    assert "above" not in reported
    found = re.search(r"Raise budget-usd \(RATIBA_EVAL_BUDGET_USD\) from \\\$0\.50 to about \\\$(\d\.\d\d),", reported)
    assert found, ended.printed
    enough = await live.gate("--llm", "live", "--budget-usd", found[1])
    assert enough.code == 0, enough.printed


async def test_no_budget_is_advised_where_a_model_without_a_price_ended_a_scenario(live: LiveRepository) -> None:
    live.small.write(
        "adapter.py",
        "class Adapter:\n    def open(self, context):\n        return self\n\n    def send(self, message):\n"
        '        usage = [{"model": "nobody-knows-it", "input_tokens": 1000, "output_tokens": 100}]\n'
        '        return {"text": "Bonjour", "state": "SAID", "usage": usage}\n',
    )
    live.small.scenario("greets", "Hello")
    ended = await live.gate()
    assert ended.code == 3, ended.printed
    assert "Raise budget-usd" not in ended.comment
    assert "prices:" in action(ended)
