"""Do live scores drift? Samples of production against the golden baseline and against the window before."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.codec import CodecError
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.event import ConversationStarted, LoggedEvent, RunStarted, ScoreLogged
from ratiba_action.model.measurement import Scored as ScoredResult
from ratiba_action.model.values import mean
from ratiba_action.observability.event_lines import parse_event_line
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess
from ratiba_action.observability.langfuse_server import connected
from ratiba_action.observability.traces.conversations import ENVIRONMENT
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.sample_reading import in_share
from ratiba_action.production.sampling import MODE
from ratiba_action.verdict.rules.metric_means import holm
from ratiba_action.verdict.two_samples import (
    NEGLIGIBLE,
    CliffsDelta,
    TwoSampleTest,
    cliffs_delta,
    detectable_delta,
    kolmogorov_smirnov,
    mann_whitney,
)

MIN_SCENARIOS = 20
"""Golden scenarios below which a metric is not compared with the baseline."""


@dataclass(frozen=True, slots=True)
class SeriesVersion:
    """What scores must share to be one series.

    Args:
        judge: its model; empty of a metric without one.
    """

    metric: str
    judge: str = ""

    def __str__(self) -> str:
        return f"{self.metric}, {self.judge}" if self.judge else self.metric


@dataclass(frozen=True, slots=True)
class Measurement:
    """One score of a production conversation.

    Args:
        at: when the conversation began; of events without that time, when it was measured.
        run: that measured it; of two runs the later one counts.
        value: 0 to 1, 1 is best.
        measured: when it was; None for ``at``.
    """

    conversation: str
    metric: str
    version: SeriesVersion
    at: datetime
    value: float
    run: str = ""
    measured: datetime | None = None


class Status(StrEnum):
    """What one comparison of one metric came to."""

    DRIFTED = "drifted"
    LOST = "lost"
    NO_DRIFT = "no drift found"
    TOO_FEW = "too few"
    NEW_SERIES = "new series"
    NOT_SAMPLED = "not sampled"


@dataclass(frozen=True, slots=True)
class MetricDrift:
    """One metric against one reference.

    Args:
        reference: ``baseline`` or ``window before``.
        earlier: how many scenarios or conversations of the reference.
        p: of the test that decides, corrected for the number of metrics (Holm 1979); None where none was made.
        detectable: the smallest delta that these sizes find with 80 % power.
        why: of a status without a test; without untrusted text but names and versions.
    """

    metric: str
    reference: str
    status: Status
    recent: int = 0
    earlier: int = 0
    recent_mean: float | None = None
    earlier_mean: float | None = None
    delta: CliffsDelta | None = None
    mann_whitney: TwoSampleTest | None = None
    p: float | None = None
    kolmogorov_smirnov: TwoSampleTest | None = None
    detectable: float | None = None
    why: str = ""

    @property
    def difference(self) -> float | None:
        """The mean now less the mean before; None without one."""
        if self.recent_mean is None or self.earlier_mean is None:
            return None
        return round(self.recent_mean - self.earlier_mean, 12)  # so that 0.85 and 0.80 are 5 points apart


class DriftTest(StrEnum):
    """What decides whether two windows differ."""

    MANN_WHITNEY = "mann-whitney"
    KOLMOGOROV_SMIRNOV = "kolmogorov-smirnov"


@dataclass(frozen=True, slots=True)
class DriftRules:
    """What counts as a drift.

    Args:
        until: end of the window (exclusive), with time zone.
        window: its length, and that of the one before.
        level: of all metrics of one reference together.
        effect: difference of the means from which a change is a drift, as a share of the scale: 0.03 is 3 points. By
            Kolmogorov-Smirnov, which finds a change without one, the distance counts instead.
        share: of conversations that ``ratiba sample`` selects by hash; those that it selects for another reason are
            left out, because they are no random sample.
    """

    until: datetime
    window: timedelta = timedelta(days=7)
    minimum: int = 200
    level: float = 0.05
    effect: float = 0.03
    test: DriftTest = DriftTest.MANN_WHITNEY
    share: float = 0.05

    @property
    def since(self) -> datetime:
        """Start of the window."""
        return self.until - self.window


@dataclass(frozen=True, slots=True)
class Drift:
    """All comparisons.

    Args:
        left_out: conversations that were selected for an error or for feedback, not by hash.
    """

    rules: DriftRules
    metrics: tuple[MetricDrift, ...]
    conversations: int
    before: int
    left_out: int = 0

    @property
    def findings(self) -> tuple[MetricDrift, ...]:
        """Metrics that drifted or were lost."""
        return tuple(entry for entry in self.metrics if entry.status in {Status.DRIFTED, Status.LOST})

    @property
    def compared(self) -> bool:
        """Whether any metric was tested."""
        return any(entry.p is not None for entry in self.metrics)


@dataclass(frozen=True, slots=True)
class SampleEvent:
    """An event of a run of ``ratiba sample``.

    Args:
        line: file and number of its line.
        began: when its conversation did; None where the event does not say.
    """

    line: str
    logged: LoggedEvent
    started: datetime
    judge: str
    began: datetime | None = None

    @property
    def measurement(self) -> Measurement | None:
        """The score; None of another event."""
        data = self.logged.event.data
        if not isinstance(data, ScoreLogged):
            return None
        version = SeriesVersion(data.version, self.judge if data.judged else "")
        name = self.logged.event.place.scenario or ""
        at = self.began or self.logged.at
        return Measurement(name, data.metric, version, at, data.score, self.logged.run, self.logged.at)


def read_samples(paths: Iterable[Path]) -> tuple[Measurement, ...]:
    """The scores in ``events.jsonl`` files of ``ratiba sample``; runs of other commands in them are left out.

    Raises:
        ConfigurationError: files that cannot be read, or lines that are no events; names every problem.
    """
    return tuple(found for event in read_sample_events(paths) if (found := event.measurement) is not None)


def read_sample_events(paths: Iterable[Path], latest: datetime | None = None) -> tuple[SampleEvent, ...]:
    """Every event of ``ratiba sample`` in files.

    Args:
        paths: of ``events.jsonl`` files.
        latest: a later event is a problem; None for any time.

    Raises:
        ConfigurationError: files that cannot be read, or lines that are no events; names every problem.
    """
    found: list[SampleEvent] = []
    problems: list[str] = []
    for path in paths:
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            problems.append(f"{path}: it cannot be read: {error.strerror}")
            continue
        found += _of_lines(path, lines, latest, problems)
    if problems:
        raise ConfigurationError(
            "\n".join(f"{problem}." for problem in problems),
            "Give events.jsonl files that `ratiba sample` has written.",
        )
    return tuple(found)


def _of_lines(
    path: Path, lines: Sequence[bytes], latest: datetime | None, problems: list[str]
) -> Iterator[SampleEvent]:
    runs: dict[str, tuple[datetime, str]] = {}
    began: dict[tuple[str, str | None], datetime | None] = {}
    for number, line in enumerate(lines, 1):
        try:
            logged = parse_event_line(line)
        except CodecError as error:
            problems.append(f"{path}:{number}: {error}; it must be one event of a run")
            continue
        data = logged.event.data
        if latest is not None and logged.at > latest:
            problems.append(f"{path}:{number}: the time is {logged.at.isoformat()}; it must not be in the future")
        elif isinstance(data, ConversationStarted) and (wrong := _wrong_begin(data.began, logged.at)):
            problems.append(f"{path}:{number}: {wrong}")
        elif isinstance(data, ScoreLogged) and logged.run in runs and not 0 <= data.score <= 1:
            problems.append(f"{path}:{number}: the score is {data.score!r}; it must be from 0 to 1")
        else:
            if isinstance(data, RunStarted) and data.mode == MODE:
                runs[logged.run] = logged.at, data.judge
            place = logged.run, logged.event.place.scenario
            if isinstance(data, ConversationStarted):
                began[place] = data.began
            if logged.run in runs:
                yield SampleEvent(f"{path}:{number}", logged, *runs[logged.run], began.get(place))


def _wrong_begin(began: datetime | None, at: datetime) -> str:
    """What is wrong with the time at which a conversation began; empty if nothing is."""
    if began is None or (began.tzinfo is not None and began <= at):
        return ""
    return f"the conversation began {began.isoformat()}; it must be a time with an offset, before it was measured"


def sampled_scores(access: LangfuseAccess, since: datetime, until: datetime) -> tuple[Measurement, ...]:
    """The scores that ``ratiba sample`` has written to traces of conversations of a period.

    Raises:
        LangfuseError: Langfuse did not answer.
    """
    with connected(access, Deadline.after(access.seconds)) as server:
        rows = server.scores(environment=ENVIRONMENT, data_type="NUMERIC", from_timestamp=since, to_timestamp=until)
        return tuple(filter(None, map(_of_score, rows)))


def _of_score(row: Any) -> Measurement | None:
    """A score as a measurement; None of what ``ratiba sample`` has not written."""
    metadata = row.metadata if isinstance(row.metadata, dict) else {}
    value = float(row.value) if isinstance(row.value, int | float) else math.nan
    if metadata.get("mode") != MODE or getattr(row.subject, "kind", "") != "trace" or not 0 <= value <= 1:
        return None
    version = SeriesVersion(str(metadata.get("version", "")), str(metadata.get("judge", "")))
    return Measurement(str(row.subject.id), row.name, version, row.timestamp, value)


def find_drift(measurements: Iterable[Measurement], baseline: MeasuredRun | None, rules: DriftRules) -> Drift:
    """Compare the newest window with the golden baseline, if there is one, and with the window before.

    Args:
        measurements: of production, from two windows before the end on; others are left out.
        baseline: a run of the golden scenarios.
    """
    start = rules.since - rules.window
    selected = [entry for entry in measurements if start <= entry.at < rules.until]
    unbiased = [entry for entry in selected if in_share(rules.share, entry.conversation)]
    recent = _Window.of([entry for entry in unbiased if entry.at >= rules.since])
    before = _Window.of([entry for entry in unbiased if entry.at < rules.since])
    found = _compare(recent, _Reference("window before", before, rules.minimum), rules)
    if baseline is not None:
        golden = _Window.of(list(_golden(baseline)))
        minimum = min(MIN_SCENARIOS, rules.minimum)
        found = [*_compare(recent, _Reference("baseline", golden, minimum, golden=True), rules), *found]
    names = {entry.conversation for entry in selected} - {entry.conversation for entry in unbiased}
    return Drift(rules, tuple(found), len(recent.conversations), len(before.conversations), len(names))


@dataclass(frozen=True, slots=True)
class _Window:
    """Values by metric and version, one a conversation; and the newest version of each metric."""

    values: Mapping[str, Mapping[SeriesVersion, Sequence[float]]]
    newest: Mapping[str, SeriesVersion]
    conversations: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, measurements: Sequence[Measurement]) -> "_Window":
        """Of a conversation that two runs measured the later counts; its turns count as their mean."""
        newest: dict[str, SeriesVersion] = {}
        last: dict[tuple[str, str], tuple[str, SeriesVersion, list[float]]] = {}
        for entry in sorted(measurements, key=lambda entry: entry.measured or entry.at):
            newest[entry.metric] = entry.version
            key = entry.conversation, entry.metric
            if key not in last or last[key][:2] != (entry.run, entry.version):
                last[key] = entry.run, entry.version, []
            last[key][2].append(entry.value)
        values: dict[str, dict[SeriesVersion, list[float]]] = {}
        for (_, metric), (_, version, scores) in last.items():
            values.setdefault(metric, {}).setdefault(version, []).append(mean(scores))
        return cls(values, newest, frozenset(name for name, _ in last))

    def of_version(self, metric: str, version: SeriesVersion) -> Sequence[float]:
        return self.values.get(metric, {}).get(version, ())

    def count(self, metric: str) -> int:
        return sum(len(values) for values in self.values.get(metric, {}).values())


def _golden(run: MeasuredRun) -> Iterator[Measurement]:
    """The first trial of each scenario: a mean of several would vary less than a conversation does."""
    seen: set[str] = set()
    for result in sorted(run.results, key=lambda result: result.trial.number):
        name = result.trial.scenario.id
        if isinstance(result, ScoredResult) and name not in seen:
            seen.add(name)
            for score in result.scores:
                version = SeriesVersion(score.version, run.judge_model if score.judged else "")
                yield Measurement(name, score.metric, version, run.started_at, score.value)


@dataclass(frozen=True, slots=True)
class _Reference:
    """What the window is compared with.

    Args:
        minimum: values of a metric that it needs.
        golden: whether it is the baseline, some metrics of which production never has.
    """

    name: str
    window: _Window
    minimum: int
    golden: bool = False


def _compare(recent: _Window, reference: _Reference, rules: DriftRules) -> list[MetricDrift]:
    earlier = reference.window.values
    metrics = sorted(earlier if reference.golden else {*recent.values, *earlier})
    found = [_untested(metric, recent, reference, rules) or _tested(metric, recent, reference) for metric in metrics]
    by_ks = rules.test is DriftTest.KOLMOGOROV_SMIRNOV
    deciding = {entry.metric: entry.kolmogorov_smirnov if by_ks else entry.mann_whitney for entry in found}
    raw = {metric: test.p for metric, test in deciding.items() if test is not None}
    adjusted = dict(zip(raw, holm(list(raw.values())), strict=True))
    return [_settled(entry, adjusted[entry.metric], rules) if entry.metric in raw else entry for entry in found]


def _settled(entry: MetricDrift, p: float, rules: DriftRules) -> MetricDrift:
    large = abs(entry.difference or 0) >= rules.effect
    if rules.test is DriftTest.KOLMOGOROV_SMIRNOV and entry.kolmogorov_smirnov is not None:
        large = entry.kolmogorov_smirnov.statistic >= NEGLIGIBLE
    drifted = p <= rules.level and large  # below it a difference is no drift, however certain
    return replace(entry, p=p, status=Status.DRIFTED if drifted else Status.NO_DRIFT)


def _untested(metric: str, recent: _Window, reference: _Reference, rules: DriftRules) -> MetricDrift | None:
    """Why a metric cannot be tested; None where it can."""
    total, known = recent.count(metric), reference.window.count(metric)

    def because(status: Status, why: str) -> MetricDrift:
        return MetricDrift(metric, reference.name, status, total, known, why=why)

    if not total and reference.golden:
        return because(Status.NOT_SAMPLED, "no conversation of the window has it; some metrics need a written scenario")
    fell = total < rules.minimum <= min(known, len(recent.conversations)) and not reference.golden
    if not total and known < rules.minimum:
        return because(Status.TOO_FEW, f"no conversation has it now, {known} of at least {rules.minimum} had it before")
    if not total or fell:
        return because(Status.LOST, f"{total} conversations have it, after {known} in the window before")
    version = recent.newest[metric]
    now, then = recent.of_version(metric, version), reference.window.of_version(metric, version)
    if known and not then:
        versions = "; ".join(sorted(map(str, reference.window.values[metric])))
        return because(Status.NEW_SERIES, f"it is now measured by {version}, before by {versions}")
    if len(now) < rules.minimum or len(then) < reference.minimum:
        why = f"{len(now)} of at least {rules.minimum} now, {len(then)} of at least {reference.minimum} before"
        return because(Status.TOO_FEW, why)
    return None


def _tested(metric: str, recent: _Window, reference: _Reference) -> MetricDrift:
    """The tests of one metric, not yet corrected for the number of metrics."""
    version = recent.newest[metric]
    now, then = recent.of_version(metric, version), reference.window.of_version(metric, version)
    return MetricDrift(
        metric,
        reference.name,
        Status.NO_DRIFT,
        len(now),
        len(then),
        mean(now),
        mean(then),
        cliffs_delta(now, then),
        mann_whitney(now, then),
        kolmogorov_smirnov=kolmogorov_smirnov(now, then),
        detectable=detectable_delta(len(now), len(then)),
    )


def drift_json(drift: Drift, redactor: Redactor) -> dict[str, Any]:
    """The comparisons as JSON values, with texts masked."""
    rules = drift.rules
    return {
        "schema": 1,
        "since": rules.since.isoformat(),
        "until": rules.until.isoformat(),
        "conversations": drift.conversations,
        "conversations_before": drift.before,
        "left_out": drift.left_out,
        "minimum": rules.minimum,
        "test": rules.test.value,
        "effect": rules.effect,
        "drifted": bool(drift.findings),
        "compared": drift.compared,
        "metrics": [
            {
                **asdict(entry),
                "difference": entry.difference,
                "metric": redactor.text(entry.metric),
                "why": redactor.text(entry.why),
            }
            for entry in drift.metrics
        ],
    }


def drift_lines(drift: Drift, redactor: Redactor) -> Iterator[str]:
    """The comparisons as lines of text, masked."""
    rules = drift.rules
    yield (
        f"Production from {rules.since.isoformat()} to {rules.until.isoformat()}: {drift.conversations} conversations, "
        f"{drift.before} in the window before; a window needs {rules.minimum}."
    )
    if drift.left_out:
        yield f"Left out, because an error or feedback selected them: {drift.left_out}."
    for entry in drift.metrics:
        yield redactor.text(f"{_MARKS[entry.status]} {entry.metric}, {entry.reference}: {_line(entry, rules.test)}")
    if not drift.compared:
        yield "No metric could be compared."


_MARKS = {Status.DRIFTED: "✗", Status.LOST: "✗", Status.NO_DRIFT: "✓"} | dict.fromkeys(
    (Status.TOO_FEW, Status.NEW_SERIES, Status.NOT_SAMPLED), "-"
)


def _line(entry: MetricDrift, test: DriftTest) -> str:
    delta, ranks, distance = entry.delta, entry.mann_whitney, entry.kolmogorov_smirnov
    if delta is None or ranks is None or distance is None or entry.difference is None:
        return f"{entry.status.value}: {entry.why}"
    interval = "" if delta.low is None or delta.high is None else f" ({delta.low:+.2f} to {delta.high:+.2f})"
    p = {DriftTest.MANN_WHITNEY: f"p = {ranks.p:.3g}", DriftTest.KOLMOGOROV_SMIRNOV: f"p = {distance.p:.3g}"}
    p[test] = f"p = {entry.p:.3g} after Holm"
    return (
        f"{entry.status.value}: mean {entry.earlier_mean:.3f} → {entry.recent_mean:.3f}, "
        f"{100 * entry.difference:+.1f} points, Cliff's delta {delta.delta:+.2f}{interval}, "
        f"Mann-Whitney {p[DriftTest.MANN_WHITNEY]}, Kolmogorov-Smirnov D = {distance.statistic:.2f}, "
        f"{p[DriftTest.KOLMOGOROV_SMIRNOV]}; {entry.recent} and {entry.earlier} values"
    )
