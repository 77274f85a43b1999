"""``ratiba site``: from runs to pages, and what of them is published."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.commands.view import viewed_in
from ratiba_action.history.keeping import keep_run
from ratiba_action.main import run
from ratiba_action.model.change import Subject
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from ratiba_action.reporting.results_json import packed, render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.settings.settings import read_settings
from tests.support.git_repository import GitRepository
from tests.support.run_history import branch_run, long_history, write_history
from tests.support.sample_report import sample_check, sample_report, sample_scored

REPLY = "Nafasi ipo saa nane mchana."
LINK = re.compile(r'(?:href|src)="([^"]*)"')


def site_of(folder: Path, reports: list[Report], *options: str, code: int = 0) -> Path:
    """The pages of these runs."""
    write_history(folder / "runs", reports)
    assert run(["site", "--from", str(folder / "runs"), "--to", str(folder / "site"), *options], {}) == code
    return folder / "site"


def text_of(site: Path) -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted(site.rglob("*.html")))


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of 200 runs."""
    return site_of(tmp_path_factory.mktemp("months"), long_history())


@pytest.fixture(autouse=True)
def _outside_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_link_leads_to_a_page_that_is_there_or_to_the_run_itself(months: Path) -> None:
    pages = list(months.rglob("*.html"))
    assert len(pages) == 8 + 1 + 200 + 12
    for page in pages:
        for link in LINK.findall(page.read_text("utf-8")):
            if link.startswith("https://github.com/ratiba/assistant/"):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.is_file(), (page.name, link)
            if anchor and target.name != "compare.html":
                assert f'id="{anchor}"' in target.read_text("utf-8"), (page.name, link)


def test_a_page_loads_nothing_and_runs_only_its_own_script(months: Path) -> None:
    for page in months.rglob("*.html"):
        text = page.read_text("utf-8")
        policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
        assert len(policy) == 1
        assert policy[0].startswith("default-src 'none'; style-src 'sha256-")
        assert "unsafe" not in policy[0]
        assert not re.search(r"<(img|link|iframe|object|script src)|url\(|@import|style=", text)


def test_pages_are_small_enough_for_a_phone(months: Path) -> None:
    sizes = {path.name: path.stat().st_size for path in months.rglob("*.html")}
    assert sizes["index.html"] < 50_000
    assert max(sizes.values()) < 200_000


def test_a_developer_finds_since_when_a_scenario_is_flaky_and_what_it_cost(months: Path) -> None:
    overview = (months / "index.html").read_text("utf-8")
    assert re.search(r'scenario/s03\.html">s03</a>.*?2026-09-20.*?1\.00', overview, re.DOTALL)
    page = (months / "scenario/s03.html").read_text("utf-8")
    assert re.search(r"since 2026-09-20", page)
    assert re.search(r"100 runs, USD 1\.00 of model calls", page)
    assert "with 95 % confidence" in page


def test_a_product_manager_sees_that_swahili_fluency_fell_this_month(months: Path) -> None:
    assert "SwahiliFluencyMetric fell by 0.0" in (months / "index.html").read_text("utf-8")
    page = (months / "metrics.html").read_text("utf-8")
    fluency = page[page.index('id="SwahiliFluencyMetric"') :]
    assert re.search(r"fell</span></span> by 0\.0\d+, between -0\.0\d+ and -0\.0\d+ with 95 % confidence", fluency)
    exact = page[page.index('id="BookingSlotConsistencyMetric"') : page.index('id="SwahiliFluencyMetric"')]
    assert "no clear change" in exact


def test_runs_are_listed_a_hundred_a_page(months: Path) -> None:
    for name in ("runs.html", "runs-2.html"):
        assert (months / name).read_text("utf-8").count("<tr data-row") == 100
    assert 'href="runs-2.html"' in (months / "runs.html").read_text("utf-8")


