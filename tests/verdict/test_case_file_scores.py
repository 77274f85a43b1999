"""Aggregate scores of a data set and its gates; scikit-learn as the oracle."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from ratiba_action.model.case_file import CaseFile, CaseFileScores, CaseThreshold, CaseThresholdStatus
from ratiba_action.model.conversation import Document, Exchange, Reply, Transcript
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult, Score, Scored
from ratiba_action.model.plan import Trial
from ratiba_action.model.scenario import Expectation, Quarantine, Strategy, Turn
from ratiba_action.verdict.case_file_scores import failed_gates, open_gates, score_case_files
from tests.support.sample_report import sample_trial

DAY = date(2026, 4, 25)
LABELS = st.sampled_from(["ANSWER", "BOOKING", "REDIRECT"])


def trial(number: int, expect: Expectation) -> Trial:
    turn = Turn(user="q", expect=expect)
    return sample_trial(f"intents__{number}", data_set="intents", turns=(turn,))


def answered(
    number: int, expect: Expectation, output: Any = None, *found: str, score: float = 1.0, minimum: float = 0.5
) -> Scored:
    one = trial(number, expect)
    reply = Reply("", output=output, documents=tuple(Document(name) for name in found))
    exchange = Exchange(one.scenario.turns[0], reply)
    scores = (Score("RougeLMetric", "1.0.0", score, minimum, judged=False),)
    return Scored(one, Transcript(one.scenario.id, (exchange,)), (), scores, 0.1)


def labelled(number: int, expected: str, got: str | None, confidence: float | None = None) -> Scored:
    output = None if got is None else {"label": got, "confidence": confidence}
    return answered(number, Expectation(label=expected), output)


def missing(number: int, expected: str) -> NotRun:
    return NotRun(trial(number, Expectation(label=expected)), "The budget was used up.")


def scores(*results: ScenarioResult, cases: int = 0, **gates: float) -> CaseFileScores:
    return scored(results, gates, cases)


def scored(results: Sequence[ScenarioResult], gates: Mapping[str, float], cases: int = 0) -> CaseFileScores:
    asked = tuple(CaseThreshold(name.replace("_at_", "@"), minimum) for name, minimum in gates.items())
    rows = cases or len({result.trial.scenario.id for result in results})
    (one,) = score_case_files([CaseFile("intents", "scenarios/intents.jsonl", "5f" * 32, rows, asked)], results, DAY)
    return one


def status(one: CaseFileScores) -> CaseThresholdStatus:
    (result,) = one.gates
    return result.status


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=30))
def test_the_aggregates_of_a_classifier_agree_with_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    truth, got = [one for one, _ in pairs], [other for _, other in pairs]
    one = scores(*(labelled(number, *pair) for number, pair in enumerate(pairs)))
    classes = sorted(set(truth))
    by_class = f1_score(truth, got, labels=classes, average=None, zero_division=0)
    assert one.values == pytest.approx(
        {
            "accuracy": accuracy_score(truth, got),
            "macro_f1": by_class.mean(),
            "weighted_f1": f1_score(truth, got, labels=classes, average="weighted", zero_division=0),
            "min_class_f1": by_class.min(),
        }
    )
    assert [found.f1 for found in one.classes] == pytest.approx(list(by_class))


def test_a_gate_is_passed_at_exactly_its_value_and_failed_below() -> None:
    results = [labelled(number, "ANSWER", "ANSWER" if number < 4 else "BOOKING") for number in range(5)]
    assert status(scores(*results, accuracy=0.8)) is CaseThresholdStatus.PASSED
    failed = scores(*results, accuracy=0.81)
    assert status(failed) is CaseThresholdStatus.FAILED
    assert failed_gates([failed]) == ("intents: accuracy 0.8 is below 0.81",)


def test_a_gate_is_unknown_while_a_case_is_not_measured() -> None:
    one = scores(labelled(0, "ANSWER", "ANSWER"), missing(1, "BOOKING"), accuracy=0.5)
    assert status(one) is CaseThresholdStatus.UNKNOWN
    assert open_gates([one]) == ("intents: accuracy",)
    assert (one.measured, one.selected) == (1, 2)


def test_a_gate_fails_when_no_answer_to_the_rest_could_pass_it() -> None:
    results = list[ScenarioResult]()
    results += [labelled(0, "ANSWER", "BOOKING"), labelled(1, "ANSWER", "BOOKING"), missing(2, "BOOKING")]
    one = scores(*results, accuracy=0.5)
    assert status(one) is CaseThresholdStatus.FAILED
    assert one.gates[0].at_most == pytest.approx(1 / 3)
    assert status(scores(*results, accuracy=0.3)) is CaseThresholdStatus.UNKNOWN


def test_a_conversation_that_broke_off_is_not_measured() -> None:
    whole = labelled(0, "ANSWER", "ANSWER")
    broken = Errored(trial(1, Expectation(label="ANSWER")), Phase.METRIC, "failed", whole.transcript)
    assert status(scores(whole, broken, accuracy=0.1)) is CaseThresholdStatus.UNKNOWN


@given(st.lists(st.tuples(LABELS, LABELS), min_size=2, max_size=12), st.data())
def test_what_is_possible_at_most_is_never_passed_by_any_answer(
    pairs: list[tuple[str, str]], data: st.DataObject
) -> None:
    known = data.draw(st.integers(1, len(pairs) - 1))
    metric = data.draw(st.sampled_from(["accuracy", "macro_f1", "weighted_f1", "micro_f1", "min_class_precision"]))
    part = [labelled(number, *pair) for number, pair in enumerate(pairs[:known])]
    rest = [missing(number, pairs[number][0]) for number in range(known, len(pairs))]
    whole = [labelled(number, *pair) for number, pair in enumerate(pairs)]
    value = scored(whole, {metric: 0.5}).gates[0].value
    assert value is not None
    assert value <= scored([*part, *rest], {metric: 0.5}).gates[0].at_most + 1e-9


def test_a_part_of_the_cases_decides_nothing() -> None:
    one = scores(labelled(0, "ANSWER", "BOOKING"), cases=40, accuracy=0.9)
    assert status(one) is CaseThresholdStatus.UNKNOWN
    assert (failed_gates([one]), open_gates([one])) == ((), ())
    assert (one.selected, one.cases) == (1, 40)


def test_a_data_set_of_which_nothing_was_selected_is_not_reported() -> None:
    assert score_case_files([CaseFile("intents", "a.jsonl", "", 3)], [NotRun(sample_trial("spa"), "no")], DAY) == ()


def test_skill_recall_is_the_share_of_all_expected_labels() -> None:
    results = [
        answered(0, Expectation(labels=("hours", "prices", "parking")), {"labels": ["hours", "prices", "menu"]}),
        answered(1, Expectation(labels=("hours",)), {"labels": ["hours"]}),
    ]
    one = scores(*results, skill_recall=0.75)
    assert one.values["skill_recall"] == 0.75
    assert status(one) is CaseThresholdStatus.PASSED
    assert one.values["accuracy"] == 0.5


def test_an_output_without_labels_is_wrong_also_where_none_is_expected() -> None:
    one = scores(answered(0, Expectation(labels=()), None), answered(1, Expectation(labels=()), {"labels": []}))
    assert one.values["accuracy"] == 0.5


def test_an_answer_without_a_label_lowers_its_class_and_no_other() -> None:
    one = scores(labelled(0, "ANSWER", None), labelled(1, "ANSWER", "ANSWER"), labelled(2, "BOOKING", "BOOKING"))
    assert [(found.label, found.precision, found.recall) for found in one.classes] == [
        ("ANSWER", 1, 0.5),
        ("BOOKING", 1, 1),
    ]


def test_confidence_is_reported_and_calibration_is_1_less_its_error() -> None:
    one = scores(labelled(0, "A", "A", 0.9), labelled(1, "A", "B", 0.9), labelled(2, "A", "A"), calibration=0.6)
    assert one.values["mean confidence"] == pytest.approx(0.9)
    assert one.values["calibration"] == pytest.approx(0.6)
    assert status(one) is CaseThresholdStatus.PASSED


def test_a_gate_on_what_no_answer_gives_stays_open() -> None:
    one = scores(labelled(0, "A", "A"), calibration=0.5)
    assert open_gates([one]) == ("intents: calibration",)


def test_a_gate_on_documents_is_the_mean_over_the_cases() -> None:
    wanted = Expectation(documents={"a": 1.0})
    results = [answered(0, wanted, None, "a"), answered(1, wanted, None, "x", "a"), answered(2, wanted)]
    one = scores(*results, mrr=0.5, recall_at_1=0.3, ndcg_at_2=0.9)
    assert [round(result.value or 0, 4) for result in one.gates] == [0.5, 0.3333, 0.5436]
    assert [result.status for result in one.gates] == [
        CaseThresholdStatus.PASSED,
        CaseThresholdStatus.PASSED,
        CaseThresholdStatus.FAILED,
    ]


def test_a_gate_named_like_a_metric_is_the_mean_of_its_scores() -> None:
    results = [answered(number, Expectation(), score=value) for number, value in enumerate((0.2, 0.6))]
    assert scores(*results, RougeLMetric=0.4).gates[0].value == pytest.approx(0.4)


def test_answer_accuracy_is_the_share_of_cases_that_hold() -> None:
    results = [answered(number, Expectation(), score=value) for number, value in enumerate((0.2, 0.6, 0.5))]
    assert scores(*results, answer_accuracy=0.7).gates[0].value == pytest.approx(2 / 3)


def trials(passes: int | None, *outputs: str | None) -> list[ScenarioResult]:
    """Trials of one case that expects ANSWER; None stands for one that was not run."""
    strategy = Strategy(trials=len(outputs), passes=passes)
    return [repeated(number, strategy, output) for number, output in enumerate(outputs)]


def repeated(number: int, strategy: Strategy, output: str | None) -> ScenarioResult:
    whole = labelled(0, "ANSWER", output or "ANSWER")
    scenario = replace(whole.trial.scenario, strategy=strategy)
    found = (Score("LabelMetric", "1.0.0", float(output == "ANSWER"), 0.0, judged=False),)
    answer = replace(whole, trial=replace(whole.trial, scenario=scenario, number=number), scores=found)
    return answer if output is not None else NotRun(answer.trial, "The budget was used up.")


@pytest.mark.parametrize(
    ("passes", "outputs", "accuracy"),
    [
        (None, ("ANSWER", "ANSWER", "ANSWER"), 1.0),
        (None, ("ANSWER", "BOOKING", "ANSWER"), 0.5),
        (2, ("ANSWER", "BOOKING", "ANSWER"), 1.0),
        (2, ("BOOKING", "BOOKING", "ANSWER"), 0.5),
    ],
)
def test_a_case_counts_once_by_the_trial_that_it_stands_and_falls_with(
    passes: int | None, outputs: tuple[str, ...], accuracy: float
) -> None:
    one = scores(*trials(passes, *outputs), labelled(1, "ANSWER", "ANSWER"), accuracy=0.6)
    assert (one.values["accuracy"], one.measured, one.selected) == (accuracy, 2, 2)
    assert one.classes[0].support == 2
    assert status(one) is (CaseThresholdStatus.PASSED if accuracy == 1 else CaseThresholdStatus.FAILED)


def test_a_case_that_lacks_a_trial_is_not_measured() -> None:
    one = scores(*trials(None, "ANSWER", None), labelled(1, "ANSWER", "ANSWER"), accuracy=0.9)
    assert (one.measured, one.selected) == (1, 2)
    assert status(one) is CaseThresholdStatus.UNKNOWN


def test_a_further_trial_of_a_comparison_moves_no_gate() -> None:
    wrong = labelled(0, "ANSWER", "BOOKING")
    further = replace(wrong, trial=replace(wrong.trial, number=1))
    one = scores(labelled(0, "ANSWER", "ANSWER"), further, accuracy=1.0)
    assert (one.values["accuracy"], one.measured) == (1.0, 1)
    assert status(one) is CaseThresholdStatus.PASSED


def quarantined(result: Scored, until: date) -> Scored:
    apart = replace(result.trial.scenario, quarantine=Quarantine("the label is disputed", "amina", until))
    return replace(result, trial=replace(result.trial, scenario=apart))


@pytest.mark.parametrize(("until", "accuracy"), [(DAY, 1.0), (DAY - timedelta(days=1), 0.5)])
def test_a_case_in_quarantine_counts_for_no_gate_until_the_quarantine_ends(until: date, accuracy: float) -> None:
    one = scores(labelled(0, "ANSWER", "ANSWER"), quarantined(labelled(1, "BOOKING", "ANSWER"), until), accuracy=0.9)
    assert one.values["accuracy"] == accuracy
    assert (one.selected, one.quarantined) == ((1, 1) if accuracy == 1 else (2, 0))
    assert status(one) is (CaseThresholdStatus.PASSED if accuracy == 1 else CaseThresholdStatus.FAILED)


def test_a_data_set_in_quarantine_decides_nothing() -> None:
    one = scores(quarantined(labelled(0, "BOOKING", "ANSWER"), DAY), accuracy=0.9)
    assert status(one) is CaseThresholdStatus.UNKNOWN
    assert (one.values, one.classes) == ({}, ())
    assert (failed_gates([one]), open_gates([one])) == ((), ())


def test_answer_accuracy_is_not_measured_where_the_cases_assert_nothing() -> None:
    """A classifier that always gives the same label passes every threshold of 0."""
    results = [answered(number, Expectation(label="ANSWER"), score=0.0, minimum=0.0) for number in range(3)]
    (gate,) = scores(*results, answer_accuracy=0.7).gates
    assert (gate.value, gate.status) == (None, CaseThresholdStatus.UNKNOWN)
