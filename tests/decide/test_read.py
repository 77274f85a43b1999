import errno
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.decide.read import read_change
from ratiba_action.model.change import ChangedFiles
from tests.support.git_repository import GitRepository
from tests.support.pull_request_events import edited_event, pull_request_event

Environment = dict[str, str]
NO_COMMIT = "c" * 40


@pytest.fixture
def base(repository: GitRepository) -> str:
    return repository.commit(
        {"app.py": "1", "docs/old name.md": "text\n" * 20, "gone.py": "1", ".gitignore": "*.log\n"}
    )


@pytest.fixture
def head(repository: GitRepository, base: str) -> str:
    repository.git("checkout", "--quiet", "-b", "feature", base)
    return repository.commit({"docs/old name.md": None, "docs/néw.md": "text\n" * 20, "gone.py": None, "app.py": "2"})


FEATURE = {"app.py", "docs/old name.md", "docs/néw.md", "gone.py"}


def read(event_name: str, event: Any, repository: GitRepository) -> ChangedFiles:
    return read_change(event_name, event, repository.folder, repository.environment).files


def merged(repository: GitRepository) -> tuple[str, str]:
    """Advance main and merge the feature into it, as GitHub's merge ref does; returns main's tip and the merge."""
    repository.git("checkout", "--quiet", "main")
    tip = repository.commit({"unrelated.py": "1"})
    repository.git("checkout", "--quiet", "--detach")
    return tip, repository.merge("feature")


def test_a_pull_request_is_the_difference_of_its_merge_commit_with_both_names_of_a_rename(
    repository: GitRepository, base: str, head: str
) -> None:
    tip, merge = merged(repository)

    changed = read("pull_request", pull_request_event(base, head), repository)

    assert set(changed.paths) == FEATURE
    assert (changed.base, changed.head, changed.doubt) == (tip, merge, None)


def test_a_pull_request_with_a_new_base_is_the_difference_to_that_base(
    repository: GitRepository, base: str, head: str
) -> None:
    tip, merge = merged(repository)

    changed = read("pull_request", edited_event(tip, head, left=base), repository)

    assert (changed.base, changed.head, changed.doubt) == (tip, merge, None)


def test_a_merge_into_the_base_that_was_left_is_not_taken_for_one_into_the_new_base(
    repository: GitRepository, base: str, head: str
) -> None:
    tip, merge = merged(repository)
    event = edited_event(base, head, left=tip)

    change = read_change("pull_request", event, repository.folder, repository.environment)

    assert change.files.base == base
    assert change.subject.head == merge
    assert "nor a merge of it into its base" in str(change.files.doubt)


@pytest.mark.usefixtures("head")
def test_a_merge_commit_of_another_head_is_not_the_base(repository: GitRepository, base: str) -> None:
    merged(repository)
    repository.git("checkout", "--quiet", "feature")
    newer = repository.commit({"prompts/a.md": "1"})
    repository.git("checkout", "--quiet", "-")

    changed = read("pull_request", pull_request_event(base, newer), repository)

    assert set(changed.paths) == FEATURE | {"prompts/a.md"}
    assert changed.base == base
    assert "neither" in str(changed.doubt)


def test_a_checked_out_head_is_compared_with_its_merge_base(repository: GitRepository, base: str, head: str) -> None:
    repository.git("checkout", "--quiet", "main")
    tip = repository.commit({"unrelated.py": "1"})
    repository.git("checkout", "--quiet", "feature")

    changed = read("pull_request", pull_request_event(tip, head), repository)

    assert set(changed.paths) == FEATURE
    assert (changed.base, changed.doubt) == (base, None)


@pytest.mark.usefixtures("base", "head")
def test_a_head_that_is_itself_a_merge_is_compared_with_its_merge_base(repository: GitRepository) -> None:
    repository.git("checkout", "--quiet", "main")
    tip = repository.commit({"unrelated.py": "1"})
    repository.git("checkout", "--quiet", "feature")
    newer = repository.merge("main")

    changed = read("pull_request", pull_request_event(tip, newer), repository)

    assert set(changed.paths) == FEATURE
    assert changed.doubt is None


