"""What the comment of a live run says of its money and its judges."""

import re

from tests.support.live_repository import CONFIGURATION, LiveRepository


async def test_a_live_run_says_who_was_paid_how_the_judges_agree_and_that_no_month_is_tracked(
    live: LiveRepository,
) -> None:
    live.scenario("first", "Hello")
    live.scenario("second", "Hello again")
    ended = await live.gate()
    assert ended.code == 0, ended.printed
    for text in (
        r"\| spent \| USD 0\.\d+ █░{19} of 20\.00 \|",
        r"\| by party \| judge .* · cross-check .* · system .* \|",
        r"\| by model \| .*gpt-5 .* \|",
        r"\| model calls \| 6 live, 0 replayed \|",
        r"\| cross-check \| gpt-5\.6, 100% of the scores: 2 of 2 compared \|",
        r"\| agreement \| n = 2: 100% on the same side; kappa undefined, quadratic .* \|",
        r"\| votes \| none of 2 judged scores was measured again near its threshold \|",
        r"The spending of this month is not tracked: ledger-url is not set\.",
    ):
        assert re.search(text, ended.comment), ended.comment
    assert "estimated cost" not in ended.comment


async def test_a_cross_check_that_is_not_wanted_is_reported_as_off(live: LiveRepository) -> None:
    unchecked = re.sub(r"cross_check: \{.*\}", "cross_check: null", CONFIGURATION)
    live.small.write(".github/ratiba.yml", unchecked)
    live.scenario("first", "Hello")
    ended = await live.gate()
    assert ended.code == 0, ended.printed
    assert "| cross-check | off: the configuration has none |" in ended.comment
    assert "| agreement |" not in ended.comment
