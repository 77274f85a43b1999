"""A report without what was said: the same scores and checks as in the whole one, whatever a file has in it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.history.keeping import record_of
from ratiba_action.model.conversation import Transcript
from ratiba_action.model.measurement import Errored, Invariant, NotRun, Phase, Scored
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.measured_results import MeasuredReports
from ratiba_action.reporting.results_json import load_report, packed, render_results
from ratiba_action.reporting.summary import summarise
from tests.support.run_history import branch_run
from tests.support.sample_report import sample_check, sample_score, sample_scored

MISLEADING = '}, "transcript": {"x": [], "checks": [{"kind": "state"}], "scores": [{"metric": "M", "value": 1.0}]\n  ]'
texts = st.one_of(st.text(max_size=12), st.just(MISLEADING), st.just('\\", "scores": ['), st.just("kesho\n   {"))
values = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-05, 0.1 + 0.2]))
votes = st.one_of(st.just(()), st.lists(values, min_size=2, max_size=3).map(tuple))


@st.composite
def scored(draw: st.DrawFn, name: str) -> Scored:
    found = sample_scored(
        name,
        tuple(sample_check(passed=draw(st.booleans())) for _ in range(draw(st.integers(0, 2)))),
        tuple(
            replace(
                sample_score(draw(values), judged=draw(st.booleans())),
                metric=draw(st.sampled_from(["SwahiliFluencyMetric", "Größe", 'a "quoted" one', "back\\slash"])),
                reason=draw(texts),
                cached=draw(st.booleans()),
                votes=(given := draw(votes)),
                voters=tuple("claude-opus-5-5" for _ in given),
                answered_by=draw(st.sampled_from([(), ("another",)])),
                invariants=draw(st.sampled_from([(), (Invariant("a", satisfied=True, detail=MISLEADING),)])),
            )
            for _ in range(draw(st.integers(0, 3)))
        ),
        title=draw(texts),
    )
    first = found.transcript.exchanges[0]
    output: Any = {"checks": [], "scores": [], "said": draw(texts)}
    call = replace(first.reply.tool_calls[0], output=output)
    exchange = replace(first, reply=replace(first.reply, text=draw(texts), tool_calls=(call,)))
    trial = replace(found.trial, number=draw(st.integers(0, 2)))
    return replace(found, trial=trial, transcript=replace(found.transcript, exchanges=(exchange,)))


@st.composite
def runs(draw: st.DrawFn) -> Report:
    results: list[Any] = [draw(scored(name)) for name in draw(st.lists(st.sampled_from("ab"), unique=True))]
    trial = sample_scored("c").trial
    errored = Errored(trial, Phase.SYSTEM, draw(texts), checks=(sample_check(passed=False),), scores=(sample_score(),))
    results += draw(st.sampled_from([[], [errored], [NotRun(trial, "no money")], [Errored(trial, Phase.JUDGE, "?")]]))
    return branch_run(draw(st.integers(0, 9)), tuple(results))


@given(found=st.lists(runs(), min_size=1, max_size=3), compressed=st.booleans())
def test_the_record_of_a_run_is_that_of_its_whole_report(found: list[Report], *, compressed: bool) -> None:
    reports = MeasuredReports()
    for report in found:
        text = render_results(summarise(report)).encode()
        content, whole = packed(text) if compressed else text, load_report(text)
        assert record_of(reports.report(content)) == record_of(whole)
        assert reports.summary(content) == replace(whole, results=())


def test_of_some_scenarios_only_their_results_are_read() -> None:
    names = ("spa", 'a "quoted" one', "bar")
    report = branch_run(1, tuple(map(sample_scored, names)), scenario_digests={name: f"of {name}" for name in names})
    content, reports = render_results(summarise(report)).encode(), MeasuredReports()
    for chosen in (names[:1], names[1:], names[:0], names):
        found = reports.report(content, [f"of {name}" for name in chosen]).results
        assert tuple(each.trial.scenario.id for each in found) == chosen


def test_what_was_said_is_not_read() -> None:
    spa = sample_scored("spa", scores=(sample_score(reason="Natural."),))
    (read,) = MeasuredReports().report(render_results(summarise(branch_run(1, (spa,)))).encode()).results
    assert isinstance(read, Scored)
    assert (read.trial, read.checks) == (spa.trial, spa.checks)
    assert (read.transcript, read.scores[0].reason) == (Transcript("spa", ()), "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"number": 0', '"number": "first"'),
        ('"value": 0.75', '"value": "high"'),
        ('"passed": true', '"passed": "yes"'),
        ('"language": "sw"', '"language": 7'),
        ('"scenario": {"id": "spa", ', '"scenario": {'),
        ('"outcome": "scored"', '"outcome": "cored"'),
        (', "scores": [', ', "score": ['),
    ],
)
def test_a_row_that_is_no_result_is_refused_as_in_a_whole_report(old: str, new: str) -> None:
    spa = sample_scored("spa", (sample_check(),), (sample_score(0.75),))
    text = render_results(summarise(branch_run(1, (spa,))))
    # In the row of the result alone, and of what stands there several times, the last one.
    at = text.rindex(old)
    text = text[:at] + new + text[at + len(old) :]
    with pytest.raises(ConfigurationError):
        load_report(text)
    with pytest.raises(ConfigurationError, match=r"results\.json could not be read"):
        MeasuredReports().report(text.encode())


def test_a_file_in_another_form_is_read_in_full() -> None:
    report = branch_run(1)
    text = json.dumps(json.loads(render_results(summarise(report))), indent=3)
    assert MeasuredReports().report(text.encode()) == load_report(text)
    assert MeasuredReports().summary(text.encode()) == replace(load_report(text), results=())
