"""``ratiba site --with``: what other commands measured stands beside the runs."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.main import run
from ratiba_action.production.drift import MetricDrift
from ratiba_action.publish.site.elsewhere import DriftedMetric, LabelAgreement
from ratiba_action.verdict.human_agreement import HumanAgreement
from tests.support.elsewhere_files import CALIBRATION, CANARY, DRIFT, MUTATION, SAMPLE
from tests.support.run_history import branch_run, write_history

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def _runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_history(tmp_path / "runs", [branch_run(0)])


def site(*found: dict[str, Any], code: int = 0) -> Path:
    options = list[str]()
    for number, content in enumerate(found):
        Path(f"{number}.json").write_text(json.dumps(content))
        options += ["--with", f"{number}.json"]
    assert run(["site", "--from", "runs", *options], {}) == code
    return Path("site")


def test_a_scenario_names_the_lines_that_it_protects() -> None:
    page = (site(MUTATION) / "scenario/spa_booking.html").read_text("utf-8")
    assert "<code>app/booking.py</code>, lines 3, 7-8</li>" in page
    assert "Be kind." not in page
    none = (site({**MUTATION, "lines": []}) / "scenario/spa_booking.html").read_text("utf-8")
    assert "None of those that the last" in none
    assert "ratiba site --with mutation.json" in (site() / "scenario/spa_booking.html").read_text("utf-8")


def test_judges_have_their_kappa_with_people() -> None:
    page = (site(CALIBRATION) / "judges.html").read_text("utf-8")
    assert '<td data-label="kappa" class="n">0.81</td>' in page
    assert '<td data-label="labels" class="n">40</td>' in page


def test_the_overview_says_when_people_label_again() -> None:
    def overview(**schedule: str | None) -> str:
        return (site({**CALIBRATION, "schedule": {"owner": "ann", **schedule}}) / "index.html").read_text("utf-8")

    assert '<p class="big">2026-12-07</p><p>ann' in overview(due=None, next="2026-12-07")
    assert "since 2026-11-02, ann" in overview(due="2026-11-02", next="2026-12-07")
    assert "Labels for the judges" not in (site() / "index.html").read_text("utf-8")


def test_production_has_sample_feedback_drift_and_canary_and_their_texts_are_masked() -> None:
    page = (site(SAMPLE, DRIFT, CANARY) / "production.html").read_text("utf-8")
    assert "420 conversations, 21 of them measured, 1 below a threshold" in page
    assert "12 positive, 5 negative" in page
    assert "SwahiliFluencyMetric" in page
    assert "<strong>continue</strong>. v2 with 100 conversations, v1 with 900." in page
    assert "Too few conversations of" in page
    assert "712345" not in page
    assert "secret words" not in page


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "'more.json' is no JSON"),
        ("[" * 100_000, "'more.json' is no JSON"),
        ("[]", "is not what a command of the gate prints"),
        ('{"a": 1}', "is not what a command of the gate prints"),
        (json.dumps({**MUTATION, "lines": [{"file": "a", "line": 0, "scenarios": []}]}), "lines.0.line"),
        (json.dumps({**CALIBRATION, "agreements": [{"judge": 7}]}), "agreements.0.judge"),
    ],
)
def test_another_file_is_refused_by_its_name_and_nothing_is_written(
    content: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("more.json").write_text(content)
    assert run(["site", "--from", "runs", "--with", "more.json"], {}) == 2
    printed = capsys.readouterr().err
    assert why in printed
    assert "ratiba mutate" in printed
    assert not Path("site").exists()


def test_a_file_that_is_missing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["site", "--from", "runs", "--with", "missing.json"], {}) == 2
    assert "'missing.json' cannot be read" in capsys.readouterr().err


def test_hostile_texts_of_files_stay_texts() -> None:
    text = "</script><img src=x onerror=alert(1)>"
    hostile = {**CANARY, "answer": text, "reasons": [text], "stable": {"name": text, "conversations": 1}}
    mutated = {**MUTATION, "lines": [{"file": text, "line": 1, "scenarios": ["spa_booking"]}]}
    pages = site(hostile, mutated)
    for page in pages.rglob("*.html"):
        assert "<img" not in page.read_text("utf-8")


def test_what_a_command_really_prints_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    samples = str(EXAMPLES / "production/canary.jsonl")
    versions = ["--by", "prompt_version", "--stable", "booking@3f9c1a2", "--canary", "booking@8d0b7e4", "--share", "1"]
    window = ["--since", "2026-11-20T00:00:00+00:00", "--until", "2026-11-22T06:00:00+00:00"]
    assert run(["canary", "--samples", samples, *versions, *window, "--json"], {}) == 1
    page = (site(json.loads(capsys.readouterr().out)) / "production.html").read_text("utf-8")
    assert "<strong>roll back</strong>. booking@8d0b7e4 with 49 conversations, booking@3f9c1a2 with 75." in page


def test_the_fields_that_are_read_are_those_of_calibrate_and_drift() -> None:
    assert set(LabelAgreement.model_fields) <= {field.name for field in fields(HumanAgreement)} | {"status"}
    assert set(DriftedMetric.model_fields) <= {field.name for field in fields(MetricDrift)}
