import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.config import renamed_keys
from ratiba_action.decide.deciding import Decided
from ratiba_action.decide.observed_files import ObservedFiles
from ratiba_action.decide.read import Change, read_change
from ratiba_action.errors import ConfigurationError, FileProblem, InfrastructureError, SuiteError, UsageError
from ratiba_action.llm.recordings.lines import JudgeRecording
from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision, Subject
from ratiba_action.model.reads import Reads
from ratiba_action.run.arms import head_inputs
from ratiba_action.run.base_commit import NO_COMMON_SCENARIO, NoBase
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.inputs import Choice, RunInputs, RunRequest
from ratiba_action.run.notes import how_to_confirm, notes_of_edited_scenarios, unconfirmed
from ratiba_action.settings.settings import read_settings
from ratiba_action.util.git import Blobs, blob_id
from ratiba_action.util.strict_yaml import YamlDocument, read_yaml
from tests.support.git_repository import GitRepository

CONFIGURATION = "system: {adapter: 'shop.adapter:Adapter'}\npass_rate: 0.9\n"
SCENARIO = """\
id: talks
language: sw
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns: [{user: habari}]
assertions: [{metric: BookingSlotConsistencyMetric, threshold: 1.0}]
"""
BASE: Mapping[str, str] = {".github/ratiba.yml": CONFIGURATION, "scenarios/talks.yaml": SCENARIO}


def inputs(folder: Path, base: Mapping[str, str], head: Mapping[str, str | None]) -> RunInputs:
    """What is evaluated after a change to the files of a base commit."""
    repository = GitRepository(folder)
    repository.commit(base)
    repository.write(head)
    return read_inputs(request(folder, changed(folder)))


def request(folder: Path, change: Change) -> RunRequest:
    decided = Decided(ModeDecision(Mode.BLOCKING, ()), change)
    return RunRequest(settings=read_settings({}, {}), decided=decided, repository=folder, environment={})


def changed(folder: Path, environment: Mapping[str, str] | None = None) -> Change:
    return read_change("", None, folder, {"PATH": os.environ["PATH"], **(environment or {})})


def test_the_language_brings_its_metric(tmp_path: Path) -> None:
    (scenario,) = inputs(tmp_path, BASE, {}).suite.scenarios
    assert {entry.metric for entry in scenario.assertions} == {"BookingSlotConsistencyMetric", "SwahiliFluencyMetric"}


def test_a_file_that_the_change_left_as_it_was_is_read_once_for_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed, of_git = list[str](), list[str]()
    read_blob = Blobs.read

    def read_and_count(name: str, content: bytes) -> tuple[YamlDocument | None, tuple[FileProblem, ...]]:
        parsed.append(name)
        return read_yaml(name, content)

    def read_blob_and_count(blobs: Blobs, name: str, maximum: int) -> bytes | None:
        of_git.append(name)
        return read_blob(blobs, name, maximum)

    monkeypatch.setattr(renamed_keys, "read_yaml", read_and_count)
    monkeypatch.setattr(Blobs, "read", read_blob_and_count)
    edited = SCENARIO.replace("talks", "edited")
    inputs(tmp_path, {**BASE, "scenarios/edited.yaml": edited}, {"scenarios/edited.yaml": f"{edited}tags: [smoke]\n"})

    assert sorted(name for name in parsed if name.startswith("scenarios/")) == [
        "scenarios/edited.yaml",
        "scenarios/edited.yaml",
        "scenarios/talks.yaml",
    ]
    assert blob_id(edited.encode(), "0" * 40) in of_git
    assert blob_id(SCENARIO.encode(), "0" * 40) not in of_git


def test_a_change_that_relaxes_nothing_has_no_note(tmp_path: Path) -> None:
    assert inputs(tmp_path, BASE, {}).notes == ()


