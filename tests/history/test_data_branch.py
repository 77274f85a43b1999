"""The branch that keeps runs: one commit a run, nothing but data, pruned, and safe with others who push."""

import base64
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from ratiba_action.decide.workflow_run import WorkflowRun
from ratiba_action.errors import InfrastructureError, UsageError
from ratiba_action.history.data_branch import Appended, DataBranch, append_run, file_of, prune, refuse_untrusted
from ratiba_action.history.run_files import find_runs
from ratiba_action.model.change import Subject
from ratiba_action.util.git import Git
from tests.support.git_repository import GitRepository
from tests.support.run_history import branch_run
from tests.support.sample_report import sample_report

PATH = os.environ["PATH"]


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    folder = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    return folder


def git(remote: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=remote, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def append(remote: Path, number: int) -> Appended:
    return append_run(branch_run(number), DataBranch(str(remote), "ratiba-history"), {"PATH": PATH}, lambda _: None)


def test_each_run_is_a_commit_of_an_orphan_branch_and_is_read_again(remote: Path, repository: GitRepository) -> None:
    assert append(remote, 0).new
    done = append(remote, 1)
    assert (done.new, done.runs, done.removed) == (True, 2, 0)
    assert git(remote, "rev-list", "--count", "ratiba-history") == "2"
    names = git(remote, "ls-tree", "-r", "--name-only", "ratiba-history").splitlines()
    assert names == ["README", file_of(branch_run(0)), file_of(branch_run(1))]
    repository.commit({"a": "b"})
    repository.git("fetch", "--quiet", str(remote), "ratiba-history:ratiba-history")
    found = find_runs("ratiba-history", lambda: Git(repository.folder, os.environ)).read(lambda report: report)
    assert [report for _, report in found.runs] == [branch_run(0), branch_run(1)]
    assert found.broken == ()


def test_the_same_run_is_added_once(remote: Path) -> None:
    append(remote, 0)
    assert append(remote, 0) == Appended(file_of(branch_run(0)), new=False, runs=1)
    assert git(remote, "rev-list", "--count", "ratiba-history") == "1"


def test_runs_that_are_added_at_the_same_time_are_all_there(remote: Path) -> None:
    target = DataBranch(str(remote), "ratiba-history")
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda number: append_run(branch_run(number), target, {"PATH": PATH}), range(6)))
    assert all(each.new for each in done)
    assert len(git(remote, "ls-tree", "-r", "--name-only", "ratiba-history").splitlines()) == 7


def test_a_remote_that_refuses_is_named_with_what_to_do_and_is_unchanged(remote: Path, tmp_path: Path) -> None:
    hook = remote / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho no write access >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(InfrastructureError, match=r"could not be written .*'git push'") as refused:
        append(remote, 0)
    assert "contents: write" in refused.value.remedy
    assert git(remote, "for-each-ref") == ""
    with pytest.raises(
        InfrastructureError, match=r"'git ls-remote'\): fatal: '.*nowhere' does not appear to be a git"
    ) as failed:
        append(tmp_path / "nowhere", 0)
    assert not failed.value.problem.endswith("..")


def test_a_branch_with_anything_else_is_left_alone(remote: Path, repository: GitRepository) -> None:
    repository.commit({"app.py": "print()"})
    repository.git("push", "--quiet", str(remote), "main:main")
    with pytest.raises(UsageError, match=r"holds 'app\.py', which is no run"):
        append_run(branch_run(0), DataBranch(str(remote), "main"), {"PATH": PATH})
    assert git(remote, "ls-tree", "--name-only", "main") == "app.py"


@pytest.mark.parametrize("name", ["", "-x", "a b", "a..b", "x.lock", "a/", "a//b", "a/.b", "x.lock/b", "a."])
def test_a_name_that_is_none_is_refused(name: str, remote: Path) -> None:
    with pytest.raises(UsageError, match="is no name of a branch"):
        append_run(branch_run(0), DataBranch(str(remote), name), {"PATH": PATH})


