"""Which history a run believes: what a change may have written is not among it."""

import asyncio
import json
import os
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ratiba_action.config.configuration import Configuration
from ratiba_action.config.ratchet import ratchet
from ratiba_action.errors import LedgerError
from ratiba_action.history.anchors import AnchorWanted, read_anchor
from ratiba_action.history.data_branch import DataBranch, append_run
from ratiba_action.history.run_files import find_runs
from ratiba_action.history.run_history import KeptRunHistory, RunHistory
from ratiba_action.history.store import MetricsHistory, Series
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import Rules
from ratiba_action.model.shard import Shard
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_json import packed, render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.run.earlier_history import history_of, notes_of_history
from ratiba_action.util.git import Git
from tests.support.git_repository import GitRepository
from tests.support.run_history import branch_run, write_history
from tests.support.sample_report import sample_score, sample_scored

pytestmark = pytest.mark.processes

SERIES = Series("ratiba/assistant", "ratiba", "main", before=datetime(2027, 1, 1, tzinfo=UTC))
BRANCH, PATH = "ratiba-history", os.environ["PATH"]


def measured(number: int, value: float, **changes: Any) -> Report:
    results = (sample_scored("spa", scores=(sample_score(value),)),)
    return branch_run(number, results, judge_model="opus", scenario_digests={"spa": "d1"}, **changes)


def configured(branch: str | None = BRANCH) -> Configuration:
    return Configuration.model_validate({"system": {"adapter": "a.b:C"}, "history": {"branch": branch}})


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """A server's folder with one repository, whose branch has two honest runs."""
    folder = tmp_path / "server/ratiba/assistant"
    folder.parent.mkdir(parents=True)
    GitRepository(tmp_path / "maker").git("init", "--quiet", "--bare", str(folder))
    for number, value in ((1, 0.8), (2, 0.9)):
        append_run(measured(number, value), DataBranch(f"file://{folder}", BRANCH), {"PATH": PATH})
    return tmp_path / "server"


@pytest.fixture
def checkout(tmp_path: Path) -> GitRepository:
    """A checkout in which a change wrote whatever it can write: a branch, a folder, a remote and a setting."""
    repository = GitRepository(tmp_path / "checkout")
    forged = packed(render_results(summarise(measured(3, 0.1))).encode())
    commit = repository.commit({"runs/2026/20260802T180000Z-0123456789abcdef.json.gz": forged, "README": "Runs."})
    for ref in (f"refs/heads/{BRANCH}", f"refs/remotes/origin/{BRANCH}", "refs/heads/evil"):
        repository.git("update-ref", ref, commit)
    write_history(repository.folder / BRANCH, [measured(4, 0.2)])
    repository.git("config", f"url.{tmp_path}/elsewhere.insteadOf", f"file://{tmp_path}/server")
    repository.git("config", "remote.origin.url", str(repository.folder))
    return repository


def history(checkout: GitRepository, environment: dict[str, str], ledger: str = "", **of: Any) -> RunHistory | None:
    variables = {"PATH": PATH, **environment}
    run: Any = SimpleNamespace(
        settings=SimpleNamespace(ledger_url=ledger, github_token="", why_withheld="", shard=of.get("shard")),
        shard_reports=of.get("shard_reports", ()),
        decided=SimpleNamespace(change=SimpleNamespace(git=Git(checkout.folder, variables))),
        environment=variables,
    )
    return history_of(run, of.get("configuration", configured()))


def values(found: RunHistory | None) -> list[float]:
    assert found is not None
    return [value.score for value in asyncio.run(found.own_values(SERIES, "opus", "", ["d1"]))]


def test_in_ci_the_branch_of_the_repository_itself_is_read_whatever_the_checkout_has(
    server: Path, checkout: GitRepository
) -> None:
    job = {"CI": "true", "GITHUB_SERVER_URL": f"file://{server}", "GITHUB_REPOSITORY": "ratiba/assistant"}
    found = history(checkout, job)
    assert values(found) == [0.9, 0.8]
    assert notes_of_history(found) == (
        "Earlier runs were read from the branch 'ratiba-history' (2 runs), without a ledger's database.",
    )