def shallow(repository: GitRepository, target: Path, commit: str, depth: int) -> GitRepository:
    repository.git("branch", "--force", "wanted", commit)
    clone = GitRepository(target)
    clone.git("fetch", "--quiet", "--depth", str(depth), f"file://{repository.folder}", "wanted")
    clone.git("checkout", "--quiet", "--detach", "FETCH_HEAD")
    return clone


def test_a_clone_of_depth_two_is_enough(repository: GitRepository, base: str, head: str, tmp_path: Path) -> None:
    _, merge = merged(repository)
    clone = shallow(repository, tmp_path / "clone", merge, 2)

    changed = read("pull_request", pull_request_event(base, head), clone)

    assert set(changed.paths) == FEATURE
    assert changed.doubt is None


def test_a_clone_without_the_base_and_without_a_token_is_a_doubt(
    repository: GitRepository, base: str, head: str, tmp_path: Path
) -> None:
    _, merge = merged(repository)
    clone = shallow(repository, tmp_path / "clone", merge, 1)

    changed = read("pull_request", pull_request_event(base, head), clone)

    assert "GITHUB_TOKEN" in str(changed.doubt)
    assert "fetch-depth: 2" in str(changed.doubt)


def test_an_empty_difference_of_a_pull_request_with_files_is_a_doubt(repository: GitRepository, base: str) -> None:
    changed = read("pull_request", pull_request_event(base, base, files=3), repository)

    assert "no difference" in str(changed.doubt)


def test_a_merge_group_is_the_difference_of_its_commits(repository: GitRepository, base: str, head: str) -> None:
    event = {"merge_group": {"base_sha": base, "head_sha": head}}

    changed = read("merge_group", event, repository)

    assert set(changed.paths) == FEATURE
    assert (changed.base, changed.head, changed.doubt) == (base, head, None)


def test_a_push_is_the_difference_of_its_commits(repository: GitRepository, base: str, head: str) -> None:
    changed = read("push", {"before": base, "after": head}, repository)

    assert (set(changed.paths), changed.doubt) == (FEATURE, None)


@pytest.mark.parametrize(
    ("name", "event", "branch"),
    [
        ("push", {"ref": "refs/heads/main", "before": NO_COMMIT, "after": NO_COMMIT}, "main"),
        ("push", {"ref": "refs/tags/v1"}, ""),
        ("push", {"ref": "refs/heads/a\n::error::b"}, ""),
        ("push", {"ref": ["refs/heads/main"]}, ""),
        ("workflow_dispatch", {"ref": "refs/heads/trial/one", "inputs": None}, "trial/one"),
        ("schedule", {"schedule": "0 3 * * *", "repository": {"default_branch": "main"}}, "main"),
        ("schedule", {"schedule": "0 3 * * *", "repository": "x"}, ""),
        ("merge_group", {"merge_group": {"base_ref": "refs/heads/main"}}, ""),
    ],
)
@pytest.mark.usefixtures("base")
def test_a_run_of_a_branch_itself_names_it(
    repository: GitRepository, name: str, event: dict[str, Any], branch: str
) -> None:
    assert read_change(name, event, repository.folder, repository.environment).subject.branch == branch


@pytest.mark.parametrize("before", ["0" * 40, NO_COMMIT])
def test_a_push_without_a_reachable_base_counts_as_everything(
    repository: GitRepository, head: str, before: str
) -> None:
    assert "everything" in str(read("push", {"before": before, "after": head}, repository).doubt)


@pytest.mark.usefixtures("head")
def test_a_manual_run_without_a_pull_request_runs_everything(repository: GitRepository) -> None:
    assert "everything" in str(read("workflow_dispatch", {"inputs": None}, repository).doubt)


