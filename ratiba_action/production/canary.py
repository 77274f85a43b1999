"""Is a canary worse than the stable version, or good enough to promote? Asked of production at any time, any often."""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from ratiba_action.model.event import ConversationStarted
from ratiba_action.model.values import mean
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess
from ratiba_action.observability.langfuse_server import connected
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.conversation import DISLIKED, FAILED, LIKED, GroupMark, marks_of
from ratiba_action.production.drift import Measurement, SampleEvent, SeriesVersion, read_sample_events, sampled_scores
from ratiba_action.production.feedback import FEEDBACK, feedback_since
from ratiba_action.production.sample_reading import (
    failed_between,
    feedback_on_traces,
    in_share,
    marked_between,
    of_production,
    opinions,
)
from ratiba_action.util.text import plural
from ratiba_action.verdict.two_samples import concurrent_differences, log_e_value

FAILURES, OPINIONS = "failures", "feedback"
"""Metrics that need no judge: no step failed; the last feedback was positive."""

_PLAIN = SeriesVersion("")
_LARGEST = 600.0
"""Logarithm of the largest e-value that is shown."""


class CanaryAnswer(StrEnum):
    """What a look at a canary comes to."""

    PROMOTE = "promote"
    WAIT = "wait"
    ROLL_BACK = "roll back"


@dataclass(frozen=True, slots=True)
class CanaryRules:
    """What is compared, and what is enough.

    Args:
        stable: tag, prompt version or model of the conversations that most customers have.
        since: nothing before is read; with time zone.
        until: end (exclusive), with time zone.
        margin: how much lower, 0 to 1, the canary's mean of a metric may be for a promotion.
        level: chance of a roll-back of a canary that is not worse, and of a promotion of one that is by the margin.
        at_least: how long a canary is watched before it is promoted.
        share: of conversations that ``ratiba sample`` selects by hash.
        metrics: names of those that count; empty for all.
        environment: Langfuse environment of production; empty for all except the gate's own.
    """

    stable: str
    canary: str
    since: datetime
    until: datetime
    mark: GroupMark = GroupMark.TAG
    margin: float = 0.05
    level: float = 0.025
    at_least: timedelta = timedelta(hours=24)
    share: float = 0.05
    metrics: tuple[str, ...] = ()
    environment: str = ""
    feedback: str = FEEDBACK


Series = tuple[str, SeriesVersion]
"""A metric and its version: what may be compared."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A conversation of production.

    Args:
        at: when it began, or was measured.
        marks: its tags, prompt versions and models, as ``Mark.tag`` spells them.
        values: 0 to 1, 1 is best.
        order: among conversations of the same time; must not depend on the values.
    """

    name: str
    at: datetime
    marks: frozenset[str]
    values: Mapping[Series, float]
    order: str = ""


@dataclass(frozen=True, slots=True)
class MetricLook:
    """One series.

    Args:
        stable: how many conversations of it have a value, since the canary began.
        e_worse: evidence that the canary is worse; 1 is none.
        e_good_enough: evidence that it is not worse by the margin.
        ended: another version of the metric or another judge has come since; it is not needed for a promotion.
    """

    metric: str
    version: str
    stable: int
    canary: int
    stable_mean: float | None
    canary_mean: float | None
    e_worse: float
    e_good_enough: float
    ended: bool = False


@dataclass(frozen=True, slots=True)
class CanaryLook:
    """A look at a canary.

    Args:
        e_worse: mean of the metrics' evidence that the canary is worse.
        notes: what else to know.
        began: first conversation of the canary; None without one.
    """

    rules: CanaryRules
    answer: CanaryAnswer
    reasons: tuple[str, ...]
    metrics: tuple[MetricLook, ...]
    e_worse: float
    stable: int
    canary: int
    began: datetime | None = None
    notes: tuple[str, ...] = ()


def look(conversations: Iterable[Watched], rules: CanaryRules) -> CanaryLook:
    """Compare the canary with the stable conversations since it began.

    It is rolled back if the mean of the e-values of all series reaches ``1 / level``: the mean of e-values is one,
    however they depend on each other (Vovk and Wang 2021). It is promoted if every series by itself shows that it is
    not worse by the margin, which needs no correction (Berger 1982). Earlier looks do not count.

    Args:
        conversations: in any order; those outside of the period or of another version are left out.
    """
    sides = GroupMark.tag(rules.mark, rules.stable), GroupMark.tag(rules.mark, rules.canary)
    period = [each for each in conversations if rules.since <= each.at < rules.until]
    both = sum(each.marks.issuperset(sides) for each in period)
    either = [each for each in period if sum(side in each.marks for side in sides) == 1]
    ordered = sorted(either, key=lambda each: (each.at, each.order, each.name))
    canaries = [sides[1] in each.marks for each in ordered]
    first = canaries.index(True) if True in canaries else len(ordered)
    concurrent = list(zip(canaries[first:], ordered[first:], strict=True))
    began = ordered[first].at if first < len(ordered) else None
    metrics = tuple(_series(concurrent, rules))
    e_worse = _mean([entry.e_worse for entry in metrics]) if metrics else 1.0
    notes = tuple(_notes(both, began, metrics, rules))
    answer, reasons = _answer(metrics, e_worse, began, rules)
    return CanaryLook(
        rules, answer, reasons, metrics, e_worse, canaries.count(False), canaries.count(True), began, notes
    )