ENDPOINT = """\
providers:
  own: {api: openai, base_url: "https://models.example/v1", key: GEMINI_API_KEY}
judge: {provider: own, model: gpt-5.6, cross_check: null}
prices: {gpt-5.6: {free: true}}
"""


def _with_key(folder: Path, environment: Mapping[str, str]) -> RunInputs:
    settings = read_settings({"GEMINI_API_KEY": "planted-key"}, {})
    asked = request(folder, changed(folder, environment))
    return read_inputs(replace(asked, settings=settings, environment=dict(environment)))


def test_a_change_does_not_decide_where_keys_are_sent(tmp_path: Path) -> None:
    repository = GitRepository(tmp_path)
    repository.commit({**BASE, ".github/ratiba.yml": CONFIGURATION + ENDPOINT})
    repository.write({".github/ratiba.yml": CONFIGURATION + ENDPOINT.replace("models.example", "thief.example")})
    found = _with_key(tmp_path, {"CI": "true"})
    assert found.configuration.providers["own"].address == "https://models.example/v1"
    assert found.keys == {"own": "planted-key"}
    assert "providers" in found.from_base


@pytest.mark.parametrize(
    "base", [None, "system: [", "system: {adapter: 'shop.adapter:Adapter'}\nno_such_block: 1\n"],
    ids=["none", "no YAML", "a mistake"],
)  # fmt: skip
@pytest.mark.parametrize(("environment", "keys"), [({"CI": "true"}, {}), ({}, {"own": "planted-key"})])
def test_without_a_usable_configuration_at_the_base_a_workflow_sends_no_key_to_an_address_of_the_change(
    tmp_path: Path, base: str | None, environment: Mapping[str, str], keys: Mapping[str, str]
) -> None:
    repository = GitRepository(tmp_path)
    repository.commit({"scenarios/talks.yaml": SCENARIO, **({} if base is None else {".github/ratiba.yml": base})})
    repository.write({".github/ratiba.yml": CONFIGURATION + ENDPOINT})
    found = _with_key(tmp_path, environment)
    assert found.keys == keys
    assert "planted-key" in found.settings.secrets
    assert any("nobody has merged this configuration" in note for note in found.notes) == (not keys)


@pytest.mark.parametrize("base", [None, "system: ["], ids=["none", "no YAML"])
@pytest.mark.parametrize(("environment", "has_history"), [({"CI": "true"}, False), ({}, True)])
def test_without_a_usable_configuration_at_the_base_a_workflow_reads_no_history_that_the_change_names(
    tmp_path: Path, base: str | None, environment: Mapping[str, str], *, has_history: bool
) -> None:
    repository = GitRepository(tmp_path)
    repository.commit({"scenarios/talks.yaml": SCENARIO, **({} if base is None else {".github/ratiba.yml": base})})
    repository.write({".github/ratiba.yml": CONFIGURATION + "history: {branch: evil}\n"})
    found = read_inputs(replace(request(tmp_path, changed(tmp_path, environment)), environment=dict(environment)))
    assert (found.history is not None) == has_history


def test_a_change_that_would_repair_the_bases_judge_does_not_decide_where_keys_are_sent(tmp_path: Path) -> None:
    repository = GitRepository(tmp_path)
    broken = CONFIGURATION + "judge: {model: no-price, cross_check: null}\n"
    repository.commit({**BASE, ".github/ratiba.yml": broken})
    repository.write({".github/ratiba.yml": CONFIGURATION + ENDPOINT.replace("models.example", "thief.example")})
    given = {"GEMINI_API_KEY": "planted-key", "RATIBA_OPENAI_API_KEY": "planted-key-of-openai"}
    settings = read_settings(given, {})
    found = read_inputs(replace(request(tmp_path, changed(tmp_path)), settings=settings))
    assert dict(found.configuration.providers) == {}
    assert found.keys == {"openai": "planted-key-of-openai"}


