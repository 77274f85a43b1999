"""What the cases of a case file came to together, and whether that passes its gates."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from ratiba_action.checks.refusal_phrases import refusal_of_turn
from ratiba_action.metrics.aggregates import (
    CALIBRATION,
    CaseSample,
    Labelled,
    Ranked,
    RefusalSample,
    aggregate,
    classes_of,
    confidence,
)
from ratiba_action.metrics.classifier_answer import expected_labels, read_label, read_labels
from ratiba_action.metrics.ranking import ideal_ranking
from ratiba_action.model.case_file import (
    CaseFile,
    CaseFileScores,
    CaseThreshold,
    CaseThresholdResult,
    CaseThresholdStatus,
    ClassScores,
)
from ratiba_action.model.conversation import Exchange
from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.model.scenario import Expectation, Scenario
from ratiba_action.util.text import part_of
from ratiba_action.verdict.quarantine import quarantine_in_force
from ratiba_action.verdict.trials import ScenarioOutcome, decides, outcomes_of

CONFIDENCE = "mean confidence"
_UNREADABLE = "\0"  # an output that gives no labels is wrong also where none is expected

_ROUNDING = 1e-9  # a mean of 0.8 that floats make 0.7999… reaches 0.8
_OF_ONE_LABEL = ("accuracy", "macro_f1", "weighted_f1", "min_class_f1", CALIBRATION)
_OF_LABELS = ("accuracy", "micro_f1", "macro_f1", "weighted_f1", "skill_recall")
_OF_DOCUMENTS = ("ndcg@10", "map@10", "mrr")
_OF_REFUSALS = ("refusal_rate", "answer_rate")


def score_case_files(
    data_sets: Iterable[CaseFile], results: Iterable[ScenarioResult], day: date
) -> tuple[CaseFileScores, ...]:
    """The scores of every case file that the run planned a case of.

    A case counts once, however often it was held: by the trial that it stands and falls with. One in quarantine does
    not count. A gate is failed as soon as no answer to the cases that were not measured could pass it, and passed only
    when every case that counts was measured.

    Args:
        results: of the run on one arm, in any order.
        day: of the run, in UTC; decides which quarantines are in force.
    """
    by_set: dict[str, list[ScenarioOutcome]] = {}
    for outcome in outcomes_of(results):
        if outcome.scenario.data_set:
            by_set.setdefault(outcome.scenario.data_set, []).append(outcome)
    return tuple(_scores(case_file, by_set[case_file.id], day) for case_file in data_sets if case_file.id in by_set)


def failed_gates(scores: Iterable[CaseFileScores]) -> tuple[str, ...]:
    """Each gate that failed, in words."""
    return tuple(
        f"{scored.id}: {_how_far_below(result)}"
        for scored in scores
        for result in scored.gates
        if result.status is CaseThresholdStatus.FAILED
    )


def open_gates(scores: Iterable[CaseFileScores]) -> tuple[str, ...]:
    """Each gate that has no answer though every case was asked for, in words; a gate at 0 asks for nothing."""
    return tuple(
        f"{scored.id}: {result.gate.metric}"
        for scored in scores
        for result in scored.gates
        if result.status is CaseThresholdStatus.UNKNOWN and result.gate.at_least > 0
        if scored.selected and scored.selected + scored.quarantined == scored.cases
    )


def _how_far_below(result: CaseThresholdResult) -> str:
    name, threshold = result.gate.metric, f"{result.gate.at_least:g}"
    if result.value is None or result.value >= result.gate.at_least - _ROUNDING:
        return f"{name} can reach {round(result.at_most, 4):g} at most, and {threshold} is asked"
    return f"{name} {round(result.value, 4):g} is below {threshold}"


def _scores(case_file: CaseFile, outcomes: Sequence[ScenarioOutcome], day: date) -> CaseFileScores:
    counted = [outcome for outcome in outcomes if quarantine_in_force(outcome.scenario, day) is None]
    answered = [(outcome.scenario, _answer(outcome)) for outcome in counted]
    measured = [_sample(answer) for _, answer in answered if answer is not None]
    missing = [_best(scenario) for scenario, answer in answered if answer is None]
    whole = len(outcomes) == case_file.cases
    names = dict.fromkeys(
        [*_usual(outcome.scenario for outcome in outcomes), *(gate.metric for gate in case_file.gates)]
    )
    values = {name: value for name in names if (value := aggregate(name)(measured)) is not None}
    sure = confidence(measured)
    return CaseFileScores(
        id=case_file.id,
        path=case_file.path,
        digest=case_file.digest,
        cases=case_file.cases,
        selected=len(counted),
        quarantined=len(outcomes) - len(counted),
        measured=len(measured),
        values=values if sure is None else values | {CONFIDENCE: sure},
        gates=tuple(_gate(gate, measured, missing, whole=whole) for gate in case_file.gates),
        classes=tuple(
            ClassScores(scores.label, scores.precision, scores.recall, scores.f1, scores.support, scores.given)
            for scores in classes_of(measured)
        ),
    )


def _gate(
    gate: CaseThreshold, measured: Sequence[CaseSample], missing: Sequence[CaseSample], *, whole: bool
) -> CaseThresholdResult:
    value = aggregate(gate.metric)(measured)
    at_most = aggregate(gate.metric)([*measured, *missing])
    # Of a case that was not selected the truth is not at hand; how sure an answer would have been is never known.
    if at_most is None or not whole or (missing and gate.metric == CALIBRATION):
        at_most = 1.0
    if at_most < gate.at_least - _ROUNDING:
        status = CaseThresholdStatus.FAILED
    elif value is None or missing or not whole:
        status = CaseThresholdStatus.UNKNOWN
    else:
        status = CaseThresholdStatus.PASSED
    return CaseThresholdResult(gate, value, at_most, status)


def _usual(scenarios: Iterable[Scenario]) -> tuple[str, ...]:
    """The aggregates that are shown of every case file of its kind."""
    expected = [turn.expect for scenario in scenarios for turn in scenario.turns]
    names: tuple[str, ...] = _OF_ONE_LABEL if any(expect.label is not None for expect in expected) else ()
    names += _OF_LABELS if any(expect.labels is not None for expect in expected) else ()
    names += _OF_DOCUMENTS if any(expect.documents for expect in expected) else ()
    return names + (_OF_REFUSALS if any(expect.refusal is not None for expect in expected) else ())


def _answer(outcome: ScenarioOutcome) -> Scored | None:
    """The trial that a case counts by; None while a trial is missing that could be it."""
    whole = all(isinstance(trial, Scored) for trial in outcome.trials if decides(trial))
    return outcome.deciding if whole and isinstance(outcome.deciding, Scored) else None


def _sample(result: Scored) -> CaseSample:
    exchanges = result.transcript.exchanges
    return CaseSample(
        labelled=tuple(labelled_turn for exchange in exchanges for labelled_turn in labelled_of(exchange)),
        ranked=tuple(
            Ranked(tuple(document.id for document in exchange.reply.documents), judgements)
            for exchange in exchanges
            if (judgements := _judgements(exchange.turn.expect)) is not None
        ),
        refusals=tuple(
            RefusalSample(expected, found.whole if expected else found.declines)
            for number, exchange in enumerate(exchanges, start=1)
            if (expected := exchange.turn.expect.refusal) is not None
            for found in (refusal_of_turn(result.transcript, number),)
        ),
        scores={score.metric: score.value for score in result.scores},
        passed=_passed(result),
    )


def reads_alike(one: ScenarioResult, other: ScenarioResult) -> bool:
    """Whether the scores of a case file are the same of two forms of one result, such as before and after masking.

    Args:
        other: of the same trial; what it expects is read from ``one``.
    """
    if not (one.trial.scenario.data_set and isinstance(one, Scored) and isinstance(other, Scored)):
        return True
    pairs = zip(other.transcript.exchanges, one.transcript.exchanges, strict=True)
    exchanges = tuple(replace(exchange, turn=plain.turn) for exchange, plain in pairs)
    return _sample(one) == _sample(replace(other, transcript=replace(other.transcript, exchanges=exchanges)))


def _passed(result: Scored) -> bool | None:
    """Whether what the case asserts passed; a threshold of 0 asserts nothing."""
    asserted = [check.passed for check in result.checks if check.measured]
    asserted += [score.passed for score in result.deciding_scores if score.threshold > 0]
    return all(asserted) if asserted else None


def wrong_labels(data_sets: Iterable[CaseFileScores]) -> Iterator[str]:
    """Of each classifier with wrong labels how many are: a case passes with one, and only thresholds count them."""
    for scores in data_sets:
        wrong = round((1 - scores.values.get("accuracy", 1.0)) * scores.measured)
        if wrong:
            allowed = "which its thresholds allow" if scores.gates else "and no threshold is set for them"
            yield f"{part_of(wrong, scores.measured, 'label', 'is', 'are')} wrong in {scores.id}, {allowed}"


def asserts_something(scenario: Scenario) -> bool:
    """Whether a case has a check or a threshold above 0, so that ``answer_accuracy`` can count it."""
    nothing = Expectation()
    exact = ("state", "payment", "tools", "events", "transitions", "output", "language", "reply", "rows")
    expected = any(getattr(turn.expect, name) != getattr(nothing, name) for turn in scenario.turns for name in exact)
    judged = any(assertion.threshold > 0 for assertion in scenario.assertions)
    return expected or judged or bool(scenario.rules or scenario.rows or scenario.replies)


def labelled_of(exchange: Exchange) -> tuple[Labelled, ...]:
    """What a classifier was expected to answer to a turn, and what it answered; nothing where no label is expected."""
    expect = exchange.turn.expect
    expected = expected_labels(expect)
    if expected is None:
        return ()
    answer = read_label(exchange.reply.output) if expect.label is not None else read_labels(exchange.reply.output)
    unreadable = answer.problem and not answer.labels and not expected
    return (Labelled(expected, frozenset({_UNREADABLE}) if unreadable else answer.labels, answer.confidence),)


def _best(scenario: Scenario) -> CaseSample:
    """What a perfect system would have made of a case."""
    expects = [turn.expect for turn in scenario.turns]
    return CaseSample(
        labelled=tuple(
            Labelled(labels, labels) for expect in expects if (labels := expected_labels(expect)) is not None
        ),
        ranked=tuple(
            Ranked(ideal_ranking(judgements), judgements)
            for expect in expects
            if (judgements := _judgements(expect)) is not None
        ),
        refusals=tuple(
            RefusalSample(expect.refusal, expect.refusal) for expect in expects if expect.refusal is not None
        ),
    )


def _judgements(expect: Expectation) -> Mapping[str, float] | None:
    """The scores of a turn that names a relevant document."""
    found = expect.documents
    return found if found is not None and any(relevance > 0 for relevance in found.values()) else None