def test_the_badge_is_the_share_that_passed_in_the_newest_run_of_the_branch(tmp_path: Path) -> None:
    failed = sample_scored("b", (sample_check(passed=False),))
    newest = branch_run(1, (sample_scored("a"), sample_scored("c"), failed))
    of_change = sample_report(started_at=branch_run(9).started_at)
    site = site_of(tmp_path, [branch_run(0), newest, of_change])
    assert json.loads((site / "badge.json").read_text()) == {
        "schemaVersion": 1,
        "label": "scenarios",
        "message": "66 % passed",
        "color": "red",
    }
    assert "66 % passed</text>" in (site / "badge.svg").read_text()


@pytest.mark.parametrize(
    ("setting", "published"), [("none", ()), ("failing", ("fails",)), ("all", ("fails", "passes"))]
)
def test_the_configuration_says_which_conversations_are_published_and_so_does_the_command(
    setting: str, published: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/ratiba.yml").write_text(f"system: {{adapter: 'a.b:C'}}\nsite: {{transcripts: {setting}}}\n")
    passed, failed = (
        sample_scored("passes", reply=f"{REPLY} 1"),
        sample_scored("fails", (sample_check(passed=False),), reply=f"{REPLY} 2 0712 345 432"),
    )
    site = site_of(tmp_path, [branch_run(0, (passed, failed))])
    assert f"(site.transcripts: {setting})" in capsys.readouterr().err
    for name in ("passes", "fails"):
        text = (site / f"scenario/{name}.html").read_text("utf-8")
        assert ("Nafasi" in text) == (name in published)
    text = text_of(site)
    assert ("COLLECTING" in text) == ("fails" in published), "what a check got is a text of the conversation"
    assert "0712 345" not in text


def test_a_site_in_the_checkout_is_no_change_to_it_and_one_elsewhere_has_nothing_that_hides_it(
    repository: GitRepository, tmp_path: Path
) -> None:
    repository.commit({"README.md": "A system."})
    write_history(tmp_path / "runs", [branch_run(0)])
    for _ in range(2):
        command = ["site", "--from", str(tmp_path / "runs")]
        assert run(command, {"GITHUB_WORKSPACE": str(repository.folder)}) == 0
        assert (repository.folder / "site/index.html").exists()
        assert repository.git("status", "--porcelain") == ""
    assert not (site_of(tmp_path, [branch_run(0)]) / ".gitignore").exists()


def test_by_default_no_conversation_is_published(tmp_path: Path) -> None:
    site = site_of(tmp_path, [branch_run(0)])
    assert "Nafasi" not in text_of(site)
    assert "Conversations are not published on this site" in (site / "scenario/spa_booking.html").read_text("utf-8")


def test_broken_files_are_named_by_the_command_and_the_overview_and_never_left_out_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_history(tmp_path / "runs", [branch_run(0)])
    (tmp_path / "runs/bad.json").write_text("{")
    (tmp_path / "runs/naive.json").write_text(
        render_results(summarise(branch_run(1, started_at=branch_run(1).started_at.replace(tzinfo=None))))
    )
    assert run(["site", "--from", "runs", "--json"], {}) == 0
    found = json.loads(capsys.readouterr().out)
    assert [file["file"] for file in found["broken"]] == ["bad.json", "naive.json"]
    assert "no time zone" in found["broken"][1]["problem"]
    assert (found["runs"], found["transcripts"], found["branch"]) == (1, "none", "main")
    assert "<code>bad.json</code>" in (tmp_path / "site/index.html").read_text("utf-8")


def test_without_a_run_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/bad.json").write_text("{")
    assert run(["site", "--from", "runs"], {}) == 2
    printed = capsys.readouterr().err
    assert "There is no run in the folder 'runs'" in printed
    assert "bad.json" in printed
    assert not (tmp_path / "site").exists()


def test_a_folder_with_other_files_is_refused_before_a_run_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/mine.txt").write_text("mine")
    site_of(tmp_path, [branch_run(0)], code=2)
    assert "not of a site: 'mine.txt'" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("configuration", "branch"),
    [("", "ratiba-history"), ("system: {adapter: 'a.b:C'}\nhistory: {branch: kept-runs}\n", "kept-runs")],
    ids=["usual", "configured"],
)
def test_without_from_only_a_branch_is_read_and_no_folder_of_its_name(
    configuration: str,
    branch: str,
    repository: GitRepository,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    content = packed(render_results(summarise(branch_run(0))).encode())
    commit = repository.commit({"runs/1.json.gz": content})
    repository.git("update-ref", f"refs/heads/{branch}", commit)
    write_history(repository.folder / branch, [branch_run(1), branch_run(2)])
    if configuration:
        repository.write({".github/ratiba.yml": configuration})
    monkeypatch.chdir(repository.folder)
    assert run(["site"], {"PATH": os.environ["PATH"]}) == 0
    assert f"1 run from the branch '{branch}'" in capsys.readouterr().err
    settings = read_settings({}, {"report-dir": "none"})
    viewed = viewed_in(repository.folder, settings, {"PATH": os.environ["PATH"]})
    assert viewed.runs.source.endswith(f"the branch '{branch}'")
    if configuration:
        assert run(["status"], {"PATH": os.environ["PATH"]}) == 0
        assert f"runs of the branch '{branch}'" in capsys.readouterr().err


def test_a_branch_is_read_where_there_is_no_such_folder(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = packed(render_results(summarise(branch_run(0))).encode())
    commit = repository.commit({"runs/1.json.gz": content, "README": "Runs."})
    repository.git("update-ref", "refs/heads/ratiba-history", commit)
    monkeypatch.chdir(repository.folder)
    assert run(["site"], {"PATH": os.environ["PATH"]}) == 0
    assert "1 run from the branch 'ratiba-history'" in capsys.readouterr().err
    assert (repository.folder / "site/index.html").exists()


def test_runs_of_pull_requests_stand_in_the_list_and_count_for_no_share(tmp_path: Path) -> None:
    change = sample_report(started_at=branch_run(5).started_at)
    site = site_of(tmp_path, [branch_run(0), change])
    assert "pull request #7" in (site / "runs.html").read_text("utf-8")
    assert "0 of 1</td>" in (site / "scenarios.html").read_text("utf-8")
    assert "salon_reschedule" not in (site / "scenarios.html").read_text("utf-8")


def test_a_history_without_a_run_of_a_branch_says_so(tmp_path: Path) -> None:
    site = site_of(tmp_path, [sample_report()])
    overview = (site / "index.html").read_text("utf-8")
    assert "so there is no pass rate and no trend" in overview
    assert json.loads((site / "badge.json").read_text())["message"] == "no run"
    assert "No complete, blocking run" in (site / "metrics.html").read_text("utf-8")


def test_runs_of_a_laptop_have_shares_and_trends_of_their_own(tmp_path: Path) -> None:
    reports = [replace(branch_run(number), subject=Subject(head="a" * 40)) for number in range(3)]
    site = site_of(tmp_path, reports)
    assert "Newest run of the suite" in (site / "index.html").read_text("utf-8")
    assert "SwahiliFluencyMetric" in (site / "metrics.html").read_text("utf-8")
    assert json.loads((site / "badge.json").read_text())["message"] == "100 % passed"


def test_a_run_that_measured_nothing_changes_neither_badge_nor_trend(tmp_path: Path) -> None:
    nothing = replace(branch_run(3), results=(), verdict=Verdict(Conclusion.INCOMPLETE, "Out of budget."))
    site = site_of(tmp_path, [branch_run(0), nothing])
    assert json.loads((site / "badge.json").read_text())["message"] == "100 % passed"


def test_runs_of_the_ledger_have_lists_and_trends(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for report in long_history(4, 4):
        keep_run(report, database)
    assert run(["site", "--from", "ledger", "--to", str(tmp_path / "site")], {"RATIBA_LEDGER_URL": database}) == 0
    assert "4 runs from the ledger's database" in capsys.readouterr().err
    assert "SwahiliFluencyMetric" in (tmp_path / "site/metrics.html").read_text("utf-8")
    assert (tmp_path / "site/scenario/s02.html").exists()
    assert (tmp_path / "site/runs.html").read_text("utf-8").count("<tr data-row") == 4
