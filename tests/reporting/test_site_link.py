"""The comment leads to the site of all runs, where its address is known."""

import json
from pathlib import Path

import pytest

from ratiba_action.main import run
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.summary import summarise
from tests.support.run_history import branch_run, write_history
from tests.support.sample_report import sample_report

SITE = "https://ratiba.github.io/assistant"


def last_line(report: Report) -> str:
    return render_comment(summarise(report)).strip().splitlines()[-1]


@pytest.mark.parametrize("address", [SITE, f"{SITE}/"])
def test_a_pull_request_is_led_to_the_site(address: str) -> None:
    assert last_line(sample_report(site=address)).endswith(f" Earlier runs: [the history]({SITE}/).")


def test_a_run_of_the_branch_is_led_to_the_page_that_the_site_has_of_it(tmp_path: Path) -> None:
    report = branch_run(3, site=SITE)
    write_history(tmp_path / "runs", [report])
    assert run(["site", "--from", str(tmp_path / "runs"), "--to", str(tmp_path / "site")], {}) == 0
    files = json.loads((tmp_path / "site/site.json").read_text())["files"]
    (page,) = (name for name in files if name.startswith("run/"))
    assert last_line(report).endswith(f" Earlier runs: [the history]({SITE}/{page}).")


@pytest.mark.parametrize("address", ["", "http://a.example", "javascript:alert(1)", "https://a.example/)[x](//evil"])
def test_what_is_no_address_is_no_link(address: str) -> None:
    assert "the history" not in render_comment(summarise(sample_report(site=address)))
