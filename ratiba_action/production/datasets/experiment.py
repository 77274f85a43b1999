"""Logs a run over a dataset as a Langfuse experiment, with scores of each item and of the whole run."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from ratiba_action.checks.conversation_events import place_of_trial
from ratiba_action.model.event import conversation_id
from ratiba_action.model.measurement import Scored
from ratiba_action.model.note import Note, in_order
from ratiba_action.model.values import mean
from ratiba_action.model.verdict import Conclusion, Report, TraceDelivery
from ratiba_action.observability.event_lines import read_events
from ratiba_action.observability.langfuse_asking import LangfuseAccess
from ratiba_action.observability.langfuse_delivery import deliver
from ratiba_action.observability.traces.conversations import traced_runs
from ratiba_action.observability.traces.model import Trace, TracedRun, TraceScore, score_id
from ratiba_action.ports import EventLog
from ratiba_action.run.event_logging import limited
from ratiba_action.settings.settings import Settings
from ratiba_action.verdict.case_file_scores import CONFIDENCE as MEAN_CONFIDENCE
from ratiba_action.verdict.case_file_scores import labelled_of

CORRECT, CONFIDENCE = "correct", "confidence"


def case_scores(result: Scored) -> Iterator[tuple[str, float]]:
    """Name and value of each score of a case.

    A classifier is correct if every label is the expected one; any other system if the scenario passed.

    Args:
        result: of one trial.
    """
    labelled = [answer for exchange in result.transcript.exchanges for answer in labelled_of(exchange)]
    right = all(answer.expected == answer.given for answer in labelled) if labelled else result.passed
    yield CORRECT, float(right)
    sure = [answer.confidence for answer in labelled if answer.confidence is not None]
    if sure:
        yield CONFIDENCE, mean(sure)


PASSED = "passed"


@dataclass(frozen=True, slots=True)
class Experiment:
    """Where the runs of a dataset are logged.

    Args:
        access: with the time limit for sending.
        dataset: its name on the server.
        items: ids of its items by scenario, if they differ from those derived from the scenario's id.
    """

    access: LangfuseAccess
    dataset: str
    items: Mapping[str, str]

    def tracer(self, _: Settings, __: Mapping[str, str], events: EventLog) -> Callable[[Report], Report] | None:
        """A function that sends the run and adds the outcome to its report; None if no events were written."""
        return None if events.path is None else lambda report: self._sent(report, events)

    def _sent(self, report: Report, events: EventLog) -> Report:
        if events.path is None:
            return report
        runs = traced_runs(event for event in read_events(events.path).events if event.run == events.run)
        delivery = deliver(limited(self.access, report), [self.with_dataset(run, report) for run in runs])
        note = _missing(delivery, self.dataset)
        return replace(report, traces=delivery, notes=in_order((*report.notes, note)) if note else report.notes)

    def with_dataset(self, run: TracedRun, report: Report) -> TracedRun:
        """The run with its dataset and the scores of a dataset run."""
        cases = _case_scores(run.run, report)
        return replace(
            run,
            dataset=self.dataset,
            items=self.items,
            traces=tuple(_with_scores(trace, cases.get(trace.trace_id, {})) for trace in run.traces),
            experiment_scores=tuple(_experiment_scores(run, report)),
        )


def _case_scores(run: str, report: Report) -> dict[str, dict[str, float]]:
    """Scores by trace."""
    return {
        conversation_id(run, place_of_trial(result.trial)): dict(case_scores(result))
        for result in report.results
        if isinstance(result, Scored)
    }


def _with_scores(trace: Trace, values: Mapping[str, float]) -> Trace:
    at = trace.spans[0].end
    added = tuple(
        TraceScore(score_id(trace.trace_id, name), trace.trace_id, name, value, "NUMERIC", at)
        for name, value in values.items()
    )
    return replace(trace, scores=(*trace.scores, *added))


def _experiment_scores(run: TracedRun, report: Report) -> Iterator[TraceScore]:
    """The aggregates of each case file, and whether the run passed; nothing for a run without traces."""
    if not run.traces:
        return
    at = max(trace.spans[0].end for trace in run.traces)
    values: dict[str, float] = {}
    for scores in report.data_sets:
        prefix = f"{scores.id}." if len(report.data_sets) > 1 else ""
        for name, value in scores.values.items():
            values[prefix + (CONFIDENCE if name == MEAN_CONFIDENCE else name)] = value
    values[PASSED] = float(report.verdict.conclusion is Conclusion.PASSED)
    for name, value in values.items():
        made = score_id(run.run, f"experiment\n{name}")
        yield TraceScore(made, "", name, value, "NUMERIC", at, report.verdict.reason if name == PASSED else "")


def _missing(delivery: TraceDelivery, dataset: str) -> str:
    if delivery.complete and not delivery.unverified:
        return ""
    if delivery.complete:
        return Note(
            f"The run was sent to Langfuse's dataset {dataset!r} and not verified: {delivery.unverified}. The verdict "
            "does not depend on it.",
            "To see what the server lacks, run: ratiba dataset verify",
        )
    return Note(
        f"The run is incomplete in Langfuse's dataset {dataset!r}: {delivery.problem or 'some items were refused'}. "
        "The verdict does not depend on it.",
        f"To log it again, run: ratiba dataset run --dataset {shlex.quote(dataset)}",
    )
