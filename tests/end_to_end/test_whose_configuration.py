"""Under each event of GitHub: whose configuration decides where the run's keys are sent.

The change names an address of its own for the judge's key. Behind it stands a server that notes what it is sent.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.end_to_end.test_providers import BLOCKS, JUDGES_KEY, RATES, configure
from tests.support.github_server import Fault, GithubState, Pull, github_server
from tests.support.live_repository import LiveRepository, Talk
from tests.support.model_servers import ModelServer
from tests.support.pull_request_events import pull_request_event, pull_request_payload, workflow_run_event
from tests.support.small_repository import Ended

NOBODY = "0" * 40
NO_COMMIT = "c" * 40
TOKEN = "planted-github-token"
COMMENT = {"issue": {"number": 7, "pull_request": {}}, "comment": {"body": "/eval"}}


@dataclass
class Attacked:
    """A checkout of a change whose configuration sends the judge's key to a thief.

    Args:
        main: commit of the default branch, whose configuration is honest.
        first: the change's own commit before.
        head: commit of the change, which is checked out.
    """

    live: LiveRepository
    judges: ModelServer
    thief: ModelServer
    github: GithubState
    main: str
    first: str
    head: str

    async def gate(self, name: str, event: dict[str, Any], command: str = "gate") -> Ended:
        """Run a command for an event as a workflow does."""
        path = self.live.home / "event.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        repository = {"full_name": "salon/assistant", "default_branch": "main"}
        path.write_text(json.dumps({"repository": repository, **event}))
        with github_server(self.github) as address:
            self.live.small.environment.update(
                GITHUB_ACTIONS="true",
                GITHUB_EVENT_NAME=name,
                GITHUB_EVENT_PATH=str(path),
                GITHUB_REPOSITORY="salon/assistant",
                GITHUB_RUN_ID="1001",
                GITHUB_API_URL=address,
                RATIBA_GITHUB_TOKEN=TOKEN,
                ELSEWHERE_API_KEY=JUDGES_KEY,
            )
            return await self.live.gate() if command == "gate" else await self.live.try_to_record()

    @property
    def keys_of_thief(self) -> set[str]:
        """What the thief was sent."""
        return {received.headers.get("authorization", "") for received in self.thief.received}


@pytest.fixture
async def attacked(live: LiveRepository) -> AsyncIterator[Attacked]:
    """The change is checked out on a branch of its own."""
    async with ModelServer(Talk(), JUDGES_KEY, RATES) as judges, ModelServer(Talk(), JUDGES_KEY, RATES) as thief:
        configure(live, BLOCKS["openai"].replace("URL", judges.url))
        main = live.git.git("rev-parse", "HEAD")
        live.git.git("switch", "--quiet", "--create", "change")
        configure(live, BLOCKS["openai"].replace("URL", thief.url))
        first = live.small.commit()
        head = live.git.commit({"prompts/greeting.md": "Be kind."})
        pulls = {7: Pull(head, main, files=(".github/ratiba.yml", "prompts/greeting.md"))}
        github = GithubState(pulls=pulls, branches={"main": main}, clone=live.small.folder)
        yield Attacked(live, judges, thief, github, main, first, head)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "issue_comment": (COMMENT, "'workflow_dispatch'"),
    "workflow_run": (workflow_run_event(NO_COMMIT), "'pull_request'"),
    "pull_request_review_comment": ({"pull_request": pull_request_payload(NO_COMMIT, NOBODY)}, "'pull_request_review'"),
    "repository_dispatch": ({"action": "eval", "client_payload": {}}, "'workflow_dispatch'"),
    "Pull_Request": (pull_request_event(NO_COMMIT, NOBODY), "'pull_request'"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_an_event_that_names_no_base_is_refused_with_the_event_that_serves(attacked: Attacked, name: str) -> None:
    payload, serves = REFUSED[name]
    ended = await attacked.gate(name, payload)
    assert ended.code == 2, ended.printed
    assert f"The event {name!r} is refused" in ended.printed
    assert serves in ended.comment
    assert (attacked.thief.received, attacked.judges.received, attacked.live.models.received) == ((), (), ())


def events_of(main: str, first: str, head: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Events of the change that may run; the first ones name no base that is merged."""
    branch = {"ref": "refs/heads/change", "after": head}
    return {
        "a new branch": ("push", {**branch, "before": NOBODY}),
        "a push without before": ("push", branch),
        "a second push": ("push", {**branch, "before": first}),
        "a tag": ("push", {"ref": "refs/tags/v1", "before": NOBODY, "after": head}),
        "by hand": ("workflow_dispatch", {"ref": "refs/heads/change", "inputs": {}}),
        "a schedule on another branch": ("schedule", {"schedule": "0 3 * * *"}),
        "a merge group without its base": (
            "merge_group",
            {"merge_group": {"base_sha": NO_COMMIT, "head_sha": head, "base_ref": "refs/heads/main"}},
        ),
        "a review": ("pull_request_review", pull_request_event(main, head)),
        "by hand for a pull request": (
            "workflow_dispatch",
            {"ref": "refs/heads/main", "inputs": {"pull-request": "7"}},
        ),
    }


