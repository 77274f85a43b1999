"""What a change brings beside an unedited rule, metric or test judges nothing: files, set-up, packages, names."""

from collections.abc import Mapping

import pytest

from tests.support.judging_attacks import CHANGES, judged_repository
from tests.support.live_repository import LiveRepository
from tests.support.small_repository import Ended

FREE = {"RATIBA_LLM": "replay", "RATIBA_ANTHROPIC_API_KEY": "", "RATIBA_OPENAI_API_KEY": ""}


async def pull_request(live: LiveRepository, base: Mapping[str, str], change: Mapping[str, str]) -> Ended:
    """A blocking run of a change to a repository whose one scenario fails."""
    live.small.write(".github/ratiba.yml", "")
    first = live.git.commit(dict(base))
    head = live.git.commit(dict(change))
    rules = {"RATIBA_RULES": "blocking *", "RATIBA_BUDGET_USD": "1"}
    return await live.gate(**live.pull_request(first, head), **FREE, **rules)


def failed_rules(ended: Ended) -> list[str]:
    """What the rules of the change's own trials say that failed."""
    trials = [one for one in ended.results["report"]["results"] if one["trial"]["arm"]["name"] == "head"]
    return [check["got"] for one in trials for check in one.get("checks", ()) if not check["passed"]]


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_beside_it_leaves_an_unedited_rule_as_its_base_has_it(live: LiveRepository, name: str) -> None:
    ended = await pull_request(live, *judged_repository(CHANGES[name]))
    assert (ended.code, ended.outputs["conclusion"]) == (1, "failed"), ended.printed
    assert set(failed_rules(ended)) == {"as it was written"}
    assert "its own code" not in ended.comment
