"""``ratiba site --from github``: whose artifacts are believed, and what an archive may hold."""

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.main import run
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_json import packed, render_results
from ratiba_action.reporting.summary import summarise
from tests.support.github_server import GithubState, github_server
from tests.support.github_state import Artifact, Fault, Run
from tests.support.run_history import branch_run
from tests.support.sample_report import sample_check, sample_report, sample_scored

REPOSITORY, TOKEN = "ratiba/assistant", "ghs_planted"


def archive_of(content: bytes, name: str = "results.json", mode: int = 0o100644) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
        archive.writestr("report.html", "<p>not read</p>")
    return written.getvalue()


def text_of(report: Report) -> bytes:
    return render_results(summarise(report)).encode()


def left(number: int, report: Report | None = None, archive: bytes | None = None, **of: Any) -> Artifact:
    """The artifact of the ``number``-th run of the branch."""
    meant = branch_run(number)
    started = Run(1000 + number, meant.commit, **of)
    content = archive_of(text_of(report or meant)) if archive is None else archive
    return Artifact(number, "ratiba-report", started, content, f"2026-08-{number + 1:02}T07:00:00Z")


@pytest.fixture
def state() -> GithubState:
    return GithubState()


@pytest.fixture
def variables(state: GithubState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    monkeypatch.chdir(tmp_path)
    with github_server(state) as address:
        yield {"GITHUB_API_URL": address, "GITHUB_REPOSITORY": REPOSITORY, "RATIBA_GITHUB_TOKEN": TOKEN}


def site(variables: dict[str, str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the command says of the site that it has written."""
    code = run(["site", "--from", "github", "--json"], variables)
    printed = capsys.readouterr()
    assert code == 0, printed.err
    found: dict[str, Any] = json.loads(printed.out)
    return found


def test_runs_of_the_default_branch_that_passed_and_that_failed_stand_in_the_site(
    state: GithubState, variables: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    failing = branch_run(2, (sample_scored("spa_booking", (sample_check(passed=False),)),))
    state.kept += [left(1), left(2, failing, conclusion="failure"), left(3, event="schedule")]
    state.kept.append(left(4, archive=archive_of(packed(text_of(branch_run(4))), "results.json.gz")))
    assert run(["site", "--from", "github"], variables) == 0
    assert "4 runs from the workflow runs of 'main' on GitHub" in capsys.readouterr().err
    assert (tmp_path / "site/runs.html").read_text("utf-8").count("<tr data-row") == 4
    assert state.violations == []
    downloads = [path for _, path in state.requests if "/storage/" in path or path.endswith("/zip")]
    assert len(downloads) == 8, "each archive is downloaded once, by a redirect"


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param({"head_repository": "mallory/assistant", "event": "pull_request"}, id="of a fork"),
        pytest.param({"head_repository": "mallory/assistant"}, id="of a fork that says push"),
        pytest.param({"event": "pull_request"}, id="of a pull request from the branch"),
        pytest.param({"event": "pull_request_target"}, id="of a pull request's target"),
        pytest.param({"event": "workflow_run"}, id="of a workflow after a fork's"),
        pytest.param({"branch": "change"}, id="of another branch"),
    ],
)
def test_what_a_stranger_may_have_left_is_not_even_downloaded(
    planted: dict[str, Any], state: GithubState, variables: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    state.kept += [left(1), left(2, **planted)]
    assert site(variables, capsys)["runs"] == 1
    assert not [path for _, path in state.requests if "artifacts/2/zip" in path]


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        pytest.param(b"PK" + bytes(500), "damaged", id="no archive"),
        pytest.param(archive_of(b"/etc/passwd", mode=0o120777), "is a link", id="link"),
        pytest.param(archive_of(b"{}", "../results.json"), "leads out", id="traversal"),
        pytest.param(archive_of(bytes(20_000_001)), "more than 20,000,000 bytes", id="zip bomb"),
        pytest.param(
            archive_of(packed(bytes(20_000_001)), "results.json.gz"), "more than 20,000,000 bytes when", id="gzip bomb"
        ),
        pytest.param(archive_of(text_of(branch_run(7))), "not of", id="of another run"),
        pytest.param(archive_of(text_of(sample_report())), "of a pull request", id="of a pull request"),
    ],
)
def test_a_hostile_artifact_is_named_with_its_reason_and_the_others_are_read(
    archive: bytes, why: str, state: GithubState, variables: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    state.kept += [left(1), left(2, archive=archive)]
    found = site(variables, capsys)
    assert found["runs"] == 1
    (broken,) = found["broken"]
    assert broken["file"] == "artifact 2 of run 1002"
    assert why in broken["problem"]


def test_what_an_artifact_says_is_masked_again(
    state: GithubState, variables: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    named = branch_run(1)
    secret = "sk-ant-api03-" + "Zx9" * 24
    verdict = replace(named.verdict, reason=f"The key {secret} and {TOKEN} were found.")
    state.kept.append(left(1, replace(named, verdict=verdict)))
    site(variables, capsys)
    pages = "\n".join(path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.html"))
    assert "were found." in pages
    assert secret not in pages
    assert TOKEN not in pages


def test_an_outage_in_the_middle_ends_the_command_and_writes_no_site(
    state: GithubState, variables: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    state.kept += [left(1), left(2)]
    state.faults.append(Fault(path="actions/runs/1001", status=403, message="Not for you"))
    assert run(["site", "--from", "github"], variables) == 3
    assert "Not for you" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_without_a_repository_or_a_token_the_command_says_what_is_missing(
    variables: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["site", "--from", "github"], {"RATIBA_GITHUB_TOKEN": TOKEN}) == 2
    assert "Set GITHUB_REPOSITORY=owner/name." in capsys.readouterr().err
    assert run(["site", "--from", "github"], {**variables, "RATIBA_GITHUB_TOKEN": ""}) == 3
    assert "github-token" in capsys.readouterr().err
