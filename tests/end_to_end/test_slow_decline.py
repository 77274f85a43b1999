"""A branch that became worse, through the gate itself: its own runs, and a pull request after them."""

import json
from dataclasses import dataclass

from ratiba_action.model.verdict import Conclusion
from ratiba_action.util.text import short_commit
from tests.support.github_server import GithubState, github_server
from tests.support.judge_of_arms import BASE_SAYS, HEAD_SAYS, JudgeOfArms
from tests.support.live_repository import CONFIGURATION, LiveRepository, report_of
from tests.support.small_repository import Ended

NAMES = tuple(f"asks_{number}" for number in range(10))
"""Ten that all fell are the fewest that a tenth of the level of 1 % allows."""
RULES = "comparison: {min_scenarios: 6}\n"
OPTIONS = ("--no-deepeval-cache", "--mode", "blocking")


@dataclass(frozen=True)
class Branch:
    """The default branch of a repository whose system says which version it is."""

    live: LiveRepository
    judge: JudgeOfArms
    database: str

    async def pushed(self, before: str, after: str) -> Ended:
        """The branch's own run after a push."""
        event = self.live.home / "push.json"
        event.parent.mkdir(parents=True, exist_ok=True)
        repository = {"full_name": "salon/assistant", "default_branch": "main"}
        event.write_text(
            json.dumps({"ref": "refs/heads/main", "before": before, "after": after, "repository": repository})
        )
        about = {"GITHUB_EVENT_NAME": "push", "GITHUB_EVENT_PATH": str(event), "RATIBA_GITHUB_TOKEN": "ghs_planted"}
        # It says that the branch is the default one: without its word, the ledger would not be used.
        with github_server(GithubState(clone=self.live.small.folder)) as address:
            about["GITHUB_API_URL"] = address
            return await self.gate({**self.live.pull_request(before, after), **about})

    async def gate(self, variables: dict[str, str]) -> Ended:
        """The gate, with the ledger in the database."""
        return await self.live.gate(*OPTIONS, RATIBA_LEDGER_URL=self.database, **variables)


async def begin(live: LiveRepository, database: str) -> tuple[Branch, str]:
    """A branch with one measured version."""
    live.talk.instead = judge = JudgeOfArms()
    configuration = CONFIGURATION.replace("share: 1.0", "share: 0.0") + RULES
    live.small.write(".github/ratiba.yml", configuration)
    adapter = live.small.folder / "adapter.py"
    adapter.write_text(adapter.read_text().replace('"text": text', f'"text": text + " {BASE_SAYS}"'))
    for name in NAMES:
        live.scenario(name, f"Hello from {name}")
    first = live.git.commit({})
    branch = Branch(live, judge, database)
    ended = await branch.pushed("0" * 40, first)
    assert ended.code == 0, ended.printed
    assert report_of(ended).verdict.decline is None, "there is nothing before it"
    return branch, first


def worse(live: LiveRepository) -> str:
    """A commit whose answers are worse."""
    text = (live.small.folder / "adapter.py").read_text()
    return live.git.commit({"adapter.py": text.replace(BASE_SAYS, HEAD_SAYS)})


async def test_a_confirmed_decline_warns_in_the_branchs_run_and_in_the_next_pull_request(
    live: LiveRepository, database: str
) -> None:
    branch, first = await begin(live, database)
    second = worse(live)
    ended = await branch.pushed(first, second)
    report = report_of(ended)
    decline = report.verdict.decline
    assert (ended.code, report.verdict.conclusion) == (0, Conclusion.PASSED), ended.printed
    assert decline is not None
    assert decline.confirmed, (decline, ended.printed)
    assert (decline.commit, decline.scenarios) == (first, len(NAMES))
    assert decline.difference is not None
    assert decline.difference < 0
    text = f"below that of `{short_commit(first)}` (the best of the last 8 weeks"
    html = (ended.report / "report.html").read_text()
    events = (ended.report / "events.jsonl").read_text()
    for place in (ended.comment, html, ended.printed):
        assert "Slow decline" in place
    assert f'"anchor":"{first}","slow_decline":-0.' in events
    assert text in ended.comment
    assert report.spending.by_party["baseline"] > 0, "the earlier version was run beside today's"

    live.git.git("checkout", "-q", "-b", "change")
    third = live.git.commit({"prompts/asks_0.md": "Be very friendly."})
    change = await branch.gate(live.pull_request(second, third))
    assert f"(`{short_commit(second)}`) confirmed that its mean score is" in change.comment, change.printed
    assert report_of(change).verdict.decline is None
