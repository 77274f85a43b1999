"""Checks one answer in production before it is sent: the gate's deterministic assertions and metrics, in milliseconds.

``read_inline_rules`` reads the file once, ``check_answer`` is called for each answer. A judge is optional
(``inline_judge.py``) and never blocks. ``docs/inline-checks.md`` describes file and result.
"""

import os
import time
import uuid
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import Field

from ratiba_action.checks.custom_code import is_address
from ratiba_action.checks.failure_rules import REFUSE, RISK, check_rule, is_judged_rule, validate_rule
from ratiba_action.config.renamed_keys import read_current, warn_of_former_keys
from ratiba_action.errors import ConfigurationError, FileProblem, NothingToMeasureError, RatibaError, SuiteError
from ratiba_action.metrics.registry import is_judged, load_metric, metric_problems
from ratiba_action.model.conversation import Document, Exchange, Reply, Transcript
from ratiba_action.model.event import EvaluationFailed, Event, Place
from ratiba_action.model.measurement import Case, Check, Score
from ratiba_action.model.scenario import (
    Assertion,
    Customer,
    Expectation,
    FailureRule,
    Layer,
    Scenario,
    SystemType,
    Turn,
)
from ratiba_action.observability.event_file import EventFile, open_descriptor
from ratiba_action.observability.event_masking import EventMask
from ratiba_action.ports import EventLog, Metric
from ratiba_action.privacy.masking import Redactor
from ratiba_action.suite.building import judged_rule
from ratiba_action.suite.references import with_catalogues
from ratiba_action.suite.scenario_schema import AssertionBlock, RuleBlock
from ratiba_action.util.patterns import SearchTime, compile_pattern, pattern_problem
from ratiba_action.util.strict_yaml import MAX_BYTES, YamlDocument
from ratiba_action.util.validation import StrictModel, validate

RULES = ("must_contain", "must_not_contain", "regex_must_match", "regex_must_not_match", REFUSE, RISK)
"""Failure rules of a scenario that one answer can be checked by."""
_SEARCH_SECONDS = 0.05
"""For all patterns of one answer."""
_SAMPLE = "Habari, karibu sana. Good morning, you are welcome here."


class AnswerAction(StrEnum):
    """What to do with an answer, the mildest first."""

    PASS = "pass"  # noqa: S105 - no password
    FLAG = "flag"
    BLOCK = "block"


OnFailure = Literal["flag", "block"]


class InlineRuleBlock(RuleBlock):
    """A rule of a scenario, and what follows from its failure.

    ``must_refuse`` waits for no judge here unless it says so: what phrases are not sure of fails.
    """

    on_failure: OnFailure = "block"


class InlineAssertionBlock(AssertionBlock):
    """A metric with its threshold, and what follows from its failure."""

    on_failure: OnFailure = "flag"


class InlineJudgeBlock(StrictModel):
    """Limits of the judge."""

    seconds: Annotated[float, Field(gt=0, le=60, allow_inf_nan=False, description="time limit for one answer")] = 1.5


class InlineRulesBlock(StrictModel):
    """The file of rules."""

    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}$", description="ISO 639 code of the answers")]
    refuse: list[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=list, description="patterns of questions that must be refused"
    )
    rules: list[InlineRuleBlock] = Field(default_factory=list)
    assertions: list[InlineAssertionBlock] = Field(default_factory=list)
    judge: InlineJudgeBlock = Field(default_factory=InlineJudgeBlock)


class JudgedAssertion(NamedTuple):
    """An assertion that only a judge can measure."""

    assertion: Assertion
    on_failure: AnswerAction


class _Measured(NamedTuple):
    assertion: Assertion
    metric: Metric
    on_failure: AnswerAction


@dataclass(frozen=True, slots=True)
class InlineRules:
    """Rules that were read and tried; make them with ``read_inline_rules``, once in a process.

    Args:
        judged: measured only where a judge is given.
        judge_seconds: time limit of all judge calls of one answer.
    """

    path: str
    language: str
    refuse: tuple[Any, ...]
    rules: tuple[tuple[FailureRule, AnswerAction], ...]
    measured: tuple[_Measured, ...]
    judged: tuple[JudgedAssertion, ...]
    judge_seconds: float


@dataclass(frozen=True, slots=True)
class AnswerProblem:
    """Why an answer is flagged or blocked; texts are masked.

    Args:
        kind: ``check``, ``score``, or ``error`` for what could not be measured.
        line: of the rule in its file; 0 for a problem of the answer itself.
    """

    action: AnswerAction
    kind: str
    name: str
    expected: str = ""
    got: str = ""
    reason: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """The result of ``check_answer``.

    Args:
        not_measured: checks that did not apply, such as the language of two words, and why.
        seconds: that the check took, with the judge.
    """

    problems: tuple[AnswerProblem, ...] = ()
    not_measured: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def action(self) -> AnswerAction:
        """What to do with the answer."""
        return self.problems[0].action if self.problems else AnswerAction.PASS

    @property
    def flagged(self) -> bool:
        """Whether anything failed."""
        return bool(self.problems)

    @property
    def blocked(self) -> bool:
        """Whether the answer must not be sent."""
        return self.action is AnswerAction.BLOCK


