"""A run of the gate as its command starts it, with a decision that the test makes: no git, no event, no process."""

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.decide.refusals import refused_event
from ratiba_action.model.change import ChangedFiles, Mode, Subject
from ratiba_action.model.comparison import Comparison, Tier
from ratiba_action.model.conversation import Reply
from ratiba_action.model.measurement import Case, Score
from tests.support.gate_without_git import GateWithoutGit, decided
from tests.support.live_repository import report_of
from tests.support.small_repository import Ended

GOOD, BAD = [Reply("hello", state="SAID")], [Reply("hello", state="SUNG")]


@pytest.fixture
def gate(tmp_path: Path) -> GateWithoutGit:
    """Two scenarios, one of which fails."""
    found = GateWithoutGit(folder=tmp_path, answers={"sings": BAD, "talks": GOOD})
    found.scenario("sings")
    found.scenario("talks")
    return found


def ran(ended: Ended) -> set[str]:
    return {result.trial.scenario.id for result in report_of(ended).results}


@pytest.mark.parametrize(
    ("mode", "code", "conclusion"),
    [(Mode.BLOCKING, 1, "failed"), (Mode.ADVISORY, 0, "failed"), (Mode.SKIP, 0, "skipped")],
)
def test_the_mode_that_was_decided_sets_the_exit_code(
    gate: GateWithoutGit, mode: Mode, code: int, conclusion: str
) -> None:
    gate.scenario("sings", "tags: [smoke]\n")  # an advisory run has it too
    ended = gate.gate(decided(mode))
    assert (ended.code, ended.outputs["conclusion"], ended.outputs["mode"]) == (code, conclusion, mode.value)


def test_a_selection_asks_for_a_blocking_run_and_says_why(gate: GateWithoutGit) -> None:
    ended = gate.gate(scenarios=("talks",), tags=("smoke",), environment={"RATIBA_MODE": "advisory"})
    assert ended.code == 2, "no scenario has the tag"
    ended = gate.gate(scenarios=("talks",))
    assert ended.code == 0, ended.printed
    assert "Only 1 of 2 scenarios was selected." in ended.comment
    first, second = gate.requests
    assert (first.floor, first.floor_why) == (Mode.BLOCKING, "--scenario and --tag selects the scenarios to run")
    assert second.floor_why == "--scenario selects the scenarios to run"


def test_an_event_that_the_gate_does_not_run_on_measures_nothing(gate: GateWithoutGit) -> None:
    refused = decided(refused=refused_event("pull_request_target"), subject=Subject(event="pull_request_target"))
    ended = gate.gate(refused)
    assert ended.code == 2, ended.printed
    assert "pull_request_target" in ended.printed
    assert not gate.report.exists()


def test_what_is_wrong_with_rules_and_event_is_said_at_once_and_nothing_is_written(gate: GateWithoutGit) -> None:
    found = decided()
    wrong = type(found)(found.decision, found.change, wrong_rules=("rules: no mode",), wrong_event=("event: no JSON",))
    ended = gate.gate(wrong, event="event.json")
    assert ended.code == 2
    assert "rules: no mode" in ended.printed
    assert "event: no JSON" in ended.printed
    assert not gate.report.exists()
    left_by_a_runner = gate.gate(type(found)(found.decision, found.change, wrong_event=("event: no JSON",)))
    assert left_by_a_runner.code == 1, "nobody has named the event, so it is a doubt of the decision alone"


def test_a_change_that_nobody_has_merged_spends_no_key(gate: GateWithoutGit) -> None:
    found = decided(subject=Subject(event="schedule"), unmerged="The base is not known.")
    key = {"RATIBA_ANTHROPIC_API_KEY": "sk-ant-0123456789", "GITHUB_ACTIONS": "true"}
    ended = gate.gate(found, {"llm": "live"}, key)
    assert ended.code == 3, ended.printed
    why = "No key, ledger or token is used, because nobody has merged this configuration. The base is not known."
    assert f"No model is called. {why}" in ended.comment
    assert report_of(ended).results == ()


def test_the_failed_ones_of_the_last_run_can_be_run_alone(gate: GateWithoutGit) -> None:
    missing = gate.gate(failed=True)
    assert missing.code == 2
    assert "There is no report of a last run" in missing.printed
    assert gate.gate().code == 1
    fixed = GateWithoutGit(folder=gate.folder, answers={"sings": GOOD, "talks": GOOD})
    ended = fixed.gate(failed=True)
    assert ended.code == 0, ended.printed
    assert ran(ended) == {"sings"}
    again = fixed.gate(failed=True)
    assert again.code == 2
    assert "passed. Run: ratiba gate. Or name scenarios with --scenario." in again.printed


def test_a_dry_run_names_mode_and_plan_and_writes_nothing(gate: GateWithoutGit) -> None:
    ended = gate.gate(dry_run=True, environment={"RATIBA_DATABASE_URL": "postgresql://127.0.0.1:1/none"})
    assert ended.code == 0, ended.printed
    assert "Would run 2 scenarios with 2 turns," in ended.printed
    assert not gate.report.exists()


# A baseline that was named, in replay: what is the same is compared exactly, and what is not gives no number.

NAMES = ("asks", "greets")
METRIC = "EnglishFluencyMetric"


