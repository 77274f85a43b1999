"""Events become traces: what a span shows, what is carried to all of them, and ids that stay the same."""

import json
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.event import (
    ConversationEnded,
    ConversationStarted,
    EvaluationFailed,
    Happening,
    JudgeCalled,
    ModelCalled,
    Place,
    ScoreLogged,
    TurnEnded,
    conversation_id,
)
from ratiba_action.observability.traces import attributes
from ratiba_action.observability.traces.conversations import traced_runs
from ratiba_action.observability.traces.datasets import (
    case_dataset,
    cases_apart,
    dataset_item_id,
    experiment_id,
    suite_dataset,
)
from ratiba_action.observability.traces.metadata import as_experiment
from ratiba_action.observability.traces.model import Trace
from ratiba_action.observability.traces.scores import PASSED
from tests.support.logged_runs import BEGAN, RUN, SCORES_EACH, SPANS_EACH, STARTED, logged, logged_run

HEAD = Place("head", "spa_booking", 0)
TURN = Place("head", "spa_booking", 0, turn=1)
BEGUN = ConversationStarted("conversation", "tenant")


def only_trace(*happened: Any) -> Trace:
    ((trace,),) = [run.traces for run in traced_runs(logged([(STARTED, Place()), (BEGUN, HEAD), *happened]))]
    return trace


def metadata(trace: Trace, name: str, span: int = 0) -> Any:
    return trace.spans[span].attributes.get(f"{attributes.TRACE_METADATA}.{name}")


def test_a_conversation_is_a_trace_with_a_root_and_spans_and_scores() -> None:
    (run,) = traced_runs(logged_run(2))
    assert [(len(trace.spans), len(trace.scores)) for trace in run.traces] == [(SPANS_EACH, SCORES_EACH)] * 2
    trace = run.traces[0]
    assert trace.trace_id == conversation_id(RUN, Place("head", "spa_booking_0", 0))
    assert [span.name for span in trace.spans] == [
        "spa_booking_0",
        "model call",
        "check_availability",
        "state",
        "state",
        "turn 1",
        "judge SwahiliFluencyMetric",
    ]
    root, turn = trace.spans[0], trace.spans[5]
    assert (root.parent_id, turn.parent_id) == ("", root.span_id)
    assert {span.parent_id for span in trace.spans[1:5]} == {turn.span_id}
    assert trace.spans[6].parent_id == root.span_id


def test_every_span_carries_what_is_known_of_the_conversation() -> None:
    (run,) = traced_runs(logged_run(1))
    known = {
        "tenant_id": "tenant-0",
        "conversation_id": run.traces[0].trace_id,
        "prompt_version": "booking@1a2b3c4",
        "model": "model-1",
        "cost_usd": "0.0165",
        "pull_request": "7",
        "commit": "0f" * 20,
        "mode": "blocking",
    }
    for number, span in enumerate(run.traces[0].spans):
        assert {name: metadata(run.traces[0], name, number) for name in known} == known
        assert span.attributes[attributes.SESSION] == RUN
        assert span.attributes[attributes.TAGS] == ("blocking", "golden", "chatbot", "smoke")


def test_a_call_shows_its_model_tokens_and_cost() -> None:
    trace = only_trace((ModelCalled("system", "model-1", cost_usd=Decimal("0.5")), TURN))
    call = trace.spans[1].attributes
    assert (call[attributes.TYPE], call[attributes.MODEL]) == ("generation", "model-1")
    assert json.loads(str(call[attributes.COST])) == {"total": 0.5}


def test_a_call_that_does_not_know_its_turn_is_a_part_of_the_one_that_ends_next() -> None:
    call = ModelCalled("system", "model-1")
    second = Place("head", "spa_booking", 0, turn=2)
    trace = only_trace(
        (call, HEAD),
        (TurnEnded("one", 0.1, user="a"), TURN),
        (call, HEAD),
        (call, HEAD),
        (TurnEnded("two", 0.1, user="b"), second),
        (call, HEAD),
    )
    root, first, one, *others, two, last = trace.spans
    assert (one.name, two.name) == ("turn 1", "turn 2")
    assert first.parent_id == one.span_id
    assert {span.parent_id for span in others} == {two.span_id}
    assert last.parent_id == one.parent_id == two.parent_id == root.span_id