class AnswerJudge(Protocol):
    """Measures what only a judge can; ``InlineJudge`` implements it."""

    def scores(
        self, case: Case, judged: Sequence[JudgedAssertion], redactor: Redactor, seconds: float
    ) -> Sequence[Score | str]:
        """One score for each assertion, or why there is none; never raises and never takes longer than allowed."""
        ...


def read_inline_rules(
    path: str | os.PathLike[str], warn: Callable[[str, bytes], None] = warn_of_former_keys
) -> InlineRules:
    """Read a file of rules, try each check once and load what it needs.

    Args:
        path: of a YAML file; catalogues of terms are relative to its folder.
        warn: is given the path and the content of a file without a mistake, to warn of keys by their former names.

    Raises:
        SuiteError: the file is wrong; carries every mistake with its line.
    """
    given = Path(path)
    content = _read(given)
    document, problems = read_current(given.name, content)
    if document is not None:
        document, _, missing = with_catalogues(document, _catalogues(given, document))
        block, invalid = validate(InlineRulesBlock, document)
        problems = (*problems, *missing, *invalid)
        if block is not None and not problems:
            rules, found = _build(str(given), document, block)
            if not found:
                warn(str(given), content)
                return rules
            problems = tuple(found)
    raise SuiteError(
        [
            FileProblem(str(given) if each.path == given.name else each.path, each.line, each.message)
            for each in problems
        ]
    )


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise SuiteError([FileProblem(str(path), 0, "there is no such file; give a YAML file of rules")])
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SuiteError([FileProblem(str(path), 0, f"cannot be read: {error.strerror}")]) from error


def _catalogues(path: Path, document: YamlDocument) -> Mapping[str, bytes]:
    """The catalogues that the file names and that lie in its folder."""
    entries = document.data.get("assertions") if isinstance(document.data, dict) else None
    found: dict[str, bytes] = {}
    for entry in entries if isinstance(entries, list) else ():
        parameters = entry.get("with") if isinstance(entry, dict) else None
        name = parameters.get("catalogue") if isinstance(parameters, dict) else None
        if isinstance(name, str) and (path.parent / name).is_file():
            found[name] = _read(path.parent / name)
    return found


def _build(path: str, document: YamlDocument, block: InlineRulesBlock) -> tuple[InlineRules, Sequence[FileProblem]]:
    """The rules, and what is wrong with them beyond the schema."""
    wrong: list[FileProblem] = []
    rules, judged = _rules(document, block, wrong)
    measured, judged_metrics = _metrics(document, block, wrong)
    if not (block.rules or block.assertions or block.refuse):
        wrong.append(FileProblem(document.name, 0, "nothing is checked; give `rules`, `assertions` or `refuse`"))
    for index, pattern in enumerate(block.refuse):
        problem = pattern_problem(pattern)
        if problem:
            wrong.append(FileProblem(document.name, document.line(("refuse", index)), f"refuse: {problem}"))
    refuse = () if wrong else tuple(compile_pattern(pattern) for pattern in block.refuse)
    made = InlineRules(
        path=path,
        language=block.language,
        refuse=refuse,
        rules=rules,
        measured=measured,
        judged=(*judged, *judged_metrics),
        judge_seconds=block.judge.seconds,
    )
    return made, wrong or list(_failing_at_once(document, made))


def _rules(
    document: YamlDocument, block: InlineRulesBlock, wrong: list[FileProblem]
) -> tuple[tuple[tuple[FailureRule, AnswerAction], ...], tuple[JudgedAssertion, ...]]:
    rules, judged = list[tuple[FailureRule, AnswerAction]](), list[JudgedAssertion]()
    for index, rule in enumerate(block.rules):
        line, problem = document.line(("rules", index)), _rule_problem(rule)
        if problem:
            wrong.append(FileProblem(document.name, line, problem))
        elif is_judged_rule(rule.type, rule.value):
            judged.append(JudgedAssertion(judged_rule(rule.type, rule.value, line), AnswerAction(rule.on_failure)))
        else:
            rules.append((FailureRule(rule.type, rule.value, line), AnswerAction(rule.on_failure)))
    return tuple(rules), tuple(judged)


