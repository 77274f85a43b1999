"""How far each judge agrees with people: its scores of the calibration set, kappa with an interval, and thresholds."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.config.configuration import Configuration
from ratiba_action.errors import ConfigurationError, FileProblem, RatibaError, SuiteError
from ratiba_action.metrics.registry import is_judged, metric_problems
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Exchange, Reply, Transcript
from ratiba_action.model.measurement import Case, JudgeThresholds, MeanByPeople
from ratiba_action.model.note import Note
from ratiba_action.model.scenario import Assertion, Customer, Scenario, Turn, assertion_label
from ratiba_action.model.values import Usd
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.calibration import (
    FILE,
    CalibrationSet,
    ConversationBlock,
    CriterionBlock,
    read_calibration,
    schedule,
    write_into,
)
from ratiba_action.production.inline import AnswerAction, JudgedAssertion
from ratiba_action.settings.settings import Settings
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.verdict.agreement import thresholds_of
from ratiba_action.verdict.human_agreement import FAILED, LABELS, MIN, HumanAgreement, human_agreement
from ratiba_action.verdict.prediction_powered import mean_by_people

if TYPE_CHECKING:
    from ratiba_action.production.inline_judge import InlineJudge

SCORES = "calibration/judge_scores.jsonl"
_GENERIC = (
    "Judge the {name} of the assistant's turns in the whole conversation, as a customer of the business would.",
    "Give 10 when nothing is to be changed, 5 when it is acceptable with clear weaknesses, 0 when it is useless.",
)
_SECONDS = 180.0


_Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class JudgeMark:
    """A judge's score of a criterion of one conversation.

    Args:
        asked: digest of the metric and its steps.
        score: 0 to 1.
    """

    id: str
    digest: str
    judge: str
    criterion: str
    asked: str
    metric: str
    version: str
    score: float

    @property
    def key(self) -> "_Key":
        """What makes it the same score."""
        return self.digest, self.judge, self.criterion, self.asked

    @property
    def label(self) -> int:
        """On the scale of people: 0 is 1, and 1 is 5."""
        return math.floor(1 + self.score * (len(LABELS) - 1) + 0.5)


def read_marks(folder: Path) -> tuple[JudgeMark, ...]:
    """The scores that ``ratiba calibrate run`` wrote below a scenarios folder; none without the file.

    Raises:
        SuiteError: the file is wrong; holds every problem.
    """
    name = f"{folder.name}/{SCORES}"
    try:
        lines = read_plain_file(folder, SCORES).decode("utf-8").splitlines()
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise SuiteError([FileProblem(name, 0, f"cannot be read: {error}")]) from error
    marks, problems = list[JudgeMark](), list[FileProblem]()
    for number, line in enumerate(lines, 1):
        mark = _read_mark(line)
        if mark is None:
            problems.append(FileProblem(name, number, f"{line!r:.80} is no score of ratiba calibrate run"))
        else:
            marks.append(mark)
    if problems:
        raise SuiteError(problems)
    return tuple(marks)


def _read_mark(line: str) -> JudgeMark | None:
    try:
        mark = JudgeMark(**json.loads(line))
        texts = (mark.id, *mark.key, mark.metric, mark.version)
        return mark if all(isinstance(text, str) for text in texts) and 0 <= mark.score <= 1 else None
    except (ValueError, TypeError, RecursionError):
        return None


def _write_marks(folder: Path, marks: Iterable[JudgeMark]) -> None:
    ordered = sorted(marks, key=lambda mark: (mark.id, mark.judge, mark.criterion, mark.asked))
    lines = (json.dumps(asdict(mark), ensure_ascii=False, sort_keys=True) for mark in ordered)
    write_into(folder, SCORES, "".join(f"{line}\n" for line in lines))


def agreements(calibration: CalibrationSet, marks: Sequence[JudgeMark]) -> tuple[HumanAgreement, ...]:
    """One for each judge and criterion; scores of a conversation that was edited since do not count."""
    return tuple(
        human_agreement(judge, criterion, [(label, mark.label) for mark, label in rated], calibration.kappa)
        for judge, criterion, rated in _rated(calibration, marks)
    )


def _rated(
    calibration: CalibrationSet, marks: Sequence[JudgeMark]
) -> Iterator[tuple[str, str, list[tuple[JudgeMark, int]]]]:
    """The scores of each judge and criterion with people's labels; only of what was said and is asked today."""
    by_key = {mark.key: mark for mark in marks}
    for judge in sorted({mark.judge for mark in marks}):
        for criterion, assertion in _assertions(calibration).items():
            labels, asked = calibration.labels(criterion), _asked(assertion)
            found = (
                (by_key.get((each.digest, judge, criterion, asked)), labels[each.id])
                for each in calibration.conversations
                if each.id in labels
            )
            yield judge, criterion, [(mark, label) for mark, label in found if mark is not None]