def _series(concurrent: Sequence[tuple[bool, Watched]], rules: CanaryRules) -> Iterator[MetricLook]:
    """Every series, each metric's newest one last."""
    found: dict[Series, list[tuple[bool, float]]] = {}
    newest: dict[str, SeriesVersion] = {}
    for is_canary, conversation in concurrent:
        for series, value in conversation.values.items():
            if not rules.metrics or series[0] in rules.metrics:
                found.setdefault(series, []).append((is_canary, value))
                newest[series[0]] = series[1]
    for (metric, version), values in sorted(found.items(), key=lambda item: item[0][0]):
        stable = [value for is_canary, value in values if not is_canary]
        canary = [value for is_canary, value in values if is_canary]
        differences = concurrent_differences(values)
        yield MetricLook(
            metric,
            str(version),
            len(stable),
            len(canary),
            _mean(stable) if stable else None,
            _mean(canary) if canary else None,
            _e_value(log_e_value([-each for each in differences], 1.0)),
            _e_value(log_e_value([each + rules.margin for each in differences], 1.0 - rules.margin)),
            ended=newest[metric] != version,
        )


def _mean(values: Sequence[float]) -> float:
    # A sum that is rounded once is enough for evidence; exact fractions took most of a look at 8,000 conversations.
    return math.fsum(values) / len(values)


def _e_value(logarithm: float) -> float:
    return math.exp(min(logarithm, _LARGEST))


def _answer(
    metrics: Sequence[MetricLook], e_worse: float, began: datetime | None, rules: CanaryRules
) -> tuple[CanaryAnswer, tuple[str, ...]]:
    enough = 1 / rules.level
    if e_worse >= enough:
        worse = sorted(metrics, key=lambda entry: -entry.e_worse)
        names = [f"{entry.metric} ({_means(entry)})" for entry in worse if entry.e_worse >= enough] or [worse[0].metric]
        return CanaryAnswer.ROLL_BACK, (f"the canary is worse: {', '.join(names)}; e = {e_worse:.3g} of {enough:.3g}",)
    reasons = [*_missing(metrics, began, rules)]
    for entry in metrics:
        if not entry.ended and entry.e_good_enough < enough:
            shown = f"not yet shown to be at most {rules.margin:g} worse"
            reasons.append(f"{entry.metric} is {shown}: e = {entry.e_good_enough:.3g} of {enough:.3g}")
    if reasons:
        return CanaryAnswer.WAIT, tuple(reasons)
    return CanaryAnswer.PROMOTE, (f"every metric is shown to be at most {rules.margin:g} worse",)


def _missing(metrics: Sequence[MetricLook], began: datetime | None, rules: CanaryRules) -> Iterator[str]:
    """What a promotion needs besides evidence: silence is none."""
    if began is None:
        yield f"no conversation has the {rules.mark.value} {rules.canary!r}"
        return
    if rules.until - began < rules.at_least:
        yield f"the canary began at {began.isoformat()}, less than {_hours(rules.at_least)} ago"
    names = {entry.metric for entry in metrics}
    yield from (f"no conversation has the metric {name!r}" for name in rules.metrics if name not in names)
    if not rules.metrics and names <= {FAILURES, OPINIONS}:
        yield "no conversation has a score of `ratiba sample`"


def _notes(both: int, began: datetime | None, metrics: Sequence[MetricLook], rules: CanaryRules) -> Iterator[str]:
    if both:
        yield f"Left out, because they have both versions: {plural(both, 'conversation')}."
    if began is not None and began - rules.since < (rules.until - rules.since) / 100:
        yield "The canary may have begun before the period: give an earlier --since."
    ended = ", ".join(f"{entry.metric} ({entry.version})" for entry in metrics if entry.ended)
    if ended:
        yield f"Another version or judge has begun a new series; the scores before are compared by themselves: {ended}."
    if metrics and not rules.metrics and OPINIONS not in {entry.metric for entry in metrics}:
        yield "No conversation has feedback, so feedback is not compared."


def _hours(length: timedelta) -> str:
    return f"{length.total_seconds() / 3600:g} hours"


def watched_in_files(paths: Iterable[Path], rules: CanaryRules, now: datetime) -> tuple[Watched, ...]:
    """Conversations in ``events.jsonl`` files of ``ratiba sample``, of those that the hash selects.

    They are ordered by when they began, and of one time by a hash: a run measures failures first. Of a conversation
    that two runs measured the first counts, since another look may have counted it.

    Raises:
        ConfigurationError: files that cannot be read, or lines that are wrong; names every problem.
    """
    tags: dict[tuple[str, str], frozenset[str]] = {}
    measured: dict[str, tuple[SampleEvent, list[Measurement]]] = {}
    for event in read_sample_events(paths, latest=now):
        name, data = event.logged.event.place.scenario or "", event.logged.event.data
        if isinstance(data, ConversationStarted):
            tags[event.logged.run, name] = frozenset(data.tags)
        elif (measurement := event.measurement) is not None and in_share(rules.share, name):
            first, scores = measured.setdefault(name, (event, []))
            if (event.started, event.logged.run) < (first.started, first.logged.run):
                first, scores = measured[name] = event, []
            if first.logged.run == event.logged.run:
                scores.append(measurement)
    return tuple(
        _watched_in_file(name, first, scores, tags.get((first.logged.run, name), frozenset()))
        for name, (first, scores) in measured.items()
    )


