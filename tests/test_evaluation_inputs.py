import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from ratiba_action.changes.read import Change, read_change
from ratiba_action.errors import ConfigurationError, SuiteError
from ratiba_action.evaluation_inputs import EvaluationInputs, read_inputs
from ratiba_action.settings import read_settings
from ratiba_action.testing.git_repository import GitRepository

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


def inputs(folder: Path, base: Mapping[str, str], head: Mapping[str, str | None]) -> EvaluationInputs:
    """What is evaluated after a change to the files of a base commit."""
    repository = GitRepository(folder, os.environ["PATH"])
    repository.commit(base)
    repository.write(head)
    return read_inputs(read_settings({}, {}), folder, changed(folder))


def changed(folder: Path) -> Change:
    return read_change("", None, folder, os.environ)


def test_the_language_brings_its_metric(tmp_path: Path) -> None:
    (scenario,) = inputs(tmp_path, BASE, {}).suite.scenarios
    assert {entry.metric for entry in scenario.assertions} == {"BookingSlotConsistencyMetric", "SwahiliFluencyMetric"}


def test_a_change_that_relaxes_nothing_has_no_note(tmp_path: Path) -> None:
    assert inputs(tmp_path, BASE, {}).notes == ()


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


def test_a_first_configuration_holds_where_the_base_has_none(tmp_path: Path) -> None:
    found = inputs(tmp_path, {"README.md": "x"}, BASE)
    assert found.configuration.pass_rate == 0.9
    assert found.notes == ()


def test_a_base_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    found = inputs(tmp_path, {**BASE, "scenarios/talks.yaml": "id: ["}, {"scenarios/talks.yaml": SCENARIO})
    assert [note for note in found.notes if "could not be held to what its base says" in note]


def test_changed_recordings_are_said(tmp_path: Path) -> None:
    found = inputs(tmp_path, BASE, {"scenarios/recordings/talks.jsonl": ""})
    assert found.notes == ("This change edits 1 of the recordings that it is judged by: the answers are its author's.",)


def test_mistakes_of_configuration_and_scenarios_are_told_together(tmp_path: Path) -> None:
    with pytest.raises(SuiteError) as caught:
        inputs(tmp_path, BASE, {".github/ratiba.yml": "system: x\n", "scenarios/talks.yaml": "id: X Y\n"})
    assert {problem.path for problem in caught.value.problems} == {".github/ratiba.yml", "scenarios/talks.yaml"}


def test_a_missing_configuration_is_named_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"'\.github/ratiba\.yml' cannot be read"):
        inputs(tmp_path, BASE, {".github/ratiba.yml": None})