def test_a_call_of_unknown_cost_shows_none() -> None:
    trace = only_trace((JudgeCalled("Fluency", "1", "judge-1", cached=True), HEAD))
    assert attributes.COST not in trace.spans[1].attributes
    assert trace.spans[1].attributes[f"{attributes.METADATA}.cached"] == "true"


def test_a_score_has_its_reason_and_the_conversation_one_that_says_whether_it_passed() -> None:
    trace = only_trace(
        (ScoreLogged("Fluency", "2", 0.4, 0.8, passed=False, reason="stiff"), HEAD),
        (EvaluationFailed("score", "Fluency", reason="below 0.8"), HEAD),
        (ConversationEnded("scored", passed=False, reason="Fluency"), HEAD),
    )
    fluency, passed = trace.scores
    assert (fluency.name, fluency.value, fluency.comment, fluency.kind) == ("Fluency", 0.4, "stiff", "NUMERIC")
    assert (fluency.metadata["threshold"], fluency.metadata["version"]) == ("0.8", "2")
    assert (passed.name, passed.value, passed.kind) == (PASSED, 0.0, "BOOLEAN")
    assert trace.passed is False
    failure = trace.spans[1].attributes
    assert (failure[attributes.LEVEL], failure[attributes.STATUS_MESSAGE]) == ("ERROR", "below 0.8")


def test_a_conversation_that_was_held_again_keeps_both_attempts_and_the_last_scores() -> None:
    again = ConversationStarted("conversation", "tenant-2", attempt=2)
    trace = only_trace(
        (TurnEnded("one", 0.1, user="a"), TURN),
        (ScoreLogged("Fluency", "1", 0.1, 0.8, passed=False), HEAD),
        (again, HEAD),
        (TurnEnded("two", 0.1, user="a"), TURN),
        (ScoreLogged("Fluency", "1", 0.9, 0.8, passed=True), HEAD),
        (ConversationEnded("scored", passed=True, retried=("it hung",)), HEAD),
    )
    assert [span.name for span in trace.spans] == ["spa_booking", "turn 1", "turn 1"]
    assert trace.spans[0].attributes[f"{attributes.METADATA}.retried"] == '"it hung"'
    assert [score.value for score in trace.scores] == [0.9, 1.0]
    assert metadata(trace, "tenant_id") == "tenant-2"


def test_a_conversation_whose_run_was_killed_says_so() -> None:
    trace = only_trace((TurnEnded("one", 0.1, user="a"), TURN))
    assert trace.passed is None
    assert "killed" in str(trace.spans[0].attributes[attributes.STATUS_MESSAGE])


def test_a_conversation_that_was_not_run_has_no_trace() -> None:
    (run,) = traced_runs(logged([(STARTED, Place()), (ConversationEnded("not_run", reason="budget"), HEAD)]))
    assert run.traces == ()


def test_arms_trials_and_variants_are_traces_of_their_own() -> None:
    places = [HEAD, Place("base", "spa_booking", 0), Place("head", "spa_booking", 1)]
    places += [Place("head", "spa_booking", 0, "cheap")]
    (run,) = traced_runs(logged([(BEGUN, place) for place in places]))
    assert len({trace.trace_id for trace in run.traces}) == len(places)
    labels = ["spa_booking", "spa_booking (base)", "spa_booking (trial 2)", "spa_booking (cheap)"]
    assert [trace.label for trace in run.traces] == labels


def test_runs_that_share_a_log_are_kept_apart() -> None:
    runs = traced_runs((*logged_run(1, "one"), *logged_run(1, "two")))
    assert [run.run for run in runs] == ["one", "two"]
    assert runs[0].traces[0].trace_id != runs[1].traces[0].trace_id


def test_a_turn_begins_when_it_was_said_and_not_before_its_conversation() -> None:
    trace = only_trace((TurnEnded("one", 100.0, user="a"), TURN))
    assert trace.spans[1].start == BEGAN + timedelta(seconds=2)
    assert trace.spans[1].end == BEGAN + timedelta(seconds=3)


@given(st.characters(), st.integers(0, 600))
def test_what_is_carried_is_never_so_long_that_it_is_dropped(character: str, length: int) -> None:
    text = character * length
    short = attributes.shortened(text)
    assert len(short) <= attributes.LONGEST
    assert (short == text) == (len(text) <= attributes.LONGEST)


def test_long_values_that_begin_alike_stay_different() -> None:
    assert attributes.shortened("a" * 300 + "b") != attributes.shortened("a" * 300 + "c")


