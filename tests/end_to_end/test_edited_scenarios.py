"""A change of the system that edits every scenario which would compare it does not pass by itself."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.git_repository import GitRepository
from tests.support.github_server import GithubState, github_server
from tests.support.github_state import Pull
from tests.support.in_process_repository import run_here
from tests.support.pull_request_events import pull_request_event
from tests.support.small_repository import Ended, SmallRepository

CONFIG = "system:\n  adapter: bot:answer\n  database: false\n"
GOOD = "def answer(message):\n    return {'text': 'Your massage is booked.', 'state': 'SAID'}\n"
WORSE = GOOD.replace("Your massage is booked.", "Massage.")
SCENARIO = """\
id: booking
language: fr
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns:
  - user: A massage please
    expect: {answer: Your massage is booked., state: SAID}
assertions: [{metric: CharacterSimilarityMetric, threshold: 0.05}]
"""
BASE: dict[str, str | None] = {
    ".github/ratiba.yml": CONFIG,
    "bot.py": GOOD,
    "scenarios/booking.yaml": SCENARIO,
    "README.md": "# Bot\n",
}
OTHER = SCENARIO.replace("booking", "second", 1)

Files = dict[str, str | None]


class Change:
    """A pull request in a small repository, with a stand-in for GitHub."""

    def __init__(self, small: SmallRepository, state: GithubState, folder: Path) -> None:
        self.small, self.state, self._event = small, state, folder / "event.json"
        self.base = self.head = ""

    def propose(self, files: Files, base: Files) -> None:
        git = GitRepository(self.small.folder)
        self.base, self.head = git.commit(BASE | base), git.commit(files)

    def run(self, event: str, payload: dict[str, object], **environment: str) -> Ended:
        payload.setdefault("repository", {"full_name": "salon/assistant", "default_branch": "main"})
        self._event.write_text(json.dumps(payload))
        self.small.environment.update(environment)
        return self.small.gate("--mode", "blocking", "--event", str(self._event), "--event-name", event)

    def as_pull_request(self, **environment: str) -> Ended:
        return self.run("pull_request", pull_request_event(self.base, self.head), **environment)

    def by_hand(self, commit: str) -> Ended:
        self.state.pulls[7] = Pull(self.head, base=self.base, files=("x",))
        return self.run("workflow_dispatch", {"inputs": {"pull-request": "7", "commit": commit}})


@pytest.fixture
def change(tmp_path: Path) -> Iterator[Change]:
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    small = SmallRepository(tmp_path / "repository", tmp_path / "report", environment | {"NO_COLOR": "1"}, run_here)
    state = GithubState()
    with github_server(state) as api:
        small.environment.update(
            GITHUB_API_URL=api, GITHUB_REPOSITORY="salon/assistant", GITHUB_TOKEN="a-token", RATIBA_COMMENT="false"
        )
        yield Change(small, state, tmp_path)


def edited(old: str, new: str) -> Files:
    assert old in SCENARIO
    return {"scenarios/booking.yaml": SCENARIO.replace(old, new)}


WORDS = edited("A massage please", "A massage, please")
RENAMED: Files = {"scenarios/booking.yaml": SCENARIO.replace("id: booking", "id: renamed")}
WORSE_SYSTEM: Files = {"bot.py": WORSE}
SECOND: Files = {"scenarios/second.yaml": OTHER}
ALL, NONE = "with every scenario changed in this PR", ""

TABLE: dict[str, tuple[Files, Files, str, str]] = {
    # What the change edits, what its base has besides, the conclusion, and what the headline says.
    "the system alone": (WORSE_SYSTEM, {}, "failed", NONE),
    "and what a state must be": (WORSE_SYSTEM | edited(", state: SAID", ""), {}, "failed", NONE),
    "and a further rule": (
        WORSE_SYSTEM | edited("assertions:", "rules: [{type: must_not_contain, value: zzz}]\nassertions:"),
        {},
        "failed",
        NONE,
    ),
    "and a tag, a mark, where it came from": (
        WORSE_SYSTEM | edited("language:", "tags: [x]\nprovenance: {source: by hand}\nlanguage:"),
        {},
        "failed",
        NONE,
    ),
    "and a threshold": (WORSE_SYSTEM | edited("threshold: 0.05", "threshold: 0.06"), {}, "failed", NONE),
    "and what the customer says": (WORSE_SYSTEM | WORDS, {}, "incomplete", ALL),
    "and what is compared with": (WORSE_SYSTEM | edited("booked.,", "done.,"), {}, "incomplete", ALL),
    "and the clock": (WORSE_SYSTEM | edited("10:00:00", "10:00:01"), {}, "incomplete", ALL),
    "and a name": (WORSE_SYSTEM | RENAMED, {}, "incomplete", ALL),
    "and one of two": (WORSE_SYSTEM | WORDS, SECOND, "failed", "with 1 of 2 scenarios changed in this PR"),
    "and one of two, the other removed": (
        WORSE_SYSTEM | WORDS | {"scenarios/second.yaml": None},
        SECOND,
        "incomplete",
        ALL,
    ),
    "a variable of the system, and every scenario": (
        {".github/ratiba.yml": f"{CONFIG}  environment: {{MODEL: small}}\n", **WORDS},
        {},
        "incomplete",
        ALL,
    ),
    "every scenario alone": (WORDS, {}, "passed", ALL),
    "every scenario and the documentation": (WORDS | {"README.md": "# A bot\n"}, {}, "passed", ALL),
    "every scenario and a limit": (WORDS | {".github/ratiba.yml": f"{CONFIG}pass_rate: 0.9\n"}, {}, "passed", ALL),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_a_change_leaves_to_compare_by_decides(change: Change, name: str) -> None:
    files, base, conclusion, headline = TABLE[name]
    change.propose(files, base)
    ended = change.as_pull_request()
    assert ended.outputs["conclusion"] == conclusion, ended.printed
    assert ended.code == {"failed": 1, "incomplete": 3, "passed": 0}[conclusion]
    first = next(line[2:] for line in ended.comment.splitlines() if line.startswith("> ## "))
    assert headline in first
    assert ("changed in this PR" in first) == bool(headline)
    if conclusion == "failed":
        assert "The mean score fell by" in ended.results["report"]["verdict"]["reason"]
    if conclusion == "incomplete":
        verdict = ended.results["report"]["verdict"]
        assert "nothing shows that the system is no worse" in verdict["reason"]
        assert f"pull-request: 7 and commit: {change.head}" in verdict["action"]


def test_a_manual_run_on_that_head_commit_confirms_it(change: Change) -> None:
    change.propose(WORSE_SYSTEM | WORDS, {})
    assert change.by_hand(change.base).outputs["conclusion"] == "incomplete"
    confirmed = change.by_hand(change.head)
    assert (confirmed.code, confirmed.outputs["conclusion"]) == (0, "passed"), confirmed.printed
    assert ALL in confirmed.comment


def test_a_comparison_that_the_workflow_switches_off_is_not_missed(change: Change) -> None:
    change.propose(WORSE_SYSTEM | WORDS, {})
    ended = change.as_pull_request(RATIBA_BASELINE="none")
    assert (ended.code, ended.outputs["conclusion"]) == (0, "passed"), ended.printed
    assert "changed in this PR" not in ended.comment