class Fluency:
    """Implements ``Metric`` with one score."""

    name, version, judged = METRIC, "1", True

    async def measure(self, _case: Case, threshold: float) -> Score:
        return Score(self.name, self.version, 0.9, threshold, judged=True, reason="it reads well")


@pytest.fixture
def judged(tmp_path: Path) -> GateWithoutGit:
    """Two scenarios with a judged score each."""
    found = GateWithoutGit(folder=tmp_path, answers=dict.fromkeys(NAMES, GOOD), metric=lambda _: Fluency())
    for name in NAMES:
        found.scenario(name, f"assertions: [{{metric: {METRIC}, threshold: 0.5}}]\n")
    return found


def earlier_run(gate: GateWithoutGit, path: Path) -> dict[str, Any]:
    """Leave the results of a run, and give them as a test may change them."""
    ended = gate.gate(baseline_out=path)
    assert ended.code == 0, ended.printed
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def comparison_of(ended: Ended) -> Comparison:
    found = report_of(ended).verdict.comparison
    assert found is not None, ended.printed
    return found


def test_the_same_answers_are_unchanged_exactly_and_a_broken_file_is_refused(
    judged: GateWithoutGit, tmp_path: Path
) -> None:
    file = tmp_path / "earlier.json"
    earlier_run(judged, file)
    same = judged.gate(inputs={"baseline": str(file)})
    found, facts = comparison_of(same), report_of(same).baseline
    assert same.code == 0, same.printed
    assert (found.exact, found.difference, found.tier) == (True, 0.0, Tier.WITHIN_NOISE)
    assert [scenario.scenario_id for scenario in found.scenarios] == list(NAMES)
    assert "**No change.**" in same.comment
    assert facts is not None
    assert (facts.source, facts.stale) == (str(file), False)

    file.write_text(file.read_text()[:-100])
    broken = judged.gate(inputs={"baseline": str(file)})
    assert broken.code == 2, broken.printed
    assert "baseline (RATIBA_BASELINE): " in broken.printed
    assert "earlier.json" in broken.printed


@pytest.mark.parametrize("name", ["merged.json", "merged.json.gz"])
def test_the_merged_results_of_a_large_run_are_a_baseline(judged: GateWithoutGit, tmp_path: Path, name: str) -> None:
    content = earlier_run(judged, tmp_path / "earlier.json")
    results = content["report"]["results"]
    copies = 24_000_000 // len(json.dumps(results))
    for number in range(copies):
        for result in copy.deepcopy(results[: len(NAMES)]):
            scenario = result["trial"]["scenario"]
            scenario["id"] = result["transcript"]["scenario_id"] = f"{scenario['id']}_{number}"
            results.append(result)
    text = json.dumps(content).encode()
    assert len(text) > 20_000_000
    file = tmp_path / name
    file.write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
    ended = judged.gate(inputs={"baseline": str(file)})
    found = comparison_of(ended)
    assert ended.code == 0, ended.printed
    assert (found.exact, found.difference, found.tier) == (True, 0.0, Tier.WITHIN_NOISE)
    assert [scenario.scenario_id for scenario in found.scenarios] == list(NAMES)


def judged_by_another(report: dict[str, Any]) -> None:
    report["judge_model"] = "claude-opus-4"


def of_another_scenario(report: dict[str, Any]) -> None:
    report["scenario_digests"] = dict.fromkeys(report["scenario_digests"], "0" * 64)


def of_another_version(report: dict[str, Any]) -> None:
    for result in report["results"]:
        for score in result["scores"]:
            score["version"] = "0.9.0"


@pytest.mark.parametrize(
    ("change", "metric", "why"),
    [
        (judged_by_another, METRIC, "its judge is claude-opus-5-5 here and was claude-opus-4 on the base"),
        (of_another_scenario, "", "the scenario is another one than the base's"),
        (of_another_version, METRIC, "and was 0.9.0 on the base"),
    ],
)
def test_another_judge_scenario_or_version_is_not_comparable_and_never_a_delta(
    judged: GateWithoutGit, tmp_path: Path, change: Callable[[dict[str, Any]], None], metric: str, why: str
) -> None:
    file = tmp_path / "earlier.json"
    content = earlier_run(judged, file)
    change(content["report"])
    file.write_text(json.dumps(content))
    ended = judged.gate(inputs={"baseline": str(file)})
    found = comparison_of(ended)
    assert ended.code == 0, ended.printed
    assert (found.tier, found.scenarios, found.difference) == (Tier.NOT_COMPARABLE, (), None)
    assert [(left.scenario_id, left.metric) for left in found.not_comparable] == [(name, metric) for name in NAMES]
    assert all(why in left.reason for left in found.not_comparable), found.not_comparable
    assert "not comparable" in ended.comment.lower()
    assert "| all scenarios |" not in ended.comment


def test_what_the_change_may_have_edited_is_no_baseline(judged: GateWithoutGit) -> None:
    file = judged.folder / "earlier.json"
    earlier_run(judged, file)
    edited = decided(files=ChangedFiles(("earlier.json",)))
    ended = judged.gate(edited, {"baseline": str(file)})
    assert ended.code == 3, ended.printed
    assert "its base is not in this clone" in ended.comment