def test_thresholds_and_the_pass_rate_are_held_to_the_base(tmp_path: Path) -> None:
    relaxed = {
        ".github/ratiba.yml": CONFIGURATION.replace("0.9", "0.2"),
        "scenarios/talks.yaml": SCENARIO.replace("threshold: 1.0", "threshold: 0.1"),
    }
    found = inputs(tmp_path, BASE, relaxed)
    assert found.configuration.pass_rate == 0.9
    thresholds = {entry.metric: entry.threshold for entry in found.suite.scenarios[0].assertions}
    assert thresholds["BookingSlotConsistencyMetric"] == 1.0
    assert len(found.notes) == 2


def test_a_lowered_threshold_of_the_metric_that_the_language_attaches_is_held_too(tmp_path: Path) -> None:
    listed = SCENARIO.replace("assertions: [", "assertions: [{metric: SwahiliFluencyMetric, threshold: 0.1}, ")
    found = inputs(tmp_path, BASE, {"scenarios/talks.yaml": listed})
    thresholds = {entry.metric: entry.threshold for entry in found.suite.scenarios[0].assertions}
    assert thresholds["SwahiliFluencyMetric"] == 0.80


SEARCH = SCENARIO.replace("language: sw", "language: fr\nsystem_type: search").replace(
    "turns: [{user: habari}]", "turns: [{user: mkate, expect: {documents: [loaf]}}]"
)
RANKED = CONFIGURATION + "metrics: {fluency: true, search: [{metric: MrrMetric, threshold: 0.9}]}\n"


def test_metrics_of_a_system_type_are_held_to_the_base_in_new_scenarios_too(tmp_path: Path) -> None:
    base = {".github/ratiba.yml": RANKED, "scenarios/talks.yaml": SEARCH}
    relaxed = RANKED.replace("true", "false").replace("MrrMetric, threshold: 0.9", "MapMetric, threshold: 0.1")
    new = SEARCH.replace("id: talks", "id: new")
    found = inputs(tmp_path, base, {".github/ratiba.yml": relaxed, "scenarios/new.yaml": new})
    for scenario in found.suite.scenarios:
        thresholds = {entry.metric: entry.threshold for entry in scenario.assertions}
        assert thresholds == {"BookingSlotConsistencyMetric": 1.0, "MrrMetric": 0.9, "MapMetric": 0.1}
    (note,) = found.notes
    assert note.endswith(": metrics.fluency.enabled true (this change: false), metrics.search.MrrMetric.")


def test_a_truth_that_only_a_metric_of_the_configuration_reads_is_read(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="no metric of the scenario reads documents"):
        inputs(tmp_path, {".github/ratiba.yml": CONFIGURATION, "scenarios/talks.yaml": SEARCH}, {})


def test_without_fluency_at_the_base_a_language_brings_no_metric(tmp_path: Path) -> None:
    found = inputs(tmp_path, {**BASE, ".github/ratiba.yml": CONFIGURATION + "metrics: {fluency: false}\n"}, {})
    (scenario,) = found.suite.scenarios
    assert [entry.metric for entry in scenario.assertions] == ["BookingSlotConsistencyMetric"]
    assert found.notes == ()


def test_fluency_that_the_base_measures_cannot_be_left_out_by_a_change(tmp_path: Path) -> None:
    found = inputs(tmp_path, BASE, {".github/ratiba.yml": CONFIGURATION + "metrics: {fluency: false}\n"})
    (scenario,) = found.suite.scenarios
    assert "SwahiliFluencyMetric" in {entry.metric for entry in scenario.assertions}
    (note,) = found.notes
    assert note.startswith("Settings that keep the base's value until this change is merged: ")
    assert note.endswith(" merged: metrics.fluency.enabled true (this change: false).")


def test_fluency_that_the_base_measures_cannot_be_left_out_by_a_change_to_the_scenario(tmp_path: Path) -> None:
    without = SCENARIO + "metrics: {fluency: false}\n"
    found = inputs(tmp_path, BASE, {"scenarios/talks.yaml": without})
    (scenario,) = found.suite.scenarios
    assert "SwahiliFluencyMetric" in {entry.metric for entry in scenario.assertions}
    assert any("SwahiliFluencyMetric" in note for note in found.notes), found.notes


