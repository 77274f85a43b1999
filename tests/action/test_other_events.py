"""Runs that no push to a pull request started: by hand, and of a merge queue."""

import pytest

from tests.support.act import Act
from tests.support.consumer_repository import PROMPT, Repositories
from tests.support.github_server import GithubState, Pull, github_server
from tests.support.small_repository import SCENARIO

pytestmark = pytest.mark.docker


def test_a_run_by_hand_updates_the_comment_of_the_pull_request_and_sets_a_status(
    act: Act, repositories: Repositories
) -> None:
    code = "bakery.py"
    smoke = SCENARIO.format(name="greeting", turns="  - {user: say Bonjour, expect: {state: SAID}}") + "tags: [smoke]\n"
    repository = repositories.small(more={"scenarios/greeting.yaml": smoke})
    repository.propose({code: "OPEN = True\n"})
    github = GithubState(pulls={7: Pull(repository.head, repository.base, files=(code,))})
    with github_server(github) as api:
        event = repository.pull_request_event()
        first = act.run(repository, "pull_request", event, api, variables={"GITHUB_RUN_ID": "41"})
        assert first.code == 0, first.printed
        assert (first.outputs["mode"], first.outputs["passed"]) == ("advisory", "1")
        assert github.statuses == []
        event = repository.dispatch_event(**{"pull-request": "7", "mode": "blocking", "commit": ""})
        again = act.run(repository, "workflow_dispatch", event, api, variables={"GITHUB_RUN_ID": "42"})
    assert again.code == 0, again.printed
    (comment,) = github.comments
    assert " run=42 " in comment["body"].splitlines()[0]
    assert "The last 2 runs on this pull request" in comment["body"]
    assert again.outputs["comment-url"] == first.outputs["comment-url"]
    assert (again.outputs["mode"], again.outputs["passed"]) == ("blocking", "1")
    (status,) = github.statuses
    assert (status["sha"], status["state"]) == (repository.head, "success")


def test_a_merge_queue_is_judged_by_its_own_commits(act: Act, repositories: Repositories) -> None:
    repository = repositories.small(expect="BOOKED")
    repository.propose({PROMPT: "Say Bonjour, warmly.\n"})
    github = GithubState()
    with github_server(github) as api:
        run = act.run(repository, "merge_group", repository.merge_group_event(), api)
    assert run.exit_codes["conclude"] == 1, run.printed
    assert (run.outputs["mode"], run.outputs["conclusion"]) == ("blocking", "failed")
    assert github.comments == []
    assert "## Failed" in run.summary