@pytest.mark.parametrize(
    "sign",
    ["CI", "TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID", "GITLAB_CI", "GITHUB_ACTIONS"],
)
def test_in_ci_without_the_repositorys_address_nothing_of_the_checkout_is_believed(
    sign: str, checkout: GitRepository
) -> None:
    found = history(checkout, {sign: "true"})
    with pytest.raises(LedgerError, match="does not say which repository has the branch"):
        values(found)


def test_a_run_of_a_pull_request_on_the_branch_counts_for_nothing(server: Path, checkout: GitRepository) -> None:
    plain = measured(5, 0.3)
    planted = [
        replace(plain, subject=replace(plain.subject, pull_request=7)),
        replace(plain, subject=replace(plain.subject, event="pull_request_target", run_id=9)),
    ]
    for report in planted:
        append_run(report, DataBranch(f"file://{server}/ratiba/assistant", BRANCH), {"PATH": PATH})
    job = {"CI": "true", "GITHUB_SERVER_URL": f"file://{server}", "GITHUB_REPOSITORY": "ratiba/assistant"}
    assert values(history(checkout, job)) == [0.9, 0.8]


@pytest.mark.parametrize("of_change", ["evil", None])
def test_a_change_names_no_other_branch_and_takes_none_away(of_change: str | None) -> None:
    applied, _ = ratchet(configured(of_change), configured())
    assert applied.history.branch == BRANCH


def test_a_change_brings_no_history_where_the_base_has_none() -> None:
    applied, _ = ratchet(configured("evil"), configured(None))
    assert applied.history.branch is None


def test_a_repository_without_the_branch_yet_has_an_empty_history(server: Path, checkout: GitRepository) -> None:
    job = {"CI": "true", "GITHUB_SERVER_URL": f"file://{server}", "GITHUB_REPOSITORY": "ratiba/assistant"}
    assert values(history(checkout, job, configuration=configured("not-yet"))) == []


@pytest.mark.parametrize("environment", [{}, {"CI": "false"}])
def test_on_a_laptop_the_branch_of_the_checkout_is_read(environment: dict[str, str], checkout: GitRepository) -> None:
    assert values(history(checkout, environment)) == [0.1]


def kept_in(folder: Path, maximum: int, *reports: Report) -> KeptRunHistory:
    """The last files of a folder."""
    write_history(folder, list(reports))
    return KeptRunHistory(
        "runs",
        lambda: nullcontext(find_runs(str(folder), lambda: None)),
        maximum=maximum,
        of_branches=True,
    )


def test_a_note_and_the_anchors_name_say_how_far_back_the_runs_go_that_were_read(tmp_path: Path) -> None:
    reports = [measured(number, 0.9) for number in range(4)]
    now = reports[3].started_at + timedelta(hours=1)
    wanted = AnchorWanted(replace(SERIES, before=now), "", "", {"d1": sample_scored("spa").trial.scenario})
    named = {}
    for maximum in (2, 4):
        found = kept_in(tmp_path / "runs", maximum, *reports)
        anchor = read_anchor(found, wanted, Rules())
        named[maximum] = anchor and anchor.name, "files were read" in notes_of_history(found)[0]
    assert named == {2: ("the best since 2026-08-02", True), 4: ("the best of the last 8 weeks", False)}


def test_runs_that_do_not_count_are_in_the_note(tmp_path: Path) -> None:
    of_laptop, of_change = measured(0, 0.9), measured(1, 0.9)
    found = kept_in(
        tmp_path / "runs",
        10,
        replace(of_laptop, subject=replace(of_laptop.subject, event="")),
        replace(of_change, subject=replace(of_change.subject, pull_request=7)),
        measured(2, 0.9),
    )
    assert values(found) == [0.9]
    assert "2 other runs there do not count" in notes_of_history(found)[0]