def test_old_runs_are_removed_with_their_commits(remote: Path) -> None:
    append(remote, 0)
    append(remote, 2)
    late = branch_run(4, started_at=branch_run(0).started_at + timedelta(days=41))
    done = append_run(late, DataBranch(str(remote), "ratiba-history", days=40), {"PATH": PATH})
    assert (done.removed, done.runs) == (2, 1)
    assert git(remote, "rev-list", "--count", "ratiba-history") == "1", "files of earlier commits stay in a branch"


def test_one_run_with_a_wrong_clock_makes_no_other_one_old() -> None:
    names = [file_of(branch_run(number)) for number in range(3)]
    future = file_of(branch_run(0, started_at=branch_run(0).started_at.replace(year=2099)))
    target = DataBranch("", "", days=3650)
    assert prune(dict.fromkeys([*names, future], 1), target, future) == (*names, future)


def test_the_oldest_make_room_and_pruning_leaves_some() -> None:
    names = [file_of(branch_run(number)) for number in range(10)]
    target = DataBranch("", "", megabytes=1)
    assert prune(dict.fromkeys(names, 100_000), target, names[-1]) == tuple(names)
    assert prune(dict.fromkeys(names, 101_000), target, names[-1]) == tuple(names[-7:])
    assert prune(dict.fromkeys(names, 2_000_000), target, names[-1]) == (names[-1],), "the new run always stays"


def test_a_hook_of_the_scratch_repository_or_configuration_of_a_user_has_no_part(
    remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap, ran = tmp_path / "trap", tmp_path / "ran"
    trap.mkdir()
    (trap / "pre-push").write_text(f"#!/bin/sh\ntouch {ran}\n")
    (trap / "pre-push").chmod(0o755)
    (tmp_path / ".gitconfig").write_text(f"[core]\n\thooksPath = {trap}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert append(remote, 0).new
    assert not ran.exists()


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target", "issue_comment", "workflow_run"])
def test_runs_of_pull_requests_and_events_of_strangers_are_refused(event: str) -> None:
    with pytest.raises(UsageError, match="pull request 7"):
        refuse_untrusted(sample_report(), "")
    own = branch_run(0)
    refuse_untrusted(own, "push")
    with pytest.raises(UsageError, match=f"The event is '{event}'"):
        refuse_untrusted(own, event)
    with pytest.raises(UsageError, match=f"The event is '{event}'"):
        refuse_untrusted(replace(own, subject=Subject(event=event)), "push")


def test_a_job_that_follows_a_run_takes_the_results_of_that_run_alone() -> None:
    own = branch_run(0)
    followed = WorkflowRun("a/b", "A/b", "main", own.commit, 1000, 1, "push", "failure")
    refuse_untrusted(own, "workflow_run", followed)
    for other, why in (
        (replace(followed, head_repository="stranger/b"), "a fork"),
        (replace(followed, event="pull_request"), "The event is 'pull_request'"),
        (replace(followed, head="f" * 40), "this job follows run 1000 of 'ffff"),
        (replace(followed, run_id=2), "this job follows run 2 of"),
    ):
        with pytest.raises(UsageError, match=why):
            refuse_untrusted(own, "workflow_run", other)


def test_the_token_is_in_gits_environment_alone(tmp_path: Path) -> None:
    program = tmp_path / "git"
    program.write_text(
        f'#!/bin/sh\necho "$@" >>{tmp_path}/arguments\necho "$GIT_CONFIG_VALUE_0" >>{tmp_path}/header\n'
        '[ "$5" = init ] || { echo "$GIT_CONFIG_VALUE_0" | tail -c 9 >&2; exit 1; }\n'
    )
    program.chmod(0o755)
    target = DataBranch("https://github.com/owner/name", "ratiba-history", token="planted-token")
    with pytest.raises(InfrastructureError, match="'git ls-remote'") as refused:
        append_run(branch_run(0), target, {"PATH": f"{tmp_path}:{PATH}"})
    basic = base64.b64encode(b"x-access-token:planted-token").decode()
    assert (tmp_path / "header").read_text().splitlines() == [f"Authorization: Basic {basic}"] * 2
    arguments = (tmp_path / "arguments").read_text()
    assert "http.followRedirects=false" in arguments
    assert "planted" not in arguments + str(refused.value)
    assert basic not in arguments + str(refused.value)
