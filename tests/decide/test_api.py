"""What changed, asked of GitHub where git cannot tell."""

from collections.abc import Iterator
from typing import Any

import pytest

from ratiba_action.decide.read import Change, PullRequestApi, read_change
from ratiba_action.errors import InfrastructureError
from ratiba_action.model.change import ChangedFiles
from tests.support.git_repository import GitRepository
from tests.support.github_server import GithubState, Pull, github_server
from tests.support.pull_request_events import pull_request_event

pytestmark = pytest.mark.usefixtures("short_waits")

Environment = dict[str, str]
NO_COMMIT = "c" * 40
FILES = "/repos/salon/assistant/pulls/7/files?per_page=100"


@pytest.fixture
def head(repository: GitRepository) -> str:
    return repository.commit({"app.py": "1"})


@pytest.fixture
def state() -> GithubState:
    return GithubState()


@pytest.fixture
def api(state: GithubState, environment: Environment) -> Iterator[Environment]:
    with github_server(state) as address:
        yield {
            **environment,
            "GITHUB_API_URL": address,
            "GITHUB_TOKEN": "secret-token",
            "GITHUB_REPOSITORY": "salon/assistant",
        }


def read(repository: GitRepository, head: str, files: int, environment: Environment) -> ChangedFiles:
    """The change of a pull request whose base is not in the clone."""
    event = pull_request_event(NO_COMMIT, head, files=files)
    return read_change("pull_request", event, repository.folder, environment).files


def test_a_clone_without_the_base_asks_the_api_for_every_page(
    repository: GitRepository, head: str, state: GithubState, api: Environment
) -> None:
    names = tuple(f"docs/{number}.md" for number in range(200))
    state.pulls[7] = Pull(head, files=(*names, ("docs/new.md", "prompts/old.md")))
    changed = read(repository, head, 201, api)
    assert set(changed.paths) == {*names, "docs/new.md", "prompts/old.md"}
    assert changed.doubt is None
    assert len(state.requests) == 3
    assert {request.headers["authorization"] for request in state.received} == {"Bearer secret-token"}


@pytest.mark.parametrize(
    "answer",
    [
        [{"filename": "a"}],
        [{"filename": "a"}, {"filename": "b"}, {"filename": "c"}],
        {"message": "no"},
        [{"filename": 3}, {}],
        ["a", "b"],
        None,
    ],
)
def test_an_answer_that_is_not_the_whole_list_is_a_doubt(
    repository: GitRepository, head: str, state: GithubState, api: Environment, answer: Any
) -> None:
    state.answers[FILES] = answer
    assert read(repository, head, 2, api).doubt


def test_a_pull_request_that_github_does_not_know_is_a_doubt(
    repository: GitRepository, head: str, api: Environment
) -> None:
    assert "404" in str(read(repository, head, 2, api).doubt)


def test_a_list_at_the_cap_of_the_api_is_a_doubt(
    repository: GitRepository, head: str, state: GithubState, api: Environment
) -> None:
    state.pulls[7] = Pull(head, files=tuple(f"{number}" for number in range(3_000)))
    assert "3000" in str(read(repository, head, 3_000, api).doubt)


def test_a_list_that_github_cuts_off_is_a_doubt(
    repository: GitRepository, head: str, state: GithubState, api: Environment
) -> None:
    state.pulls[7] = Pull(head, files=tuple(f"{number}" for number in range(3_400)))
    assert "3000 files of the pull request's 3400" in str(read(repository, head, 3_400, api).doubt)


def test_the_token_does_not_follow_a_redirect(
    repository: GitRepository, head: str, state: GithubState, api: Environment
) -> None:
    elsewhere = GithubState()
    with github_server(elsewhere) as thief:
        state.failure, state.failure_headers = (302, "Found"), {"Location": f"{thief}/user"}
        changed = read(repository, head, 1, api)
    assert "redirect" in str(changed.doubt)
    assert (len(state.requests), elsewhere.requests) == (1, [])


