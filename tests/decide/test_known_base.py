"""What is known of a base, whatever an event, a payload, a clone or GitHub say."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratiba_action.decide.deciding import DecideRequest, decide
from ratiba_action.decide.read import Change, read_change
from ratiba_action.decide.trusted_configuration import EVENTS, Base, Whose, whose_configuration
from ratiba_action.errors import GithubError
from ratiba_action.github.github_api import GithubApi
from ratiba_action.ports import GithubRepository
from tests.support.git_repository import GitRepository
from tests.support.pull_request_events import pull_request_event, pull_request_payload

NOTHING, NO_COMMIT = "0" * 40, "c" * 40


@dataclass
class TruthfulGithub:
    """Answers what is true of a repository whose default branch is ``trunk``; or does not answer."""

    git: GitRepository
    trunk: str
    base: str
    head: str
    answers: bool = True

    def repository(self) -> Any:
        """Asked first."""
        if not self.answers:
            raise GithubError("GitHub answered 503.")
        return {"default_branch": "trunk"}

    def branch(self, name: str) -> Any:
        """The tip of a branch."""
        tips = {"trunk": self.trunk, "change": self.head}
        if not self.answers or name not in tips:
            raise GithubError("GitHub answered 404.")
        return {"commit": {"sha": tips[name]}}

    def comparison(self, base: str, head: str) -> Any:
        """The merge base."""
        try:
            return {"merge_base_commit": {"sha": self.git.git("merge-base", base, head)}}
        except Exception as error:
            raise GithubError("GitHub answered 404.") from error

    def pull_request(self, number: int) -> Any:
        """A pull request of the change, whatever its number."""
        return {**pull_request_payload(self.base, self.head), "number": number}

    def connect(self, _: GithubApi) -> GithubRepository:
        """A client."""
        return cast("GithubRepository", self)


@dataclass
class Repository:
    """A default branch of two commits, a change of two that left it at the first, and the merge that GitHub made.

    Args:
        merged: commits of the default branch.
        own: commits of the change.
        merge: of the default branch's tip and the change.
        evil: a merge of the change's first commit and its head, which anybody can push.
    """

    git: GitRepository
    merged: tuple[str, str]
    own: tuple[str, str]
    merge: str
    evil: str
    github: TruthfulGithub

    def change(
        self, name: str, event: Mapping[str, Any] | None, at: str, environment: Mapping[str, str] | None = None
    ) -> Change:
        """What is read of an event while a commit is checked out."""
        self.git.git("checkout", "--quiet", "--detach", at)
        given = {
            **self.git.environment,
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": name,
            "GITHUB_REPOSITORY": "salon/assistant",
            "GITHUB_API_URL": "http://127.0.0.1:9",
            "GITHUB_TOKEN": "planted",
            **(environment or {}),
        }
        given = {key: value for key, value in given.items() if value}
        return read_change(name, event, self.git.folder, given, connect=self.github.connect)

    def answer(self, *arguments: Any) -> tuple[Whose, str | None]:
        """Whose configuration decides, and the base."""
        change = self.change(*arguments)
        return whose_configuration(change.known), change.files.base


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    git = GitRepository(tmp_path_factory.mktemp("repository"))
    first = git.commit({"app.py": "1"})
    git.git("checkout", "--quiet", "-b", "change")
    own = git.commit({"evil.py": "1"}), git.commit({"evil.py": "2"})
    git.git("checkout", "--quiet", "--detach", own[0])
    evil = git.merge("change")
    git.git("checkout", "--quiet", "main")
    tip = git.commit({"app.py": "2"})
    git.git("checkout", "--quiet", "--detach")
    merge = git.merge("change")
    github = TruthfulGithub(git, tip, tip, own[1])
    # A clone can call anything main, or by the name of a tag.
    git.git("branch", "--force", "main", own[1])
    git.git("tag", "trunk", own[1])
    return Repository(git, (first, tip), own, merge, evil, github)


@pytest.fixture(autouse=True)
def _answering(repo: Repository) -> None:
    repo.github.answers = True


def push(ref: str, before: str | None, after: str) -> dict[str, Any]:
    repository = {"full_name": "salon/assistant", "default_branch": ref.rpartition("/")[2]}  # whatever is true
    return {"ref": ref, "before": before, "after": after, "repository": repository}


def test_a_push_of_a_change_is_compared_with_where_it_left_the_default_branch(repo: Repository) -> None:
    first, own = repo.merged[0], repo.own
    for before in (NOTHING, None, NO_COMMIT, own[0], own[1]):
        for ref in ("refs/heads/change", "refs/heads/main", "refs/tags/v1", "refs/tags/main"):
            assert repo.answer("push", push(ref, before, own[1]), own[1]) == (Whose.BASE, first)


def test_a_push_to_the_default_branch_is_merged_whatever_was_there_before(repo: Repository) -> None:
    first, tip = repo.merged
    assert repo.answer("push", push("refs/heads/trunk", first, tip), tip) == (Whose.BASE, first)
    for before in (NOTHING, None, NO_COMMIT, repo.own[1]):
        assert repo.answer("push", push("refs/heads/trunk", before, tip), tip) == (Whose.MERGED, None)


def test_a_manual_run_and_a_schedule_go_by_what_is_checked_out(repo: Repository) -> None:
    (first, tip), own = repo.merged, repo.own
    for name, event in (("workflow_dispatch", {"inputs": {}}), ("schedule", {"schedule": "0 3 * * *"})):
        assert repo.answer(name, event, tip) == (Whose.MERGED, None)
        assert repo.answer(name, event, own[1]) == (Whose.BASE, first)


def test_a_manual_run_of_another_pull_request_is_of_that_ones_base(repo: Repository) -> None:
    event = {"inputs": {"pull-request": "8"}}
    assert repo.answer("workflow_dispatch", event, repo.merge) == (Whose.BASE, repo.merged[1])
    assert repo.answer("workflow_dispatch", event, repo.evil)[0] is Whose.NOBODY


@pytest.mark.parametrize("name", ["pull_request", "pull_request_review"])
def test_a_pull_request_names_its_base(repo: Repository, name: str) -> None:
    (first, tip), own = repo.merged, repo.own
    of_runner = {"GITHUB_SHA": repo.merge}
    assert repo.answer(name, pull_request_event(tip, own[1]), repo.merge, of_runner) == (Whose.BASE, tip)
    assert repo.answer(name, pull_request_event(first, own[1]), repo.merge, of_runner) == (Whose.BASE, tip)
    assert repo.answer(name, pull_request_event(tip, own[1]), own[1]) == (Whose.BASE, first)
    repo.github.answers = False
    assert repo.answer(name, pull_request_event(first, own[1]), repo.merge, of_runner) == (Whose.BASE, tip)


def test_a_merge_that_anybody_could_make_names_no_base(repo: Repository) -> None:
    event = pull_request_event(repo.merged[1], repo.own[1])
    assert repo.answer("pull_request", event, repo.evil) == (Whose.NOBODY, repo.own[0])


def test_the_merge_that_github_made_tells_the_base_and_not_the_payload(repo: Repository) -> None:
    event = pull_request_event(repo.own[0], repo.own[1])
    assert repo.answer("pull_request", event, repo.merge, {"GITHUB_SHA": repo.merge}) == (Whose.BASE, repo.merged[1])
    event = pull_request_event(repo.own[0], repo.merge)
    assert repo.answer("pull_request", event, repo.merge, {"GITHUB_SHA": repo.merge})[0] is Whose.NOBODY


@pytest.mark.parametrize("name", ["pull_request", "merge_group"])
def test_the_change_itself_is_not_its_base(repo: Repository, name: str) -> None:
    head = repo.own[1]
    event = {**pull_request_event(head, head), "merge_group": {"base_sha": head, "head_sha": head}}
    assert repo.answer(name, event, head)[0] is Whose.NOBODY


def test_a_merge_group_is_of_its_base_or_of_the_default_branch(repo: Repository) -> None:
    (first, tip), own = repo.merged, repo.own
    for base, expected in ((tip, tip), (NO_COMMIT, first)):
        event = {"merge_group": {"base_sha": base, "head_sha": own[1]}}
        assert repo.answer("merge_group", event, own[1]) == (Whose.BASE, expected)


@pytest.mark.parametrize(
    ("name", "event"),
    [("push", push("refs/heads/trunk", None, NO_COMMIT)), ("workflow_dispatch", {"inputs": {}}), ("schedule", {})],
)
def test_a_github_that_does_not_answer_leaves_nobody(repo: Repository, name: str, event: dict[str, Any]) -> None:
    repo.github.answers = False
    for at in (*repo.merged, *repo.own):
        assert repo.answer(name, event, at)[0] is Whose.NOBODY
    change = repo.change(name, event, repo.merged[1], {"GITHUB_TOKEN": ""})
    assert whose_configuration(change.known) is Whose.NOBODY
    assert "GITHUB_TOKEN" in change.unmerged


def test_the_runner_says_which_commit_a_schedule_is_of(repo: Repository) -> None:
    repo.github.answers = False
    tip, own = repo.merged[1], repo.own[1]
    assert repo.answer("schedule", {}, tip, {"GITHUB_SHA": tip}) == (Whose.MERGED, None)
    assert repo.answer("schedule", {}, own, {"GITHUB_SHA": tip})[0] is Whose.NOBODY


@pytest.mark.parametrize("unset", ["GITHUB_ACTIONS", "GITHUB_EVENT_NAME"])
def test_a_step_that_unsets_a_variable_does_not_make_it_a_laptop(repo: Repository, unset: str) -> None:
    event = push("refs/tags/v1", NOTHING, repo.own[1])
    assert repo.answer("push", event, repo.own[1], {unset: ""}) == (Whose.BASE, repo.merged[0])


def test_gitlabs_own_variables_say_what_is_on_the_default_branch(repo: Repository) -> None:
    tip, own = repo.merged[1], repo.own[1]
    job = {"GITHUB_ACTIONS": "", "GITHUB_EVENT_NAME": "", "GITLAB_CI": "true", "CI_DEFAULT_BRANCH": "trunk"}
    on_trunk = {**job, "CI_COMMIT_BRANCH": "trunk", "CI_COMMIT_SHA": tip}
    assert repo.answer("push", push("refs/heads/trunk", NOTHING, tip), tip, on_trunk) == (Whose.MERGED, None)
    on_change = {**job, "CI_COMMIT_BRANCH": "change", "CI_COMMIT_SHA": own}
    assert repo.answer("push", push("refs/heads/change", NOTHING, own), own, on_change)[0] is Whose.NOBODY


def test_a_pipeline_of_merged_results_is_of_the_first_parent_of_gitlabs_merge(repo: Repository) -> None:
    first, tip = repo.merged
    event = pull_request_event(first, repo.own[1])
    job = {"GITHUB_ACTIONS": "", "GITHUB_EVENT_NAME": "", "GITLAB_CI": "true"}
    assert repo.answer("pull_request", event, repo.merge, {**job, "CI_COMMIT_SHA": repo.merge}) == (Whose.BASE, tip)
    assert repo.answer("pull_request", event, repo.own[1], {**job, "CI_COMMIT_SHA": repo.own[1]}) == (Whose.BASE, first)
    assert repo.answer("pull_request", event, repo.evil, {**job, "CI_COMMIT_SHA": repo.own[1]})[0] is Whose.NOBODY


def test_another_ci_system_has_the_clones_default_branch_and_no_tag_of_its_name(repo: Repository) -> None:
    other = {"GITHUB_ACTIONS": "", "GITHUB_EVENT_NAME": "", "JENKINS_URL": "https://ci.example"}
    change = repo.change("", None, repo.own[1], other)
    assert (change.known.base, change.files.base) == (Base.MERGED, repo.own[1])  # this clone's main
    repo.git.git("branch", "-m", "main", "elsewhere")
    repo.git.git("tag", "main", repo.own[1])
    try:
        assert repo.answer("", None, repo.own[1], other) == (Whose.NOBODY, None)
    finally:
        repo.git.git("tag", "--delete", "main")
        repo.git.git("branch", "-m", "elsewhere", "main")


def test_an_event_file_of_the_checkout_says_nothing(repo: Repository) -> None:
    repo.git.git("checkout", "--quiet", "--detach", repo.own[1])
    path = Path(repo.git.folder) / "event.json"
    path.write_text('{"pull_request": {"number": 7}}')
    environment = {**repo.git.environment, "GITHUB_ACTIONS": "true"}
    decided = decide(DecideRequest(repo.git.folder, "pull_request", path), environment)
    path.unlink()
    assert whose_configuration(decided.change.known) is Whose.NOBODY
    assert any("event file" in reason.why for reason in decided.decision.reasons)


def payloads(repo: Repository) -> st.SearchStrategy[dict[str, Any]]:
    """Anything that a payload may claim, of commits that are there and of others."""
    commits = st.sampled_from([*repo.merged, *repo.own, repo.merge, repo.evil, NOTHING, NO_COMMIT, "", None, 7])
    refs = st.sampled_from(
        ["refs/heads/trunk", "refs/heads/main", "refs/heads/change", "refs/tags/trunk", "trunk", None]
    )
    side = st.fixed_dictionaries({"sha": commits, "ref": refs, "repo": st.just({"full_name": "salon/assistant"})})
    request = st.fixed_dictionaries({"number": st.just(7), "base": side, "head": side, "merge_commit_sha": commits})
    return st.fixed_dictionaries(
        {},
        optional={
            "ref": refs,
            "before": commits,
            "after": commits,
            "pull_request": request,
            "inputs": st.sampled_from([{}, None, {"pull-request": "8"}, {"ref": "change"}, {"ref": "main"}]),
            "repository": st.fixed_dictionaries({"default_branch": st.sampled_from(["trunk", "main", "change", None])}),
        },
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])  # git runs in each
@given(data=st.data())
def test_no_event_and_no_payload_makes_a_changes_own_configuration_the_one_that_decides(
    repo: Repository, data: st.DataObject
) -> None:
    repo.github.answers = data.draw(st.booleans())
    name = data.draw(st.sampled_from([*(event for event in EVENTS if event != "merge_group"), "issue_comment", "Push"]))
    event = data.draw(payloads(repo))
    at = data.draw(st.sampled_from([*repo.merged, *repo.own, repo.merge, repo.evil]))
    of_requests = {"pull_request": repo.merge, "pull_request_review": repo.merge}
    whose, base = repo.answer(name, event, of_requests.get(name, at), {"GITHUB_SHA": repo.merge})
    assert whose in {Whose.BASE, Whose.MERGED, Whose.NOBODY}
    if whose is Whose.BASE:
        assert base in repo.merged
    if whose is Whose.MERGED:
        assert at in repo.merged
