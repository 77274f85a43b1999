"""A results.json as a run to compare with: untrusted, masked, and refused in words."""

import contextlib
import json
import math
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.history.results import load_baseline, measured_run
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Subject
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.measurement import NotRun
from ratiba_action.model.plan import Arm
from ratiba_action.model.verdict import Report
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.verdict.pairing import content_digest, pair_up
from tests.support.sample_report import sample_report, sample_score, sample_scored, sample_trial

RESULT = sample_scored(scores=(sample_score(0.9),))
DIGESTS = {"spa_booking": content_digest(RESULT.trial.scenario)}


def report(**changes: Any) -> Report:
    return sample_report(**{"results": (RESULT,), "scenario_digests": DIGESTS} | changes)


def written(folder: Path, reported: Report) -> Path:
    path = folder / "results.json"
    path.write_text(render_results(summarise(Redactor().report(reported))), encoding="utf-8")
    return path


def read_baseline(path: Path, repository: str = "") -> MeasuredRun:
    return measured_run(load_baseline(path.read_bytes()), repository)


def test_a_written_and_masked_report_is_read_as_the_run_that_it_was(tmp_path: Path) -> None:
    run = read_baseline(written(tmp_path, report()), "ratiba/assistant")
    assert (run.judge_model, run.answers, run.commit) == ("claude-opus-5-5", "mixed", report().subject.head)
    assert [score.value for result in run.results for score in getattr(result, "scores", ())] == [0.9]


def test_the_masking_of_identifiers_makes_no_other_scenario_of_it(tmp_path: Path) -> None:
    ours = MeasuredRun(None, report().started_at, "claude-opus-5-5", AnswerOrigin.MIXED, (RESULT,))
    theirs = read_baseline(written(tmp_path, report()))
    assert theirs.results[0].trial.scenario != RESULT.trial.scenario
    pairs, left = pair_up([ours], [theirs])
    assert ([pair.scenario_id for pair in pairs], left) == (["spa_booking"], ())


def test_a_scenario_whose_identifiers_changed_is_another_one_though_both_are_masked_alike(tmp_path: Path) -> None:
    theirs = read_baseline(written(tmp_path, report()))
    customer = replace(RESULT.trial.scenario.customer, phone="+254 712 999 432")
    changed = sample_scored(scores=(sample_score(0.9),), customer=customer)
    pairs, left = pair_up(
        [MeasuredRun(None, report().started_at, "claude-opus-5-5", AnswerOrigin.MIXED, (changed,))], [theirs]
    )
    assert pairs == ()
    assert [one.reason for one in left] == ["the scenario is another one than the base's"]


def test_another_judge_is_not_compared_with(tmp_path: Path) -> None:
    theirs = read_baseline(written(tmp_path, report(judge_model="gpt-6")))
    pairs, left = pair_up(
        [MeasuredRun(None, report().started_at, "claude-opus-5-5", AnswerOrigin.MIXED, (RESULT,))], [theirs]
    )
    assert pairs == ()
    assert left[0].reason == "its judge is claude-opus-5-5 here and was gpt-6 on the base"


def test_only_the_run_itself_is_the_baseline_of_others_not_what_it_was_compared_with(tmp_path: Path) -> None:
    base = replace(RESULT, trial=replace(RESULT.trial, arm=Arm("base", "checkout")))
    run = read_baseline(written(tmp_path, report(results=(RESULT, base))))
    assert [result.trial.arm.name for result in run.results] == ["head"]


def test_every_reason_not_to_compare_is_reported_at_once(tmp_path: Path) -> None:
    wrong = report(
        subject=Subject(repository="someone/else"),
        llm="record",
        started_at=datetime(2026, 4, 25),  # noqa: DTZ001 - what is refused
        results=(NotRun(sample_trial(), "The budget was used up."),),
    )
    with pytest.raises(ConfigurationError) as caught:
        read_baseline(written(tmp_path, wrong), "ratiba/assistant")
    assert caught.value.problem == (
        "The results cannot be compared with: they are of the repository 'someone/else', not of 'ratiba/assistant'; "
        "their answers came from 'record', and must come from live, mixed, replay; "
        "the time '2026-04-25T00:00:00' has no time zone; it has no measured scenario."
    )


@pytest.mark.parametrize("value", [math.nan, 1.5, -0.1, 1e14])
def test_a_score_that_is_none_would_poison_every_mean_and_is_refused(value: float) -> None:
    wrong = report(results=(sample_scored(scores=(sample_score(value),)),))
    with pytest.raises(ConfigurationError, match="not from 0 to 1"):
        measured_run(wrong)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "could not be read as JSON"),
        (b"[" * 100_000, "could not be read as JSON"),
        (b"[1, 2]", "schema"),
        (b'{"schema": 999, "report": {}}', "schema 999, but this version reads schema 1"),
        (b'{"schema": 1, "report": {}}', "missing"),
        (b'{"schema": 1, "report": null}', "JSON object"),
    ],
)
def test_what_is_no_report_of_this_version_is_reported_in_words(content: bytes, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_baseline(content)


def test_a_scenario_of_endless_depth_is_refused() -> None:
    content = json.loads(render_results(summarise(report(scenario_digests={}))))
    content["report"]["results"][0]["trial"]["scenario"]["provenance"] = "DEEP"
    depth = 400 if sys.version_info < (3, 12) else 600  # from 3.12 on the limit is of Python's own calls alone
    deep = '{"a": [' * depth + "{}" + "]}" * depth
    reported = load_baseline(json.dumps(content).replace('"DEEP"', deep).encode())
    with pytest.raises(ConfigurationError, match="nested too deeply"):
        measured_run(reported)


@given(st.data())
def test_a_results_file_with_any_value_in_any_place_is_read_or_refused(data: st.DataObject) -> None:
    content = json.loads(render_results(summarise(report())))
    place: Any = content
    while isinstance(place, dict | list) and place:
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        if not (isinstance(place[key], dict | list) and place[key]) or data.draw(st.booleans()):
            place[key] = data.draw(st.sampled_from([None, True, -1, 1e300, "", "\x00", [], {}, [[]], {"a": None}]))
            break
        place = place[key]
    with contextlib.suppress(ConfigurationError):
        run = measured_run(load_baseline(json.dumps(content).encode()))
        assert pair_up([run], [run])