def _metrics(
    document: YamlDocument, block: InlineRulesBlock, wrong: list[FileProblem]
) -> tuple[tuple[_Measured, ...], tuple[JudgedAssertion, ...]]:
    measured, judged = list[_Measured](), list[JudgedAssertion]()
    for index, entry in enumerate(block.assertions):
        line, action = document.line(("assertions", index)), AnswerAction(entry.on_failure)
        problems = _metric_problems(entry, block)
        wrong += [FileProblem(document.name, line, problem) for problem in problems]
        if problems:
            continue
        made = Assertion(entry.metric, entry.threshold, line, entry.parameters, entry.name or "")
        if is_judged(entry.metric, entry.parameters):
            judged.append(JudgedAssertion(made, action))
        else:
            measured.append(_Measured(made, load_metric(entry.metric, None, entry.parameters), action))
    return tuple(measured), tuple(judged)


def _rule_problem(rule: InlineRuleBlock) -> str | None:
    problem = validate_rule(rule.type, rule.value)
    if problem is None and rule.type not in RULES:
        problem = f"the rule {rule.type} is about a conversation, not one answer; allowed: {', '.join(RULES)}"
    if problem is None and rule.type == REFUSE and rule.value not in (None, {"judge": True}, {"judge": False}):
        problem = f"{REFUSE} is about the one answer here, so it names no turn"
    return problem


def _metric_problems(entry: InlineAssertionBlock, block: InlineRulesBlock) -> tuple[str, ...]:
    if is_address(entry.metric):
        return (f"{entry.metric!r} is code of a repository, which only the gate runs; use a built-in metric",)
    truths = frozenset({"refusal"} if block.refuse else ())
    return metric_problems(entry.metric, entry.parameters, truths)


def _failing_at_once(document: YamlDocument, rules: InlineRules) -> Iterator[FileProblem]:
    """What no answer could be measured by: a language that cannot be detected, a package that is missing.

    It also loads what the first answer would otherwise wait for.
    """
    case = _case(_exchange(_SAMPLE, _SAMPLE, (), rules), rules, "sample", Customer("", ""))
    check_rule(FailureRule(REFUSE, None), case.transcript)
    for entry in rules.measured:
        try:
            _now(entry.metric.measure(case, entry.assertion.threshold))
        except NothingToMeasureError:
            pass
        except ConfigurationError as error:
            yield FileProblem(document.name, entry.assertion.line, str(error))


def _now(work: Coroutine[Any, Any, Score]) -> Score:
    """The score of a deterministic metric: it awaits nothing, so no event loop is needed, whatever calls this."""
    try:
        work.send(None)
    except StopIteration as done:
        score: Score = done.value
        return score
    work.close()
    raise RuntimeError("a deterministic metric waits for something")


def check_answer(
    question: str,
    answer: str,
    contexts: Iterable[str],
    rules: InlineRules,
    *,
    conversation: str = "",
    phone: str = "",
    names: Iterable[str] = (),
    judge: AnswerJudge | None = None,
    events: EventLog | None = None,
) -> CheckedAnswer:
    """Check one answer; may be called from several threads. Without a judge it waits for nothing.

    Args:
        answer: what the system is about to send.
        contexts: texts that it was answered from, for a judge of faithfulness.
        rules: of ``read_inline_rules``.
        conversation: id of the conversation, for events.
        phone: of the customer, whose own number is no leak.
        names: of people, masked in reasons, in events and for the judge.
        judge: measures the judged assertions within the time limit of the rules; None leaves them out.
        events: receives an ``EVAL_FAIL`` event for each problem; None writes none.
    """
    began = time.perf_counter()
    redactor = Redactor(names=tuple(names))
    case = _case(_exchange(question, answer, contexts, rules), rules, conversation or "answer", Customer("", phone))
    missing: list[str] = []
    problems = [*([] if answer.strip() else [_EMPTY]), *_deterministic(case, rules, missing)]
    if rules.judged and answer.strip():
        if judge is None:
            missing += [f"{entry.assertion.label}: no judge was called" for entry in rules.judged]
        else:
            scores = judge.scores(case, rules.judged, redactor, rules.judge_seconds)
            problems += _judged(rules.judged, scores)
    masked = [_masked(problem, redactor) for problem in problems]
    masked.sort(key=lambda problem: problem.action is not AnswerAction.BLOCK)
    for problem in masked if events is not None else ():
        _emit(events, problem, redactor.text(conversation))
    return CheckedAnswer(tuple(masked), tuple(missing), time.perf_counter() - began)


_EMPTY = AnswerProblem(AnswerAction.FLAG, "check", "answer", "a text", "nothing but white space", "the answer is empty")


def _exchange(question: str, answer: str, contexts: Iterable[str], rules: InlineRules) -> Exchange:
    must_refuse = _matches(rules.refuse, question) if rules.refuse else None
    documents = tuple(Document(str(number), text) for number, text in enumerate(contexts, 1))
    return Exchange(Turn(question, expect=Expectation(refusal=must_refuse)), Reply(answer, documents=documents))