@dataclass(frozen=True, slots=True)
class GoldenScores:
    """What a run of the golden set measured.

    Args:
        judge: that gave the scores; empty where nothing has run.
        scores: of each judged metric, of every trial.
        means: of each scenario over its trials, by metric: trials of one are not independent.
    """

    judge: str = ""
    scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    means: Mapping[str, Sequence[float]] = field(default_factory=dict)


_MIN_OTHERS = 10
"""Scenarios without which a normal interval of their mean says nothing."""


def thresholds(
    calibration: CalibrationSet, marks: Sequence[JudgeMark], golden: GoldenScores
) -> tuple[JudgeThresholds, ...]:
    """Thresholds from 0.05 to 1 by judge and criterion, with what people would say of the golden set."""
    found: list[JudgeThresholds] = []
    for judge, criterion, pairs in _rated(calibration, marks):
        # A criterion by steps is on the golden set where a scenario's assertion has its name.
        name = criterion if calibration.criteria[criterion].metric is None else ""
        metric = assertion_label(pairs[0][0].metric, name) if pairs else ""
        rated = [(mark.score, label) for mark, label in pairs]
        each = thresholds_of(judge, criterion, metric, rated, golden=golden.scores.get(metric, ()))
        others = golden.means.get(metric, ()) if judge == golden.judge else ()
        found.append(replace(each, by_people=_by_people(rated, others)))
    return tuple(found)


def _by_people(rated: Sequence[tuple[float, int]], others: Sequence[float]) -> MeanByPeople | None:
    if len(rated) < MIN or len(others) < _MIN_OTHERS:
        return None
    labels = [(label - LABELS[0]) / (LABELS[-1] - LABELS[0]) for _, label in rated]
    return mean_by_people(labels, [score for score, _ in rated], others)


@dataclass(frozen=True, slots=True)
class CalibrationRun:
    """What came of a run.

    Args:
        missing: how many scores there are not.
        spent: US dollars.
    """

    agreements: tuple[HumanAgreement, ...]
    missing: int
    problems: tuple[str, ...]
    spent: str


def _assertion(name: str, criterion: CriterionBlock) -> Assertion:
    if criterion.metric is not None:
        return Assertion(criterion.metric, 0.5)
    steps = criterion.steps or [step.format(name=name) for step in _GENERIC]
    return Assertion("ConversationalGEval", 0.5, parameters={"criterion": name, "steps": steps})


def _assertions(calibration: CalibrationSet) -> dict[str, Assertion]:
    return {name: _assertion(name, block) for name, block in calibration.criteria.items()}


def criterion_assertions(calibration: CalibrationSet) -> dict[str, Assertion]:
    """What the judge measures for each criterion.

    Raises:
        ConfigurationError: a metric does not exist, or no judge gives it.
    """
    made = _assertions(calibration)
    for name, assertion in made.items():
        wrong = metric_problems(assertion.metric, assertion.parameters)
        if not wrong and not is_judged(assertion.metric, assertion.parameters):
            wrong = (f"{assertion.metric} is deterministic",)
        if wrong:
            raise ConfigurationError(
                f"{FILE}: the criterion {name!r} cannot be measured: {'; '.join(wrong)}.", "Name a judged metric."
            )
    return made


def _case(conversation: ConversationBlock) -> Case:
    exchanges = tuple(Exchange(Turn(user=turn.user), Reply(turn.reply)) for turn in conversation.turns)
    scenario = Scenario(
        id=conversation.id,
        language=conversation.language,
        turns=tuple(exchange.turn for exchange in exchanges),
        now=datetime.combine(conversation.added, datetime.min.time(), UTC),
        customer=Customer("", ""),
    )
    return Case(scenario, Transcript(conversation.id, exchanges))


def judged_by(configuration: Configuration, keys: Iterable[str]) -> tuple[Configuration, ...]:
    """A configuration for each judge that has a key: the first judge's, and one with the second in its place."""
    known, judge = frozenset(keys), configuration.judge
    judges = [(judge.model, judge.provider)]
    judges += [(judge.cross_check.model, judge.cross_check.provider)] if judge.cross_check is not None else []
    return tuple(
        configuration.model_copy(update={"judge": judge.model_copy(update={"model": model, "provider": provider})})
        for model, provider in judges
        if provider in known
    )


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """What the judges score.

    Args:
        configurations: one for each judge with a key; none to use only the scores that are kept.
        settings: keys, and the budget of all judges together.
    """

    folder: Path
    calibration: CalibrationSet
    configurations: Sequence[Configuration]
    settings: Settings
    environment: MutableMapping[str, str]
    note: Callable[[str], None]