def test_the_token_is_not_sent_without_encryption(repository: GitRepository, head: str, api: Environment) -> None:
    doubt = str(read(repository, head, 1, {**api, "GITHUB_API_URL": "http://api.example"}).doubt)
    assert "https" in doubt
    assert "secret-token" not in doubt


@pytest.mark.parametrize("missing", ["GITHUB_TOKEN", "GITHUB_API_URL", "GITHUB_REPOSITORY"])
def test_without_token_address_or_repository_it_says_what_to_give(missing: str, api: Environment) -> None:
    without = {name: value for name, value in api.items() if name != missing}
    with pytest.raises(InfrastructureError, match=missing):
        PullRequestApi(without).pull_request(7)


def dispatch(repository: GitRepository, api: Environment, **inputs: str) -> Change:
    event = {"inputs": {"pull-request": "7", **inputs}, "repository": {"full_name": "salon/assistant"}}
    return read_change("workflow_dispatch", event, repository.folder, api)


def test_a_manual_run_about_a_pull_request_asks_the_api_what_it_is(
    repository: GitRepository, head: str, state: GithubState, api: Environment
) -> None:
    repository.git("checkout", "--quiet", "-b", "feature")
    newer = repository.commit({"app.py": "2"})
    state.pulls[7] = Pull(newer, base=head, files=("app.py",))
    change = dispatch(repository, api)
    assert (change.files.paths, change.files.doubt) == (("app.py",), None)
    subject = change.subject
    assert (subject.pull_request, subject.author, subject.event) == (7, "wanjiku", "workflow_dispatch")
    assert not change.fork


def test_a_head_that_has_moved_on_is_not_what_was_evaluated(
    repository: GitRepository, head: str, state: GithubState, api: Environment
) -> None:
    state.pulls[7] = Pull("f" * 40, base=head, files=("app.py",))
    change = dispatch(repository, api)
    assert change.subject.head == head
    assert "neither" in str(change.files.doubt)


@pytest.mark.parametrize("repository_of_head", ["other/assistant", ""])
def test_a_head_in_another_repository_or_in_one_that_is_gone_is_a_fork(
    repository: GitRepository, head: str, state: GithubState, api: Environment, repository_of_head: str
) -> None:
    state.pulls[7] = Pull(head, base=head, head_repository=repository_of_head)
    assert dispatch(repository, api).fork


@pytest.mark.parametrize("read", ["", "e" * 40])
def test_a_manual_run_of_a_fork_is_refused_unless_it_names_the_head_that_was_read(
    repository: GitRepository, head: str, state: GithubState, api: Environment, read: str
) -> None:
    state.pulls[7] = Pull(head, base=head, head_repository="other/assistant")
    refused = dispatch(repository, api, commit=read).refused
    assert refused is not None
    assert "names the head commit that was read" in refused.problem
    assert dispatch(repository, api, commit=head).refused is None


def test_a_manual_run_of_the_repositorys_own_pull_request_needs_no_commit(
    repository: GitRepository, head: str, state: GithubState, api: Environment
) -> None:
    state.pulls[7] = Pull(head, base=head)
    assert dispatch(repository, api).refused is None


def test_a_manual_run_whose_pull_request_cannot_be_read_is_refused_since_it_may_be_a_forks(
    repository: GitRepository, head: str, state: GithubState, api: Environment
) -> None:
    state.pulls[7] = Pull(head, base=head, head_repository="other/assistant")
    found = {
        "no network": dispatch(repository, api | {"GITHUB_API_URL": "http://127.0.0.1:9"}, commit=head),
        "no token": dispatch(repository, api | {"GITHUB_TOKEN": ""}, commit=head),
        "no such pull request": dispatch(repository, api, **{"pull-request": "8", "commit": head}),
    }
    for change in found.values():
        assert change.refused is not None
        assert "cannot be read" in change.refused.problem
