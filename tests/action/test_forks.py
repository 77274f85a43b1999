"""A fork's pull request: its own run may only read, and the second workflow posts what it has left."""

import pytest

from tests.support.act import Act
from tests.support.consumer_repository import PROMPT, Repositories
from tests.support.github_server import GithubState, Pull, github_server
from tests.support.second_workflow import published

pytestmark = pytest.mark.docker
FORK = "other/assistant"


def test_a_forks_run_says_what_to_do_and_the_second_workflow_posts_its_report(
    act: Act, repositories: Repositories
) -> None:
    repository = repositories.small(expect="BOOKED")
    repository.propose({PROMPT: "Say Bonjour, warmly.\n"})
    head = {"sha": repository.head, "ref": "change", "repo": {"full_name": FORK}}
    pull = Pull(repository.head, repository.base, head_repository=FORK)
    github = GithubState(pulls={7: pull}, writable=False)
    with github_server(github) as api:
        first = act.run(repository, "pull_request", repository.pull_request_event(head=head), api)
        assert first.exit_codes["conclude"] == 1, first.printed
        assert github.comments == []
        assert "## Failed" in first.summary
        warnings = " ".join(note.message for note in first.annotations if note.level == "warning")
        assert "pull-requests: write" in warnings
        assert "second workflow" in warnings
        github.writable = True
        fork = {"full_name": FORK}
        second = published(act, repositories.small(), first, api, repository.head, head_repository=fork)
    assert second.code == 0, second.printed
    assert second.jobs == {"publish": "success"}
    (comment,) = github.comments
    assert "## Failed" in comment["body"]
    assert f"head={repository.head} run=1 " in comment["body"]