def _case(exchange: Exchange, rules: InlineRules, conversation: str, customer: Customer) -> Case:
    scenario = Scenario(
        conversation,
        rules.language,
        (exchange.turn,),
        datetime.now(UTC),
        customer,
        layer=Layer.PRODUCTION,
        system_type=SystemType.RAG if exchange.reply.documents else SystemType.CHATBOT,
    )
    return Case(scenario, Transcript(conversation, (exchange,)))


def _matches(patterns: Sequence[Any], question: str) -> bool:
    """Whether a question must be refused; one that a pattern takes too long on counts as such."""
    search = SearchTime(_SEARCH_SECONDS, time.monotonic)
    try:
        return any(search.search(pattern, question) for pattern in patterns)
    except TimeoutError:
        return True


def _deterministic(case: Case, rules: InlineRules, missing: list[str]) -> Iterator[AnswerProblem]:
    search = SearchTime(_SEARCH_SECONDS, time.monotonic)
    every = list(rules.rules)
    if case.transcript.exchanges[0].turn.expect.refusal:
        every.append((FailureRule(REFUSE, None), AnswerAction.BLOCK))
    for rule, action in every:
        try:
            yield from (
                _failed(check, action) for check in check_rule(rule, case.transcript, search) if not check.passed
            )
        except RatibaError as error:
            yield AnswerProblem(action, "error", rule.type, reason=str(error), line=rule.line)
    for assertion, metric, action in rules.measured:
        try:
            score = _now(metric.measure(case, assertion.threshold))
        except NothingToMeasureError as error:
            missing.append(f"{assertion.label}: {error.problem}")
        except RatibaError as error:
            yield AnswerProblem(action, "error", assertion.label, reason=str(error), line=assertion.line)
        else:
            if not score.passed:
                yield _below(score, assertion, action)


def _failed(check: Check, action: AnswerAction) -> AnswerProblem:
    return AnswerProblem(action, "check", check.what, check.expected, check.got, line=check.line)


def _below(score: Score, assertion: Assertion, action: AnswerAction) -> AnswerProblem:
    expected, got = f"at least {score.threshold:g}", f"{score.value:g}"
    return AnswerProblem(action, "score", assertion.label, expected, got, score.reason, assertion.line)


def _judged(judged: Sequence[JudgedAssertion], scores: Sequence[Score | str]) -> Iterator[AnswerProblem]:
    """A judge that is late, refused or wrong flags the answer, whatever the rule says: it measured nothing."""
    for (assertion, action), score in zip(judged, scores, strict=True):
        if isinstance(score, str):
            yield AnswerProblem(AnswerAction.FLAG, "error", assertion.label, reason=score, line=assertion.line)
        elif not score.passed:
            yield _below(score, assertion, action)


def _masked(problem: AnswerProblem, redactor: Redactor) -> AnswerProblem:
    return replace(
        problem,
        expected=redactor.text(problem.expected),
        got=redactor.text(problem.got),
        reason=redactor.text(problem.reason),
    )


def _emit(events: EventLog | None, problem: AnswerProblem, conversation: str) -> None:
    if events is None:
        return
    flag = "blocked" if problem.action is AnswerAction.BLOCK else "flagged"
    failed = EvaluationFailed(problem.kind, problem.name, problem.expected, problem.got, problem.reason, flag)
    events.emit(Event(failed, Place(scenario=conversation or None, turn=1)))


@dataclass(frozen=True, slots=True)
class InlineEvents:
    """Where ``EVAL_FAIL`` events go; see ``open_inline_events``."""

    log: EventFile = field(repr=False)

    def __enter__(self) -> EventFile:
        """The log."""
        return self.log

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.log.close()


def open_inline_events(
    path: str | os.PathLike[str],
    warn: Callable[[str], None],
    secrets: Iterable[str] = (),
    redactor: Redactor | None = None,
) -> InlineEvents:
    """Open a file of events to append to; several processes may do so at once.

    Args:
        path: of the file, in a folder that exists.
        warn: called with what could not be written; an event that is lost never stops an answer.
        secrets: masked in every line.
        redactor: of every line; None for one with the secrets.

    Raises:
        ConfigurationError: it cannot be opened.
    """
    file = Path(path)
    try:
        descriptor = open_descriptor(file, anew=False)
    except OSError as error:
        raise ConfigurationError(
            f"The events {str(file)!r} cannot be written: {error.strerror or error}.",
            "Give --events a file in a folder that exists.",
        ) from error
    mask = EventMask({}, redactor or Redactor(secrets))
    return InlineEvents(
        EventFile(file, descriptor, str(uuid.uuid4()), (), mask=mask, clock=lambda: datetime.now(UTC), warn=warn)
    )