def test_one_scenario_can_leave_fluency_out(tmp_path: Path) -> None:
    without = SCENARIO.replace("id: talks", "id: quiet") + "metrics: {fluency: false}\n"
    found = inputs(tmp_path, {**BASE, "scenarios/quiet.yaml": without}, {})
    measured = {scenario.id: {entry.metric for entry in scenario.assertions} for scenario in found.suite.scenarios}
    assert "SwahiliFluencyMetric" in measured["talks"]
    assert "SwahiliFluencyMetric" not in measured["quiet"]


def test_a_new_scenario_can_leave_its_own_fluency_out_and_no_other(tmp_path: Path) -> None:
    quiet = SCENARIO.replace("id: talks", "id: quiet") + "metrics: {fluency: false}\n"
    found = inputs(tmp_path, BASE, {"scenarios/quiet.yaml": quiet})
    measured = {scenario.id: {entry.metric for entry in scenario.assertions} for scenario in found.suite.scenarios}
    assert "SwahiliFluencyMetric" in measured["talks"]
    assert "SwahiliFluencyMetric" not in measured["quiet"]


def test_a_scenario_keeps_the_house_style_of_the_base(tmp_path: Path) -> None:
    english = SCENARIO.replace("language: sw", "language: en")
    style = CONFIGURATION + "metrics: {fluency: {audience: guests of a hotel}}\n"
    listed = english.replace(
        "[{metric: B", "[{metric: EnglishFluencyMetric, threshold: 0.8, with: {audience: me}}, {metric: B"
    )
    base = {**BASE, ".github/ratiba.yml": style, "scenarios/talks.yaml": english}
    found = inputs(tmp_path, base, {"scenarios/talks.yaml": listed})
    (scenario,) = found.suite.scenarios
    (fluency,) = [entry for entry in scenario.assertions if entry.metric == "EnglishFluencyMetric"]
    assert fluency.parameters == {"audience": "guests of a hotel"}


def test_a_first_configuration_holds_where_the_base_has_none(tmp_path: Path) -> None:
    found = inputs(tmp_path, {"README.md": "x"}, BASE)
    assert found.configuration.pass_rate == 0.9
    assert found.notes == ()


def test_a_base_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    found = inputs(tmp_path, {**BASE, "scenarios/talks.yaml": "id: ["}, {"scenarios/talks.yaml": SCENARIO})
    assert found.notes == ("The base could not be read in scenarios/talks.yaml, so the ratchet did not apply there.",)


def test_a_change_of_a_file_that_is_broken_on_the_base_is_confirmed_by_a_person(tmp_path: Path) -> None:
    found = inputs(tmp_path, {**BASE, "scenarios/talks.yaml": "id: ["}, {"scenarios/talks.yaml": SCENARIO})
    assert found.unratcheted == ("scenarios/talks.yaml",)
    assert how_to_confirm(found, silenced=False) is None, "nobody could confirm it on a laptop"
    change = replace(found.decided.change, subject=Subject(event="pull_request", pull_request=7, head="a" * 40))
    asked = replace(found, decided=replace(found.decided, change=change))
    assert f"with pull-request: 7 and commit: {'a' * 40}." in (how_to_confirm(asked, silenced=False) or "")
    assert unconfirmed(asked).startswith("The base's scenarios/talks.yaml cannot be used")
    confirmed = replace(asked, decided=replace(asked.decided, change=replace(change, confirmed=True)))
    assert how_to_confirm(confirmed, silenced=False) is None


