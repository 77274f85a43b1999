"""A fork's pull request: its own run may only read, and the second workflow posts what it has left."""

import base64

import pytest

from tests.support.act import ACTION, Act
from tests.support.consumer_repository import NAME, PROMPT, Repositories
from tests.support.github_server import GithubState, Pull, github_server
from tests.support.pull_request_events import workflow_run_event
from tests.support.workflow_for_act import Adjustments

pytestmark = pytest.mark.docker
FORK = "other/assistant"
WORKFLOW = ".github/workflows/publish-fork-report.yml"


def test_a_forks_run_says_what_to_do_and_the_second_workflow_posts_its_report(
    act: Act, repositories: Repositories
) -> None:
    repository = repositories.small(expect="BOOKED")
    text = (repositories.project / "examples/workflows/publish-fork-report.yml").read_text(encoding="utf-8")
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
        results = base64.b64encode(first.files()["ratiba-report/results.json"]).decode()
        download = f"mkdir fork-report && base64 --decode >fork-report/results.json <<<{results}"
        github.writable = True
        publishing = repositories.small()
        publishing.write(WORKFLOW, text.replace("@COMMIT", f"@{ACTION.partition('@')[2]}"))
        event = workflow_run_event(repository.head, id=1, run_attempt=1, head_repository={"full_name": FORK})
        event["repository"] = {"full_name": NAME}
        adjustments = Adjustments(before=(download,))
        second = act.run(publishing, "workflow_run", event, api, workflow=WORKFLOW, adjustments=adjustments)
    assert second.code == 0, second.printed
    assert second.jobs == {"publish": "success"}
    (comment,) = github.comments
    assert "## Failed" in comment["body"]
    assert f"head={repository.head} run=1 " in comment["body"]
