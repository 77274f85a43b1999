"""results.json: complete, described by its schema, and readable again."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ratiba_action.reporting
from ratiba_action.errors import ConfigurationError
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult
from ratiba_action.model.verdict import Conclusion, Report, Spending, Verdict
from ratiba_action.reporting.results_json import load_report, render_results
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import (
    sample_check,
    sample_report,
    sample_score,
    sample_scored,
    sample_trial,
)

PUBLISHED = Path(ratiba_action.reporting.__path__[0]) / "results.schema.json"
SCHEMA = json.loads(PUBLISHED.read_text(encoding="utf-8"))

_texts = st.text(max_size=20)
_usd = st.decimals(min_value=0, max_value=1000, places=6)
_results: st.SearchStrategy[ScenarioResult] = st.one_of(
    st.builds(
        lambda name, text, value, critical: sample_scored(
            name, (sample_check(got=text),), (sample_score(value, reason=text),), reply=text, critical=critical
        ),
        _texts,
        st.text(alphabet=st.characters(), max_size=20),
        st.floats(0, 1),
        st.booleans(),
    ),
    st.builds(
        lambda name, phase, message: Errored(sample_trial(name), phase, message, sample_scored(name).transcript),
        _texts,
        st.sampled_from(Phase),
        _texts,
    ),
    st.builds(lambda name, reason: NotRun(sample_trial(name), reason), _texts, _texts),
)
reports = st.builds(
    lambda name, results, spent, by_party, conclusion, started, notes: sample_report(
        name=name,
        results=tuple(results),
        spending=Spending(Decimal(20), spent, spent * 2, 1, 2, 3, by_party),
        verdict=Verdict(conclusion, name),
        started_at=started,
        notes=tuple(notes),
    ),
    _texts,
    st.lists(_results, max_size=3),
    _usd,
    st.dictionaries(_texts, _usd, max_size=2),
    st.sampled_from(Conclusion),
    st.datetimes(timezones=st.just(UTC), min_value=datetime(2000, 1, 1)),  # noqa: DTZ001 - Hypothesis adds the zone
    st.lists(_texts, max_size=2),
)


@given(reports)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_every_report_fits_the_published_schema_and_is_read_back(report: Report) -> None:
    text = render_results(summarise(report))
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))
    assert load_report(text) == report


def test_the_schema_is_itself_valid() -> None:
    assert jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA).is_valid(SCHEMA)


def test_lone_surrogates_survive() -> None:
    report = sample_report(notes=("half an emoji \ud83d",))
    assert load_report(render_results(summarise(report)).encode("ascii")) == report


def test_a_score_that_is_no_number_becomes_null_and_not_zero() -> None:
    report = sample_report(results=(sample_scored(scores=(sample_score(float("nan")),)),))
    content = json.loads(render_results(summarise(report)))
    assert content["report"]["results"][0]["scores"][0]["value"] is None
    assert content["outputs"]["passed"] == 0


def test_the_outputs_of_a_failed_run() -> None:
    outputs = summarise(sample_report()).outputs
    assert outputs["conclusion"] == "failed"
    assert outputs["regression_detected"] is False, "it was compared with no base"
    assert outputs["duration_ms"] == round(outputs["duration_seconds"] * 1_000)
    assert (outputs["passed"], outputs["failed"], outputs["errored"], outputs["not_run"]) == (1, 1, 1, 1)
    assert (outputs["spent_usd"], outputs["budget_usd"], outputs["exit_code"]) == ("1.25", "20", 1)
    assert outputs["reasons"][0]["path"] == "prompts/booking_orchestrator.md"


def test_transcripts_are_part_of_the_file() -> None:
    content = json.loads(render_results(summarise(sample_report())))
    replies = [exchange["reply"]["text"] for exchange in content["report"]["results"][1]["transcript"]["exchanges"]]
    assert replies == ["Nafasi ipo saa nane mchana. Nithibitishe?"]


_STRATEGY = ("report", "results", 0, "trial", "scenario", "strategy")


def _changed(path: tuple[Any, ...], value: Any) -> str:
    content = json.loads(render_results(summarise(sample_report())))
    place = content
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "could not be read as JSON"),
        ("[]", "schema"),
        ('{"schema": 2}', "schema 2"),
        ("[" * 100_000, "could not be read as JSON"),
        (_changed(("report",), []), r"\$\.report is \[\]"),
        (_changed(("report", "verdict"), None), r"\$\.report\.verdict is missing"),
        (_changed(("report", "seconds"), "soon"), r"\$\.report\.seconds is 'soon'"),
        (_changed(("report", "spending", "cap"), 20), r"\$\.report\.spending\.cap is 20"),
        (_changed(("report", "spending", "cap"), "much"), r"'much'"),
        (_changed(("report", "spending", "cap"), "1E+999999999"), "must be an amount"),
        (_changed(("report", "spending", "cap"), "NaN"), "must be an amount"),
        (_changed(("report", "seconds"), float("inf")), r"\$\.report\.seconds is inf"),
        (_changed(("report", "seconds"), 10**400), r"\$\.report\.seconds is 1000"),
        (_changed(("report", "verdict", "conclusion"), "green"), "'green'"),
        (_changed(("report", "results", 0, "outcome"), "fine"), r"results\[0\]\.outcome is 'fine'"),
        (_changed(("report", "results"), {}), "must be a list"),
        (_changed((*_STRATEGY, "trials"), 10**12), "trials is 1000000000000, and must be from 1 to 50"),
        (_changed((*_STRATEGY, "passes"), 2), "passes is 2, and must be from 1 to the number of trials, 1"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_report(text)