GRADE = {
    "kind": "judge", "key": "ab" * 32, "ordinal": 0, "source": "live", "metric": "swahili_fluency:1.0.0",
    "model": "judge", "transcript": "cd" * 32, "score": 0.1, "reason": "Stiff.",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip
RECORDING = "scenarios/recordings/talks.jsonl"


def test_recordings_of_the_base_that_cannot_be_read_leave_a_base_that_should_have_been_measured(tmp_path: Path) -> None:
    found = inputs(tmp_path, {**BASE, RECORDING: "{"}, {RECORDING: json.dumps(GRADE) + "\n"})
    assert isinstance(found.base, NoBase)
    assert found.base.failed
    assert found.base.reason.startswith("the base's recordings cannot be read")


def test_a_base_that_git_could_not_be_asked_for_should_have_been_measured(tmp_path: Path) -> None:
    known = inputs(tmp_path, BASE, {}).decided.change
    unasked = replace(known, git=None, files=ChangedFiles((), doubt="git could not be run"), unread=True)
    assert read_inputs(request(tmp_path, unasked)).base == NoBase("git could not be run", failed=True)


def test_a_change_that_gives_one_side_a_database_does_not_end_the_comparison(tmp_path: Path) -> None:
    without = CONFIGURATION.replace("{adapter", "{database: false, adapter")
    found = inputs(tmp_path, BASE, {".github/ratiba.yml": without})
    assert found.base == NoBase("only one of both sides has a database (system.database)", failed=True)


def test_a_change_of_every_scenario_has_nothing_to_compare_with_and_the_report_says_so(tmp_path: Path) -> None:
    found = inputs(tmp_path, BASE, {"scenarios/talks.yaml": SCENARIO.replace("habari", "mambo")})
    assert found.base == NoBase(NO_COMMON_SCENARIO)
    assert notes_of_edited_scenarios(found)[0].startswith("No scenario of this change is also on the base")


def test_votes_that_a_change_leaves_out_of_its_recordings_stay(tmp_path: Path) -> None:
    votes = [{**GRADE, "key": f"{number}b" * 32, "ordinal": number} for number in range(3)]
    lines = "".join(json.dumps(vote) + "\n" for vote in votes)
    found = inputs(tmp_path, {**BASE, RECORDING: lines}, {RECORDING: json.dumps(votes[0]) + "\n"})
    kept = head_inputs(found).recordings["talks"]
    assert [line.ordinal for line in kept if isinstance(line, JudgeRecording)] == [0, 1, 2]


def test_changed_recordings_are_said(tmp_path: Path) -> None:
    found = inputs(tmp_path, BASE, {"scenarios/recordings/talks.jsonl": ""})
    assert found.edited_recordings == 1


READS = '{"files":["agent.py"],"kind":"reads","sent":{}}\n'


@pytest.mark.parametrize("before", ["", json.dumps(GRADE) + "\n"])
def test_what_a_scenario_was_seen_to_read_is_no_change_of_a_recording(tmp_path: Path, before: str) -> None:
    base = {**BASE, RECORDING: READS + before}
    found = inputs(tmp_path, base, {RECORDING: READS.replace("agent", "other") + before})
    assert found.edited_recordings == 0
    assert inputs(tmp_path / "more", base, {RECORDING: before + json.dumps(GRADE | {"ordinal": 1})}).edited_recordings


def test_a_grade_of_the_base_holds_where_a_change_rewrites_it(tmp_path: Path) -> None:
    found = inputs(
        tmp_path,
        {**BASE, RECORDING: json.dumps(GRADE) + "\n"},
        {RECORDING: json.dumps({**GRADE, "score": 1.0}) + "\n"},
    )
    assert {key: grade.score for key, grade in found.base_scores.items()} == {"ab" * 32: 0.1}


def test_a_pull_request_without_its_base_commit_cannot_be_held_and_is_not_run(tmp_path: Path) -> None:
    GitRepository(tmp_path).commit(BASE)
    unknown = replace(changed(tmp_path), files=ChangedFiles(("a",)), subject=Subject(pull_request=7))
    with pytest.raises(InfrastructureError, match="fetch-depth: 2"):
        read_inputs(request(tmp_path, unknown))


@pytest.mark.parametrize("name", [".github/ratiba.yml", "scenarios/talks.yaml"])
def test_a_link_is_not_followed_and_nothing_behind_it_is_reported(tmp_path: Path, name: str) -> None:
    folder, secret = tmp_path / "repository", tmp_path / "secret"
    secret.write_text("planted-secret")
    repository = GitRepository(folder)
    repository.commit(BASE)
    (folder / name).unlink()
    (folder / name).symlink_to(secret)
    with pytest.raises(ConfigurationError, match="symbolic link") as caught:
        read_inputs(request(folder, changed(folder)))
    assert "planted" not in str(caught.value)


def test_mistakes_of_configuration_and_scenarios_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as caught:
        inputs(tmp_path, BASE, {".github/ratiba.yml": "system: x\n", "scenarios/talks.yaml": "id: X Y\n"})
    assert {problem.path for problem in caught.value.problems} == {".github/ratiba.yml", "scenarios/talks.yaml"}


def test_a_missing_configuration_is_named_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"the file '\.github/ratiba\.yml' does not exist\. Run: ratiba init"):
        inputs(tmp_path, BASE, {".github/ratiba.yml": None})