def test_the_ledger_comes_first_and_without_both_there_is_no_history(checkout: GitRepository) -> None:
    assert isinstance(history(checkout, {}, "postgresql://u:p@127.0.0.1:1/x"), MetricsHistory)
    assert history(checkout, {}, configuration=configured(None)) is None
    found = history(checkout, {})
    assert isinstance(found, KeptRunHistory)
    assert not found.was_read, "nothing is read before it is asked"
    assert notes_of_history(found) == ()


def test_recorded_answers_are_no_history_of_scores(server: Path, checkout: GitRepository) -> None:
    repeated = measured(6, 0.5, llm=AnswerOrigin.REPLAY)
    append_run(repeated, DataBranch(f"file://{server}/ratiba/assistant", BRANCH), {"PATH": PATH})
    job = {"GITHUB_SERVER_URL": f"file://{server}", "GITHUB_REPOSITORY": "ratiba/assistant"}
    assert values(history(checkout, job)) == [0.9, 0.8]


def test_a_score_that_is_none_makes_its_run_a_broken_file(server: Path, checkout: GitRepository) -> None:
    append_run(measured(7, 7.5), DataBranch(f"file://{server}/ratiba/assistant", BRANCH), {"PATH": PATH})
    job = {"GITHUB_SERVER_URL": f"file://{server}", "GITHUB_REPOSITORY": "ratiba/assistant"}
    found = history(checkout, job)
    assert values(found) == [0.9, 0.8]
    assert notes_of_history(found)[0].endswith("1 file there could not be read.")


def test_a_server_that_cannot_be_reached_is_asked_once(server: Path, checkout: GitRepository, tmp_path: Path) -> None:
    job = {"GITHUB_SERVER_URL": f"file://{tmp_path}/nowhere", "GITHUB_REPOSITORY": "ratiba/assistant"}
    found = history(checkout, job)
    with pytest.raises(LedgerError, match="could not be read"):
        values(found)
    (tmp_path / "nowhere").mkdir()
    (server / "ratiba").rename(tmp_path / "nowhere/ratiba")
    with pytest.raises(LedgerError, match="could not be read"):
        values(found)


def test_in_shards_every_job_finds_the_runs_that_were_there_when_the_workflow_was_triggered(
    server: Path, checkout: GitRepository, tmp_path: Path
) -> None:
    event = tmp_path / "event.json"
    job = {"GITHUB_SERVER_URL": f"file://{server}", "GITHUB_REPOSITORY": "ratiba/assistant"}
    triggered = datetime.now(UTC) + timedelta(hours=1)
    event.write_text(json.dumps({"pull_request": {"updated_at": triggered.isoformat()}}))
    job |= {"GITHUB_EVENT_PATH": str(event)}
    remote, later = DataBranch(f"file://{server}/ratiba/assistant", BRANCH), triggered + timedelta(hours=1)
    maker = GitRepository(tmp_path / "clone")
    maker.git("fetch", "--quiet", remote.remote, f"{BRANCH}:{BRANCH}")
    append_run(measured(3, 0.7), remote, {"PATH": PATH})
    maker.git("fetch", "--quiet", remote.remote, f"{BRANCH}:appended")
    tree, parent = maker.git("rev-parse", "appended^{tree}").strip(), maker.git("rev-parse", BRANCH).strip()
    commit = maker.git("commit-tree", "-p", parent, "-m", "Later", tree, date=later.isoformat()).strip()
    maker.git("push", "--quiet", "--force", remote.remote, f"{commit}:refs/heads/{BRANCH}")

    of_shard = history(checkout, job, shard=Shard(1, 2))
    assert values(of_shard) == [0.9, 0.8]
    assert values(history(checkout, job, shard_reports=("one", "two"))) == [0.9, 0.8]
    assert values(history(checkout, job)) == [0.7, 0.9, 0.8], "a job of its own reads what there is"
    event.write_text(json.dumps({"pull_request": {"updated_at": "2020-01-01T00:00:00Z"}}))
    assert values(history(checkout, job, shard=Shard(1, 2))) == [0.8], "the first commit where all are later"