def _watched_in_file(name: str, first: SampleEvent, scores: Sequence[Measurement], tags: frozenset[str]) -> Watched:
    values = {**_scores(scores), (FAILURES, _PLAIN): float(FAILED not in tags)}
    if tags & {LIKED, DISLIKED}:
        values[OPINIONS, _PLAIN] = float(LIKED in tags)
    order = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return Watched(name, first.began or first.started, tags, values, order)


def _scores(measurements: Iterable[Measurement]) -> dict[Series, float]:
    """The mean over the turns of each series of one conversation."""
    found: dict[Series, list[float]] = {}
    for entry in measurements:
        found.setdefault((entry.metric, entry.version), []).append(entry.value)
    return {series: mean(values) for series, values in found.items()}


def watched_in_langfuse(access: LangfuseAccess, rules: CanaryRules) -> tuple[Watched, ...]:
    """Every conversation of the period in Langfuse, with the scores of those that ``ratiba sample`` selects by hash.

    Raises:
        LangfuseError: Langfuse did not answer.
    """
    since, until = rules.since, rules.until
    scores: dict[str, list[Measurement]] = {}
    for score in sampled_scores(access, since, until):
        if in_share(rules.share, score.conversation):
            scores.setdefault(score.conversation, []).append(score)
    with connected(access, Deadline.after(access.seconds)) as server:
        roots = of_production(marked_between(server, since, until, models=False), rules.environment)
        calls = marked_between(server, since, until, models=True) if rules.mark is GroupMark.MODEL else ()
        failed = {step.trace_id for step in failed_between(server, since, until)}
        liked = opinions(feedback_on_traces(server, feedback_since(server, since, until, rules.feedback)))
    models: dict[str, set[str]] = {}
    for call in calls:
        models.setdefault(call.trace_id, set()).update(marks_of([call]))
    found: list[Watched] = []
    for root in {root.trace_id: root for root in roots}.values():
        name = root.trace_id
        values = {**_scores(scores.get(name, ())), (FAILURES, _PLAIN): float(name not in failed)}
        if name in liked:
            values[OPINIONS, _PLAIN] = float(liked[name])
        found.append(Watched(name, root.start, marks_of([root]) | models.get(name, set()), values))
    return tuple(found)


def canary_json(found: CanaryLook, redactor: Redactor) -> dict[str, Any]:
    """The look as JSON values, with texts masked."""
    rules = found.rules
    mask = redactor.text
    return {
        "schema": 1,
        "answer": found.answer.value,
        "reasons": [mask(reason) for reason in found.reasons],
        "notes": [mask(note) for note in found.notes],
        "by": rules.mark.value,
        "stable": {"name": mask(rules.stable), "conversations": found.stable},
        "canary": {"name": mask(rules.canary), "conversations": found.canary},
        "since": rules.since.isoformat(),
        "until": rules.until.isoformat(),
        "began": None if found.began is None else found.began.isoformat(),
        "margin": rules.margin,
        "level": rules.level,
        "e_worse": found.e_worse,
        "e_needed": 1 / rules.level,
        "metrics": [
            {**asdict(entry), "metric": mask(entry.metric), "version": mask(entry.version)} for entry in found.metrics
        ],
    }


def canary_lines(found: CanaryLook, redactor: Redactor) -> Iterator[str]:
    """The look as lines of text, masked."""
    rules = found.rules
    yield redactor.text(f"{_MARKS[found.answer]} {found.answer.value}: {'; '.join(found.reasons)}")
    yield (
        redactor.text(
            f"{rules.canary}: {plural(found.canary, 'conversation')}, {rules.stable}: {found.stable}, to ",
        )
        + rules.until.isoformat()
    )
    for entry in found.metrics:
        version = f" ({entry.version})" if entry.version else ""
        evidence = f"e = {entry.e_worse:.3g} for worse, {entry.e_good_enough:.3g} for good enough"
        counts = f"{entry.stable} and {entry.canary} values"
        ended = ", ended" if entry.ended else ""
        yield redactor.text(f"  {entry.metric}{version}{ended}: {_means(entry)}, {counts}, {evidence}")
    yield from (redactor.text(f"Note: {note}") for note in found.notes)


_MARKS = {CanaryAnswer.PROMOTE: "✓", CanaryAnswer.WAIT: "-", CanaryAnswer.ROLL_BACK: "✗"}


def _means(entry: MetricLook) -> str:
    stable, canary = ("none" if each is None else f"{each:.3f}" for each in (entry.stable_mean, entry.canary_mean))
    return f"mean {stable} → {canary}"