@pytest.mark.parametrize("number", ["seven", "7/../../x", "-1", "9" * 30])
@pytest.mark.usefixtures("head")
def test_a_pull_request_number_that_is_none_is_a_doubt_and_refused(repository: GitRepository, number: str) -> None:
    event = {"inputs": {"pull-request": number}}

    change = read_change("workflow_dispatch", event, repository.folder, repository.environment)
    assert "not a number" in str(change.files.doubt)
    assert change.refused is not None


def test_a_manual_run_without_a_repository_or_an_event_is_refused(repository: GitRepository, tmp_path: Path) -> None:
    event = {"inputs": {"pull-request": "7"}}
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    found = [
        read_change("workflow_dispatch", event, nowhere, repository.environment),
        read_change("workflow_dispatch", None, repository.folder, repository.environment),
        read_change("workflow_dispatch", {}, nowhere, repository.environment, pull_request="7"),
    ]
    assert [change.refused is None for change in found] == [False, False, False]


@pytest.mark.usefixtures("head")
def test_a_manual_run_about_a_ref_is_compared_with_the_default_branch(repository: GitRepository, base: str) -> None:
    changed = read("workflow_dispatch", {"inputs": {"ref": "feature"}}, repository)

    assert (set(changed.paths), changed.base, changed.doubt) == (FEATURE, base, None)


@pytest.mark.parametrize("ref", ["nowhere", "--output=x", "main"])
@pytest.mark.usefixtures("head")
def test_a_ref_that_is_not_checked_out_is_a_doubt(repository: GitRepository, ref: str) -> None:
    assert read("workflow_dispatch", {"inputs": {"ref": ref}}, repository).doubt


def test_pull_request_target_is_refused(repository: GitRepository, base: str, head: str) -> None:
    change = read_change(
        "pull_request_target", pull_request_event(base, head), repository.folder, repository.environment
    )

    assert change.refused
    assert "refused" in str(change.files.doubt)


@pytest.mark.usefixtures("head")
def test_an_unknown_event_is_a_doubt(repository: GitRepository) -> None:
    assert "'schedule'" in str(read("schedule", {}, repository).doubt)


@pytest.mark.usefixtures("head")
def test_without_an_event_the_work_tree_is_compared_with_its_merge_base(repository: GitRepository, base: str) -> None:
    repository.write({"app.py": "3", "prompts/new.md": "untracked", "debug.log": "ignored"})

    changed = read("", None, repository)

    assert set(changed.paths) == FEATURE | {"prompts/new.md"}
    assert (changed.base, changed.head, changed.doubt) == (base, None, None)


@pytest.mark.usefixtures("base", "head")
def test_a_folder_below_the_root_gives_the_same_paths(repository: GitRepository) -> None:
    repository.write({"docs/untracked.md": "1"})

    changed = read_change("", None, repository.folder / "docs", repository.environment).files

    assert set(changed.paths) == FEATURE | {"docs/untracked.md"}


@pytest.mark.usefixtures("base")
def test_a_name_that_is_not_utf8_survives(repository: GitRepository) -> None:
    name = b"docs/\xff\n.md"
    (Path(repository.folder) / "docs" / name[5:].decode("utf-8", "surrogateescape")).write_text("1")

    assert read("", None, repository).paths == (name.decode("utf-8", "surrogateescape"),)


def test_variables_of_the_caller_do_not_lead_git_elsewhere(
    repository: GitRepository, base: str, head: str, tmp_path: Path
) -> None:
    hostile = {
        **repository.environment,
        "GIT_DIR": str(tmp_path),
        "GIT_EXTERNAL_DIFF": "false",
        "GIT_INDEX_FILE": "/nowhere",
    }

    change = read_change("push", {"before": base, "after": head}, repository.folder, hostile)
    assert set(change.files.paths) == FEATURE


