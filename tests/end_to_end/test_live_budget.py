"""A budget that is far too small for the work: what was measured is kept, and nothing passes the cap."""

import re
from fractions import Fraction

from ratiba_action.model.conversation import Usage
from ratiba_action.model.measurement import NotRun, Scored
from tests.support.github_server import GithubState, github_server
from tests.support.live_repository import SECOND_JUDGE, LiveRepository, outcomes, report_of

CAP = Fraction("0.30")
COUNT = 24


async def test_a_budget_of_0_30_for_work_worth_1_00_holds_and_its_pull_request_is_reported_what_was_not_run(
    live: LiveRepository,
) -> None:
    for number in range(COUNT):
        live.scenario(f"greets_{number:02}", f"Hello, I am guest {number}")
    live.talk.usage, live.talk.judged = Usage(400, 400), Usage(2_000, 1_100)
    await live.record()
    bill = live.models.bill
    assert bill.total > 1, "the work is worth more than a dollar"
    bill.charges.clear()
    base = live.git.commit({})
    head = live.git.commit({f"prompts/greets_{number:02}.md": "Be friendly and short." for number in range(COUNT)})
    state = GithubState(heads={7: head})
    with github_server(state) as address:
        ended = await live.gate(
            **live.pull_request(base, head),
            GITHUB_API_URL=address,
            RATIBA_GITHUB_TOKEN="planted-github-token",
            RATIBA_EVAL_BUDGET_USD="0.30",
        )
    assert ended.code == 3, ended.printed
    assert 0 < bill.total <= CAP
    assert Fraction(ended.outputs["spent_usd"]) == bill.total
    assert ended.outputs["conclusion"] == "incomplete"

    results = outcomes(ended)
    scored = [name for name, result in results.items() if isinstance(result, Scored)]
    left_out = [result for result in results.values() if isinstance(result, NotRun)]
    assert len(scored) > 1, "what a grade costs is known from the recordings"
    assert len(scored) + len(left_out) == COUNT, "nothing that was begun broke off for want of money"
    for result in left_out:
        found = re.search(r"it may cost \$([\d.]+), and the budget of this run has \$([\d.]+) left", result.reason)
        assert found, result.reason
        assert Fraction(found[1]) > CAP - bill.total, "what is left is less than one conversation may cost"

    checking = report_of(ended).cross_checking
    assert checking is not None
    assert "the scenarios that wait may need" in checking.status.stopped
    assert SECOND_JUDGE not in {charge.model for charge in bill.charges}, "the cross-check went first"
    (comment,) = state.comments
    assert comment["body"] == ended.comment
    assert "reduced from 100% to 0% because" in comment["body"]
    assert "of 0.30" in comment["body"]
