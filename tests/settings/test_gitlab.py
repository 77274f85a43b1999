"""A job of GitLab by its variables, and what is decided of it."""

from pathlib import Path

import pytest

from ratiba_action.decide.deciding import Decided, decide, event_of
from ratiba_action.model.change import Mode
from ratiba_action.settings.gitlab import gitlab_job
from ratiba_action.settings.settings import read_settings, unknown_variables
from tests.support.git_repository import GitRepository

JOB = {
    "GITLAB_CI": "true",
    "CI_API_V4_URL": "https://gitlab.example/api/v4",
    "CI_PROJECT_PATH": "shops/spa/assistant",
    "CI_PROJECT_URL": "https://gitlab.example/shops/spa/assistant",
    "CI_DEFAULT_BRANCH": "main",
    "CI_JOB_ID": "12345678901",
    "CI_JOB_URL": "https://gitlab.example/shops/spa/assistant/-/jobs/12345678901",
}
MERGE_REQUEST = JOB | {
    "CI_PIPELINE_SOURCE": "merge_request_event",
    "CI_MERGE_REQUEST_IID": "7",
    "CI_MERGE_REQUEST_TITLE": "Warmer greetings",
    "CI_MERGE_REQUEST_PROJECT_PATH": "shops/spa/assistant",
    "CI_MERGE_REQUEST_PROJECT_URL": "https://gitlab.example/shops/spa/assistant",
    "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "shops/spa/assistant",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
}


def decided(repository: GitRepository, **variables: str) -> Decided:
    environment = {**repository.environment, **variables}
    return decide(event_of(environment, repository.folder), environment)


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    repository = GitRepository(tmp_path / "repository")
    repository.commit({"README.md": "# One\n", "prompts/greeting.md": "Say hello.\n"})
    return repository


def test_outside_gitlab_there_is_no_job() -> None:
    assert gitlab_job({}) is None
    assert gitlab_job({"GITLAB_CI": "true", "GITHUB_ACTIONS": "true"}) is None


@pytest.mark.parametrize(
    ("path", "mode"), [("prompts/greeting.md", Mode.BLOCKING), ("src/shop.py", Mode.ADVISORY), ("README.md", Mode.SKIP)]
)
def test_a_merge_request_is_decided_from_its_merge_base(repository: GitRepository, path: str, mode: Mode) -> None:
    base = repository.git("rev-parse", "HEAD")
    head = repository.commit({path: "changed\n"})
    found = decided(repository, **MERGE_REQUEST, CI_MERGE_REQUEST_DIFF_BASE_SHA=base, CI_COMMIT_SHA=head)
    assert found.decision.mode is mode
    subject = found.change.subject
    assert (subject.repository, subject.pull_request, subject.head, subject.base) == (
        "shops/spa/assistant",
        7,
        head,
        base,
    )
    assert (subject.base_branch, subject.event, subject.title) == ("main", "pull_request", "Warmer greetings")
    assert (subject.run_id, subject.run_url) == (12345678901, JOB["CI_JOB_URL"])
    assert not found.change.fork


def test_a_merge_request_from_a_fork_is_one(repository: GitRepository) -> None:
    base, head = repository.git("rev-parse", "HEAD"), repository.commit({"README.md": "# Two\n"})
    variables = MERGE_REQUEST | {"CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "mallory/assistant"}
    found = decided(repository, **variables, CI_MERGE_REQUEST_DIFF_BASE_SHA=base, CI_COMMIT_SHA=head)
    assert found.change.fork


@pytest.mark.parametrize(
    ("base", "message"), [("0f" * 20, 'GIT_DEPTH: "0"'), ("--output=x", "not a commit id"), ("", "not a commit id")]
)
def test_a_merge_base_that_is_not_there_is_a_doubt_and_so_blocking(
    repository: GitRepository, base: str, message: str
) -> None:
    head = repository.commit({"README.md": "# Two\n"})
    found = decided(repository, **MERGE_REQUEST, CI_MERGE_REQUEST_DIFF_BASE_SHA=base, CI_COMMIT_SHA=head)
    assert found.decision.mode is Mode.BLOCKING
    assert message in str(found.change.files.doubt)


def test_a_push_is_what_it_brought_and_every_other_pipeline_runs_everything(repository: GitRepository) -> None:
    before, after = repository.git("rev-parse", "HEAD"), repository.commit({"README.md": "# Two\n"})
    push = JOB | {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main"}
    found = decided(repository, **push, CI_COMMIT_BEFORE_SHA=before, CI_COMMIT_SHA=after)
    assert found.decision.mode is Mode.SKIP
    assert (found.change.subject.branch, found.change.merged, found.change.on_default_branch) == ("main", True, True)
    elsewhere = push | {"CI_COMMIT_BRANCH": "feature"}
    feature = decided(repository, **elsewhere, CI_COMMIT_BEFORE_SHA=before, CI_COMMIT_SHA=after)
    assert not feature.change.on_default_branch
    for source in ("schedule", "web", "external", ""):
        other = decided(repository, **(push | {"CI_PIPELINE_SOURCE": source}))
        assert (other.decision.mode, other.change.on_default_branch) == (Mode.BLOCKING, True)
    new = decided(repository, **push, CI_COMMIT_BEFORE_SHA="0" * 40, CI_COMMIT_SHA=after)
    assert new.decision.mode is Mode.BLOCKING


def test_an_event_of_the_command_line_comes_first(tmp_path: Path) -> None:
    event = event_of(MERGE_REQUEST, tmp_path, "event.json", "push")
    assert (event.event_name, event.payload) == ("push", None)
    assert event_of(MERGE_REQUEST, tmp_path).event_name == "pull_request"


def test_the_token_is_a_secret_and_no_unknown_variable() -> None:
    settings = read_settings({"RATIBA_GITLAB_TOKEN": "glpat-PLANTED"}, {})
    assert settings.secrets == ("glpat-PLANTED",)
    assert "PLANTED" not in repr(settings)
    assert unknown_variables({"RATIBA_GITLAB_TOKEN": "glpat-PLANTED"}) == ()
