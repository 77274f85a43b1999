"""What goes wrong on a runner leaves an exit code, a reason, and where it can a comment."""

import pytest

from tests.support.act import Act
from tests.support.act_run import ActRun
from tests.support.bots import DEPENDABOT, bot_event
from tests.support.consumer_repository import NAME, PROMPT, ConsumerRepository, Repositories
from tests.support.github_server import GithubState, Pull, github_server
from tests.support.second_workflow import published
from tests.support.workflow_for_act import Adjustments

pytestmark = pytest.mark.docker


def evaluated(
    act: Act, repository: ConsumerRepository, github: GithubState, *before: str, inputs: dict[str, str] | None = None
) -> ActRun:
    """A run for a pull request that edits a prompt."""
    if repository.head == repository.base:
        repository.propose({PROMPT: "Say Bonjour, warmly.\n"})
    github.heads[7] = repository.head
    with github_server(github) as api:
        event = repository.pull_request_event()
        return act.run(repository, "pull_request", event, api, adjustments=Adjustments(inputs or {}, {}, before))


def test_live_answers_for_dependabot_who_has_no_key_are_incomplete_and_red_and_the_second_workflow_says_why(
    act: Act, repositories: Repositories
) -> None:
    branch, files = "dependabot/pip/openai-2.53.0", ("requirements.txt",)
    repository = repositories.small(more={files[0]: "openai==1.109.1\n"})
    repository.propose({files[0]: "openai==2.53.0\n"})
    pull = Pull(repository.head, repository.base, branch, author=DEPENDABOT, title="Bump openai", files=files)
    github = GithubState(pulls={7: pull}, writable=False)
    with github_server(github) as api:
        run = act.run(repository, "pull_request", bot_event(pull), api, adjustments=Adjustments({"llm": "live"}))
        assert run.exit_codes["conclude"] == 3, run.printed
        assert (run.outputs["mode"], run.outputs["conclusion"]) == ("blocking", "incomplete")
        assert "A fork's run and Dependabot's get none" in run.summary.replace("’", "'")
        assert github.comments == []
        github.writable = True
        own = {"head_branch": branch, "head_repository": {"full_name": NAME}}
        second = published(act, repositories.small(), run, api, repository.head, **own)
    assert second.code == 0, second.printed
    (comment,) = github.comments
    assert "## Incomplete" in comment["body"]
    assert "key" in comment["body"]


def test_an_image_that_does_not_exist_is_named_and_leaves_a_comment(act: Act, repositories: Repositories) -> None:
    github = GithubState()
    image = "localhost:1/nobody/has-this:v0"
    run = evaluated(act, repositories.small(), github, inputs={"image": image})
    assert run.code == 1
    assert run.exit_codes["conclude"] == 3, run.printed
    assert run.outputs["conclusion"] == "incomplete"
    assert image in " ".join(note.message for note in run.annotations)
    (comment,) = github.comments
    assert "image" in comment["body"]


def test_a_wrong_input_is_reported_before_any_container_is_made(act: Act, repositories: Repositories) -> None:
    github = GithubState()
    run = evaluated(act, repositories.small(), github, inputs={"budget-usd": "-1"})
    assert run.exit_codes["decide"] == 2, run.printed
    assert "evaluate" not in run.exit_codes
    assert "'-1'" in " ".join(note.message for note in run.annotations)


def test_text_of_a_stranger_is_neither_executed_nor_obeyed(act: Act, repositories: Repositories) -> None:
    planted = "x::set-output name=mode::skip\n::set-output name=mode::skip\n##[set-output name=mode;]skip\n`touch y`"
    repository = repositories.small(
        message="say ::error::planted ##[set-output name=passed;]99 ::set-output name=passed::99"
    )
    repository.propose({PROMPT: "Say Bonjour, warmly.\n"})
    github = GithubState(heads={7: repository.head})
    head = {"ref": "$(touch x)`touch x`;touch x", "sha": repository.head, "repo": {"full_name": "salon/assistant"}}
    with github_server(github) as api:
        event = repository.pull_request_event(title=planted, head=head, body=planted, user={"login": "a`b\n::error::c"})
        run = act.run(repository, "pull_request", event, api)
    assert run.code == 0, run.printed
    assert (run.outputs["mode"], run.outputs["passed"]) == ("blocking", "1")
    assert [note for note in run.annotations if "planted" in note.message or note.message == "c"] == []
    left = {name for name in run.files() if not name.startswith("ratiba-report/")}
    assert left == set(repository.files())


def test_a_checkout_of_another_user_stays_with_that_user(act: Act, repositories: Repositories) -> None:
    repository = repositories.small()
    run = evaluated(act, repository, GithubState(), 'chown --recursive 4321:4322 "$GITHUB_WORKSPACE"')
    assert run.code == 0, run.printed
    assert run.owners() == {(4321, 4322)}
    assert "ratiba-report/results.json" in run.files()
