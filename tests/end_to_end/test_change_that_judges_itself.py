"""What a change brings beside an unedited rule, metric or test judges nothing: files, set-up, packages, names."""

from collections.abc import Mapping

import pytest

from tests.support.judging_attacks import CHANGES, judged_repository
from tests.support.live_repository import LiveRepository
from tests.support.small_repository import Ended

FREE = {"RATIBA_LLM": "replay", "RATIBA_ANTHROPIC_API_KEY": "", "RATIBA_OPENAI_API_KEY": ""}

KIND = "def kind(evidence): return {'passed': False, 'reason': \"the base's\"}\n"


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


async def test_a_rule_that_the_change_edits_is_its_own_and_named_and_any_other_is_the_bases(
    live: LiveRepository,
) -> None:
    base, change = judged_repository(CHANGES["what the rule reads"])
    other = base["scenarios/asks.yaml"].replace("checks:no_cash", "[checks:no_cash, tone:kind]")
    base |= {"scenarios/asks.yaml": other.replace('"[', "[").replace(']"', "]"), "tone.py": KIND}
    change |= {"tone.py": KIND.replace("False", "True").replace("the base's", "the change's")}
    ended = await pull_request(live, base, change)
    assert ended.code == 1, ended.printed
    assert set(failed_rules(ended)) == {"as it was written"}
    assert "the change's" in str(ended.results["report"]["results"])
    assert "by rules or metrics changed in this PR" in ended.comment
    assert "tone:kind is edited by this change, so the change is measured by its own code." in ended.comment
    assert ended.results["report"]["edited_judges"] == ["tone:kind"]