def _score(metric: str, model: str) -> str:
    line = {
        "kind": "judge", "key": "ab" * 32, "ordinal": 0, "source": "live", "metric": metric, "model": model,
        "transcript": "cd" * 32, "score": 0.9, "reason": "Good.", "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    return json.dumps(line) + "\n"


@pytest.mark.parametrize(
    ("metric", "model", "runs"),
    [
        ("swahili_fluency:1.0.0", "own-judge", True),
        ("swahili_fluency:0.9.0", "own-judge", False),
        ("swahili_fluency:1.0.0", "former-judge", False),
    ],
)
def test_a_score_of_another_rubric_or_judge_does_not_make_a_scenario_one_that_costs_nothing(
    tmp_path: Path, metric: str, model: str, *, runs: bool
) -> None:
    judge = "judge: {provider: openai, model: own-judge, cross_check: null}\nprices: {own-judge: {free: true}}\n"
    files = {
        ".github/ratiba.yml": CONFIGURATION.replace("Adapter'}", "Adapter', price_per_turn_usd: 0}") + judge,
        "scenarios/talks.yaml": SCENARIO,
        "scenarios/recordings/talks.jsonl": _score(metric, model),
    }
    repository = GitRepository(tmp_path)
    repository.commit(files)
    repository.write({"other.py": "changed = True\n"})
    asked = request(tmp_path, changed(tmp_path))
    decided = replace(asked.decided, decision=ModeDecision(Mode.ADVISORY, ()))
    selection = read_inputs(replace(asked, decided=decided)).selection
    assert selection.free == (("talks",) if runs else ())
    assert selection.left_out == (() if runs else ("talks",))


SEEN = ObservedFiles({"talks": Reads(("system.py",), {}), "walks": Reads(("knowledge/",), {})})


def affected(folder: Path, head: Mapping[str, str | None]) -> list[str]:
    """The scenarios that a change to a repository of two affects."""
    repository = GitRepository(folder)
    second = SCENARIO.replace("id: talks", "id: walks")
    repository.commit({**BASE, "scenarios/walks.yaml": second, "knowledge/returns.md": "a", "unread.txt": "a"})
    repository.write(head)
    asked = request(folder, changed(folder))
    asked = replace(asked, decided=replace(asked.decided, observed=SEEN), choice=Choice(affected=True))
    return [scenario.id for scenario in read_inputs(asked).selection.scenarios]


def test_affected_runs_the_scenarios_that_read_what_changed(tmp_path: Path) -> None:
    assert affected(tmp_path, {"knowledge/returns.md": "b"}) == ["walks"]


def test_affected_without_any_such_scenario_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No scenario depends on what changed"):
        affected(tmp_path, {"unread.txt": "b"})