WITHOUT_BASE = tuple(events_of("", "", ""))[:7]


@pytest.mark.parametrize("which", ["a tag", "a merge group without its base", "a review", "by hand for a pull request"])
async def test_the_keys_go_where_the_merged_configuration_says(attacked: Attacked, which: str) -> None:
    name, payload = events_of(attacked.main, attacked.first, attacked.head)[which]
    ended = await attacked.gate(name, payload)
    assert attacked.keys_of_thief == set(), ended.printed
    assert {received.headers["authorization"] for received in attacked.judges.received} == {f"Bearer {JUDGES_KEY}"}
    assert attacked.live.models.received, ended.printed


@pytest.mark.parametrize("which", WITHOUT_BASE)
async def test_where_github_does_not_say_what_is_merged_no_key_is_used(attacked: Attacked, which: str) -> None:
    name, payload = events_of(attacked.main, attacked.first, attacked.head)[which]
    attacked.github.faults.append(Fault(path="/branches/", times=99, status=404))
    ended = await attacked.gate(name, payload)
    assert ended.code == 3, ended.printed
    without_base = "This change cannot be compared with its base" if which == "a merge group without its base" else ""
    assert (without_base or "nobody has merged this configuration") in ended.comment
    assert (attacked.thief.received, attacked.judges.received, attacked.live.models.received) == ((), (), ())


async def test_the_same_of_a_command_that_records(attacked: Attacked) -> None:
    attacked.github.faults.append(Fault(path="/branches/", times=99, status=404))
    ended = await attacked.gate("push", {"ref": "refs/tags/v1", "before": NOBODY, "after": attacked.head}, "record")
    assert ended.code == 3, ended.printed
    assert "nobody has merged this configuration" in ended.printed
    assert (attacked.thief.received, attacked.judges.received, attacked.live.models.received) == ((), (), ())


async def test_a_clone_that_lacks_the_default_branchs_commit_has_no_key(attacked: Attacked) -> None:
    attacked.github.branches["main"] = NO_COMMIT
    attacked.github.ancestors.add((NO_COMMIT, attacked.head))
    ended = await attacked.gate("push", {"ref": "refs/tags/v1", "before": NOBODY, "after": attacked.head})
    assert ended.code == 3, ended.printed
    assert "Check out with fetch-depth: 0" in ended.comment
    assert (attacked.thief.received, attacked.live.models.received) == ((), ())


@pytest.mark.parametrize("name", ["push", "schedule"])
async def test_a_run_of_the_default_branch_uses_its_own_configuration_and_keys(attacked: Attacked, name: str) -> None:
    """It is merged: whoever let it in has read it, and what the judges' address is now was decided with it."""
    attacked.github.branches["main"] = attacked.head
    payloads: dict[str, dict[str, Any]] = {
        "push": {"ref": "refs/heads/main", "before": NOBODY, "after": attacked.head},
        "schedule": {"schedule": "0 3 * * *"},
    }
    ended = await attacked.gate(name, payloads[name])
    assert attacked.keys_of_thief == {f"Bearer {JUDGES_KEY}"}, ended.printed