def test_configuration_of_the_repository_does_not_hide_a_change(
    repository: GitRepository, base: str, head: str
) -> None:
    repository.git("config", "diff.external", "true")
    repository.git("config", "diff.renames", "copies")
    repository.git("config", "core.fsmonitor", "true")
    repository.git("config", "diff.orderFile", "/dev/null")

    assert set(read("push", {"before": base, "after": head}, repository).paths) == FEATURE


@pytest.mark.parametrize(
    ("event_name", "event"),
    [
        ("pull_request", None),
        ("pull_request", {}),
        ("pull_request", {"pull_request": "text"}),
        ("pull_request", {"pull_request": {"number": 7, "base": {"sha": "--output=x"}, "head": {"sha": NO_COMMIT}}}),
        ("pull_request", {"pull_request": {"number": True, "base": {}, "head": {}}}),
        ("pull_request", {"pull_request": {"number": 7, "base": [], "head": None}}),
        ("merge_group", {"merge_group": {"base_sha": None}}),
        ("merge_group", {}),
        ("push", {"before": 3, "after": "x"}),
        ("push", None),
        ("workflow_dispatch", None),
    ],
)
@pytest.mark.usefixtures("head")
def test_a_malformed_payload_is_a_doubt(repository: GitRepository, event_name: str, event: Any) -> None:
    assert read(event_name, event, repository).doubt


def test_a_folder_that_is_no_repository_is_a_doubt(tmp_path: Path, environment: Environment) -> None:
    change = read_change("", None, tmp_path, environment)

    assert change.git is None
    assert "git" in str(change.files.doubt)


def test_a_machine_without_git_is_a_doubt(tmp_path: Path) -> None:
    assert "actions/checkout" in str(read_change("", None, tmp_path, {"PATH": str(tmp_path)}).files.doubt)


@pytest.mark.usefixtures("head")
def test_a_repository_without_a_default_branch_is_a_doubt(repository: GitRepository) -> None:
    repository.git("branch", "--move", "main", "trunk")

    assert "no branch" in str(read("", None, repository).doubt)


def test_a_fork_and_the_author_are_reported_but_change_nothing(repository: GitRepository, base: str, head: str) -> None:
    run = {
        **repository.environment,
        "GITHUB_RUN_ID": "12",
        "GITHUB_SERVER_URL": "https://git.example",
        "GITHUB_RUN_ATTEMPT": "2",
    }

    change = read_change("pull_request", pull_request_event(base, head, fork=True), repository.folder, run)

    assert change.fork
    assert (change.subject.author, change.subject.title) == ("wanjiku", "Warmer greeting")
    assert (change.subject.base, change.subject.head) == (base, head)
    assert change.subject.run_url == "https://git.example/salon/assistant/actions/runs/12"
    assert set(change.files.paths) == FEATURE


@pytest.mark.parametrize("failing", ["rev-parse", "merge-base"])
def test_a_git_that_cannot_be_run_is_no_base_that_is_not_there(
    repository: GitRepository,
    head: str,
    failing: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base, start = repository.git("rev-parse", "main"), subprocess.run

    def run(command: list[str], *arguments: Any, **options: Any) -> Any:
        if failing in command:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return start(command, *arguments, **options)

    monkeypatch.setattr(subprocess, "run", run)
    change = read_change("pull_request", pull_request_event(base, head), repository.folder, repository.environment)
    assert (change.unread, change.files.base) == (True, None)
    assert "git could not be run" in str(change.files.doubt)


def test_a_runner_without_git_knows_which_pull_request_its_comment_belongs_to(
    repository: GitRepository, base: str, head: str, tmp_path: Path
) -> None:
    event = pull_request_event(base, head)
    change = read_change("pull_request", event, repository.folder, repository.environment | {"PATH": str(tmp_path)})
    assert "git could not be run" in str(change.files.doubt)
    assert (change.subject.pull_request, change.subject.head) == (event["pull_request"]["number"], head)