def run_judges(request: JudgeRequest) -> CalibrationRun:
    """Let each judge score what it has not scored yet; every score is kept as soon as it is given.

    Raises:
        ConfigurationError: a judge has no price, or generated a conversation itself.
        SuiteError: the kept scores are wrong.
    """
    marks, problems = {mark.key: mark for mark in read_marks(request.folder)}, list[str]()
    assertions, spent = criterion_assertions(request.calibration), Usd(0)
    rated = [conversation for conversation in request.calibration.conversations if conversation.labels]

    def wanted(conversation: ConversationBlock, model: str) -> dict[str, Assertion]:
        keys = {name: (conversation.digest, model, name, _asked(each)) for name, each in assertions.items()}
        return {name: each for name, each in assertions.items() if keys[name] not in marks}

    for configuration in request.configurations:
        model = configuration.judge.model
        if not any(wanted(conversation, model) for conversation in rated):
            continue
        left = replace(request.settings, budget_usd=request.settings.budget_usd - spent)
        with _judge(request, left, configuration, rated) as judge:
            for conversation in rated:
                fresh, failed = _scored(judge, conversation, model, wanted(conversation, model), left)
                problems += failed
                if fresh:
                    marks |= {mark.key: mark for mark in fresh}
                    _write_marks(request.folder, marks.values())
            spent += judge.spent
    models = {mark.judge for mark in marks.values()} | {each.judge.model for each in request.configurations}
    missing = sum(len(wanted(conversation, model)) for model in models for conversation in rated)
    missing += 0 if models else len(rated) * len(assertions)
    return CalibrationRun(agreements(request.calibration, list(marks.values())), missing, tuple(problems), str(spent))


def _judge(
    request: JudgeRequest, settings: Settings, configuration: Configuration, rated: Sequence[ConversationBlock]
) -> "InlineJudge":
    from ratiba_action.production.inline_judge import InlineJudge  # loads DeepEval

    return InlineJudge(
        settings,
        request.folder,
        request.environment,
        generators=sorted({model for conversation in rated for model in conversation.models}),
        note=request.note,
        configuration=configuration,
    )


def _scored(
    judge: "InlineJudge",
    conversation: ConversationBlock,
    model: str,
    wanted: Mapping[str, Assertion],
    settings: Settings,
) -> tuple[list[JudgeMark], list[str]]:
    """The scores that a judge gave, and why it gave others not."""
    if not wanted:
        return [], []
    judged = [JudgedAssertion(assertion, AnswerAction.FLAG) for assertion in wanted.values()]
    scores = judge.scores(_case(conversation), judged, Redactor(settings.secrets), _SECONDS)
    marks, problems = list[JudgeMark](), list[str]()
    for (name, assertion), score in zip(wanted.items(), scores, strict=True):
        if isinstance(score, str):
            problems.append(f"{conversation.id}, {name}, {model}: {score}")
            continue
        digest, asked = conversation.digest, _asked(assertion)
        marks.append(JudgeMark(conversation.id, digest, model, name, asked, score.metric, score.version, score.value))
    return marks, problems


def _asked(assertion: Assertion) -> str:
    return digest([assertion.metric, dict(assertion.parameters)])


def calibration_notes(folder: Path, judges: Iterable[str], today: date) -> tuple[str, ...]:
    """What the gate says of the calibration of its judges; nothing where there is no calibration set."""
    try:
        calibration = read_calibration(folder)
        if calibration is None:
            return ()
        found = [each for each in agreements(calibration, read_marks(folder)) if each.judge in set(judges)]
    except RatibaError as error:
        return (Note(f"The calibration of the judges is unknown: {error}", "Run: ratiba calibrate run."),)
    return tuple(_notes(calibration, found, today))


def _notes(calibration: CalibrationSet, found: Sequence[HumanAgreement], today: date) -> Iterator[str]:
    failed = [each for each in found if each.status in FAILED]
    if failed:
        shown = "; ".join(f"{each.judge} on {each.criterion}, {each.problem} (n = {each.n})" for each in failed)
        remedies = " ".join(dict.fromkeys(each.advice for each in failed))
        yield Note(f"The judge agrees too little with people: {shown}.", remedies)
    few = min((each.n for each in found), default=0)
    if few < MIN:
        yield f"The judge is uncalibrated: {few} of {MIN} labelled conversations have its score."
    plan = schedule(calibration, today)
    if plan.overdue_days or plan.gone is not None:
        yield Note(plan.sentence, "Run: ratiba calibrate label.")
