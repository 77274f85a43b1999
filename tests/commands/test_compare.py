"""``ratiba compare`` and ``ratiba report --diff``: earlier results side by side, whoever wrote them."""

from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from ratiba_action.model.measurement import NotRun
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from tests.support.command_run import CommandRun
from tests.support.sample_report import (
    sample_check,
    sample_report,
    sample_score,
    sample_scored,
    sample_trial,
)

SCATTER = (0.03, -0.02, 0.0, 0.05, -0.04, 0.01, -0.03, 0.02, 0.04, -0.05, 0.0, 0.01)


def write(folder: Path, name: str, shift: float = 0.0, **changes: Any) -> str:
    """The results of twelve live conversations whose scores lie around 0.9 less the shift."""
    results = tuple(
        sample_scored(f"spa_{n:02}", scores=(sample_score(0.9 - shift + SCATTER[(n * 5 + len(name)) % 12]),))
        for n in range(12)
    )
    report = sample_report(**({"results": results, "llm": "live", "judge_model": "claude-opus-5-5"} | changes))
    (folder / name).write_text(render_results(summarise(report)))
    return name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_two_runs_side_by_side(folder: Path, snapshot: SnapshotAssertion, ratiba: CommandRun) -> None:
    assert ratiba("compare", write(folder, "main.json"), write(folder, "change.json", 0.1)) == snapshot


def test_another_judge_is_not_comparable_and_has_no_difference(
    folder: Path, snapshot: SnapshotAssertion, ratiba: CommandRun
) -> None:
    names = write(folder, "a.json"), write(folder, "b.json"), write(folder, "c.json", judge_model="gpt-5.6")
    shown = ratiba("compare", *names)
    assert shown == snapshot
    assert "not comparable: its judge is gpt-5.6 here and was claude-opus-5-5 on the base" in shown


def test_as_json_every_pair_has_its_comparison(folder: Path, ratiba: CommandRun) -> None:
    names = [write(folder, f"{letter}.json") for letter in "abcdef"]
    output = ratiba.json("compare", *names)
    assert [one["path"] for one in output["runs"]] == names
    assert {one["conclusion"] for one in output["runs"]} == {"failed"}
    pairs = [(one["base"], one["head"]) for one in output["comparisons"]]
    assert (len(pairs), pairs[0], pairs[-1]) == (15, ("A", "B"), ("E", "F"))
    assert {one["comparison"]["tier"] for one in output["comparisons"]} == {"within noise"}


def test_a_report_directory_may_be_named(folder: Path, ratiba: CommandRun) -> None:
    (folder / "report").mkdir()
    write(folder / "report", "results.json")
    assert "| A | `report` |" in ratiba("compare", "report", write(folder, "b.json"))


def test_what_one_run_did_not_hold_has_no_score_there(folder: Path, ratiba: CommandRun) -> None:
    stopped = (
        *(sample_scored(f"spa_{n:02}", scores=(sample_score(),)) for n in range(11)),
        NotRun(sample_trial("spa_11"), "No money."),
    )
    (row,) = [
        line
        for line in ratiba("compare", write(folder, "a.json"), write(folder, "b.json", results=stopped)).splitlines()
        if line.startswith("| `spa_11` |")
    ]
    assert row.endswith("| not run | not comparable: this change has no scores of it |")


@pytest.mark.parametrize("count", [1, 7])
def test_too_few_and_too_many_are_refused(folder: Path, count: int, ratiba: CommandRun) -> None:
    ratiba("compare", *[write(folder, "a.json")] * count, code=2)
    assert f"ratiba compare got {count} run" in ratiba.err


def test_all_problems_of_all_files_are_reported_at_once(folder: Path, ratiba: CommandRun) -> None:
    (folder / "empty.json").write_text("")
    (folder / "deep.json").write_text("[" * 100_000)
    names = ["missing.json", "empty.json", "deep.json", write(folder, "unmeasured.json", results=())]
    ratiba("compare", *names, code=2)
    assert ratiba.out == ""
    for name in names:
        assert repr(name) in ratiba.err


def test_no_text_of_a_file_becomes_markdown_or_a_command(folder: Path, ratiba: CommandRun) -> None:
    hostile = "::error::x <script> | ![i](//e.example)\n\n# x"
    results = (sample_scored(hostile, scores=(sample_score(metric=hostile, version=hostile),)),)
    written: dict[str, Any] = {"results": results, "judge_model": hostile, "commit": hostile}
    names = write(folder, "a.json", **written), write(folder, "b.json", **written)
    ratiba("compare", *names)
    shown = ratiba("report", "--results", names[0], "--diff", names[1])
    for raw in ("::error", "<script>", "![i]", "\n# x"):
        assert raw not in shown


def test_the_last_run_is_shown_beside_a_base(folder: Path, snapshot: SnapshotAssertion, ratiba: CommandRun) -> None:
    (folder / "ratiba-report").mkdir()
    broken = tuple(
        sample_scored(f"spa_{n:02}", (sample_check(passed=n > 0),), (sample_score(),), reply="Ndio.") for n in range(12)
    )
    write(folder / "ratiba-report", "results.json", results=broken)
    assert ratiba("report", "--diff", write(folder, "base.json")) == snapshot


def test_the_difference_as_json_is_that_of_the_results(folder: Path, ratiba: CommandRun) -> None:
    names = write(folder, "head.json", 0.1), write(folder, "base.json")
    output = ratiba.json("report", "--results", names[0], "--diff", names[1])
    assert output["baseline"]["source"] == "base.json"
    assert output["comparison"]["difference"] == pytest.approx(-0.1, abs=0.01)


def test_a_base_that_cannot_be_read_is_misuse(folder: Path, ratiba: CommandRun) -> None:
    ratiba("report", "--results", write(folder, "head.json"), "--diff", "missing.json", code=2)
    assert "'missing.json'" in ratiba.err


CONFIGURATION = "system:\n  command: [my-bot]\ncomparison:\n"


def further_trials(ratiba: CommandRun, *arguments: str) -> int | None:
    """What a comparison of few scenarios has and another has not."""
    further: int | None = ratiba.json("compare", *arguments)["comparisons"][0]["comparison"]["further_trials"]
    return further


def test_the_rules_are_those_of_the_configuration(folder: Path, ratiba: CommandRun) -> None:
    names = write(folder, "a.json"), write(folder, "b.json")
    (folder / "own.yml").write_text(CONFIGURATION + "  min_scenarios: 13\n")
    assert further_trials(ratiba, *names) is None
    assert further_trials(ratiba, *names, "--config", "own.yml") == 120
    (folder / ".github").mkdir()
    (folder / "own.yml").rename(folder / ".github" / "ratiba.yml")
    assert further_trials(ratiba, *names) == 120
    assert ratiba.json("report", "--results", names[0], "--diff", names[1])["comparison"]["further_trials"] == 120


@pytest.mark.parametrize("command", [["compare", "a.json", "b.json"], ["report", "--diff", "a.json"]])
def test_a_configuration_that_is_wrong_or_missing_is_misuse(
    folder: Path, command: list[str], ratiba: CommandRun
) -> None:
    write(folder, "a.json"), write(folder, "b.json")
    (folder / "own.yml").write_text(CONFIGURATION + "  min_margin: 7\n")
    ratiba(*command, "--config", "own.yml", code=2)
    assert "own.yml:4: comparison.min_margin" in ratiba.err
    ratiba(*command, "--config", "missing.yml", code=2)
    assert "the file 'missing.yml' does not exist" in ratiba.err