@given(st.integers(1, 4), st.integers(0, 3))
def test_every_id_is_unique_and_the_same_when_made_again(conversations: int, extra: int) -> None:
    events = logged_run(conversations + extra)
    once, again = traced_runs(events), traced_runs(events)
    assert once == again
    spans = [span.span_id for trace in once[0].traces for span in trace.spans]
    scores = [score.score_id for trace in once[0].traces for score in trace.scores]
    assert len({*spans, *scores}) == len(spans) + len(scores)


def test_an_experiment_names_its_dataset_and_item_on_every_span() -> None:
    (run,) = traced_runs(logged_run(1))
    assert run.dataset == suite_dataset("ratiba/assistant", "ratiba") == "ratiba/assistant/ratiba"
    (trace,) = as_experiment(run, "project", {"": "dataset-1", "spa": "dataset-2"}).traces
    for span in trace.spans:
        assert span.attributes[attributes.EXPERIMENT_DATASET] == "dataset-1"
        assert span.attributes[attributes.EXPERIMENT_ID] == experiment_id("project", "dataset-1", f"{RUN} head")
        assert span.attributes[attributes.EXPERIMENT_ITEM] == dataset_item_id(run.dataset, "spa_booking_0")
        assert span.attributes[attributes.EXPERIMENT_ROOT] == trace.spans[0].span_id


def test_a_case_is_an_item_of_the_dataset_of_its_own_file_and_another_scenario_of_the_suites() -> None:
    (run,) = traced_runs(logged_run(1))
    case = replace(run, traces=tuple(replace(trace, scenario="spa__hours__late") for trace in run.traces))
    datasets = {"": "dataset-1", "spa": "dataset-2", "spa__hours": "dataset-3"}
    (trace,) = as_experiment(case, "project", datasets).traces
    assert trace.spans[0].attributes[attributes.EXPERIMENT_DATASET] == "dataset-3"
    wanted = dataset_item_id(case_dataset(run.dataset, "spa__hours"), "spa__hours__late")
    assert trace.spans[0].attributes[attributes.EXPERIMENT_ITEM] == wanted


@pytest.mark.parametrize(
    ("metadata", "apart"),
    [
        (None, ()),
        ([], ()),
        ({"ratiba": 3}, ()),
        ({"ratiba": {"apart": "intents"}}, ()),
        ({"ratiba": {"apart": ["intents", 7, None, "skills"]}}, ("intents", "skills")),
    ],
)
def test_only_texts_in_a_servers_metadata_name_files_of_cases(metadata: object, apart: tuple[str, ...]) -> None:
    assert cases_apart(metadata) == apart


def test_an_experiment_without_a_dataset_names_none() -> None:
    (run,) = traced_runs(logged_run(1))
    (trace,) = as_experiment(run, "project", {}).traces
    assert attributes.EXPERIMENT_DATASET not in trace.spans[0].attributes
    assert attributes.EXPERIMENT_ID in trace.spans[0].attributes


@pytest.mark.parametrize("dataset", ["a/b", "nyumba ya kahawa", "x" * 300])
def test_the_id_of_an_item_is_short_and_safe_in_a_url(dataset: str) -> None:
    made = dataset_item_id(dataset, "spa_booking")
    assert made.startswith("spa_booking-")
    assert made.replace("-", "").replace("_", "").isalnum()


def test_names_that_are_no_whole_unicode_have_ids_too() -> None:
    place = Place("head", "a\ud800", 0, "b\udfff")
    happened: list[tuple[Happening, Place]] = [
        (ConversationStarted("", ""), place),
        (ScoreLogged("c\ud800", "1", 1.0, 0.5, passed=True), place),
    ]
    ((trace,),) = [run.traces for run in traced_runs(logged(happened))]
    assert (len(trace.trace_id), len(trace.scores)) == (32, 1)


def test_a_turn_that_claims_to_be_older_than_the_world_begins_with_its_conversation() -> None:
    place = Place("head", "a", 0)
    happened: list[tuple[Happening, Place]] = [
        (ConversationStarted("", ""), place),
        (TurnEnded("late", 1e18, user="hi"), Place("head", "a", 0, turn=1)),
    ]
    ((trace,),) = [run.traces for run in traced_runs(logged(happened))]
    root, turn = trace.spans
    assert (turn.start, turn.end) == (root.start, root.end)
