"""``ratiba record``: run scenarios with live models and save the answers as recordings."""

import argparse
import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from ratiba_action.checks.failure_rules import LIST, may_call_judge, phrases_alone
from ratiba_action.commands.options import (
    add_json,
    add_repo,
    add_variant,
    count_option,
    parse_option,
    print_json,
    repository_of,
)
from ratiba_action.config.configuration import load_configuration
from ratiba_action.decide.deciding import decide, event_of, request_of
from ratiba_action.errors import UsageError
from ratiba_action.github.clients import by_pygithub
from ratiba_action.github.workflow import WorkflowLog
from ratiba_action.llm.answers import MOCK
from ratiba_action.llm.recordings.comparison import LineFate, render
from ratiba_action.llm.recordings.folder import read_folder
from ratiba_action.llm.recordings.writer import write_all
from ratiba_action.model.answer_origin import Llm, RecordingSource
from ratiba_action.model.change import Mode
from ratiba_action.model.scenario import MAX_TRIALS
from ratiba_action.model.verdict import Report
from ratiba_action.privacy.masking import Redactor
from ratiba_action.publish.unmeasured_runs import refuse_wrong_start
from ratiba_action.reporting.money_facts import log_forecast, money_phrase
from ratiba_action.reporting.terminal import make_progress
from ratiba_action.run.authority import authorized
from ratiba_action.run.composition import open_session
from ratiba_action.run.estimating import forecast
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.gate import RunOutcome, evaluate
from ratiba_action.run.inputs import Choice, RunInputs, RunLog, RunRequest, may_need_judge, needs_judge
from ratiba_action.run.judging_start import judging_begun
from ratiba_action.run.planned_run import plan_run
from ratiba_action.run.provider_keys import keys_line, require_key
from ratiba_action.run.recording_review import RecordingCandidate, RecordingReview, ReviewOutcome, review
from ratiba_action.settings.report_folder import make_report_folder
from ratiba_action.settings.run_deadline import read_deadline
from ratiba_action.settings.settings import INPUTS, Input, Settings, read_settings, unknown_variables
from ratiba_action.util.text import plural, printable

DESCRIPTION = """Run scenarios with live models and save the answers of models and judges as recordings.
Show what changes; existing recordings are replaced only with --accept. The exit code is 1 if a change waits for
--accept or is refused, and 3 if a scenario did not finish."""
EXAMPLE = """example:
  ratiba record --scenario order_status
  ratiba record --tag smoke --accept
  ratiba record --scenario order_status --trials 3
  ratiba record --reads
  ratiba record --authored"""

DEFAULT_CONCURRENCY = "4"
_INPUTS = frozenset(
    {
        *("config", "scenarios", "budget-usd", "monthly-budget-usd", "anthropic-base-url", "openai-base-url"),
        "report-dir",
    }
)
"""The inputs that recording uses; the others are about deciding and publishing."""

Recorder = Callable[[RunInputs, RunLog], RunOutcome]
"""Runs every selected scenario with live models and collects the answers; ``evaluate`` in production."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options: the inputs of a live run, and options for local use."""
    for entry in _inputs():
        parser.add_argument(f"--{entry.name}", metavar=entry.metavar, help=entry.option_help)
    add_repo(parser)
    parser.add_argument(
        "--scenario", action="append", default=[], metavar="ID", help="record this scenario; may be repeated"
    )
    parser.add_argument(
        "--tag", action="append", default=[], metavar="TAG", help="record scenarios with this tag; may be repeated"
    )
    add_variant(parser)
    parser.add_argument("--trials", default="1", metavar="K", help="trials to record per scenario (default: 1)")
    parser.add_argument(
        "--reads",
        action="store_true",
        help="call no model: run with the recorded answers, and save only which files each scenario reads",
    )
    parser.add_argument(
        "--authored",
        action="store_true",
        help="mark the answers as written by hand: a program that stands in for the model gave them",
    )
    parser.add_argument("--accept", action="store_true", help="replace existing recordings that differ")
    parser.add_argument(
        "--concurrency", default=DEFAULT_CONCURRENCY, metavar="N", help="scenarios to run in parallel (default: 4)"
    )
    parser.add_argument("--deadline", metavar="SECONDS", help="end the run cleanly after this time (RATIBA_DEADLINE)")
    parser.add_argument("--resume", action="store_true", help="continue a killed run without paying for anything twice")
    add_json(parser)


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Record with live models.

    Raises:
        RatibaError: nothing could be recorded.
    """
    return record(arguments, environment, lambda inputs, log: evaluate(plan_run(inputs), log, open_session))


def record(arguments: argparse.Namespace, environment: MutableMapping[str, str], recorder: Recorder) -> int:
    """Record, show what changes, write recordings, and return the exit code.

    Raises:
        ConfigurationError: an input or a file is invalid; nothing was spent.
        InfrastructureError: there is no key.
        RecordingError: a file cannot be written.
    """
    if arguments.reads and arguments.authored:
        raise UsageError("--reads records no answer that --authored could mark.", "Leave out one of them.")
    options: dict[str, str | None] = {entry.name: getattr(arguments, entry.attribute) for entry in _inputs()}
    settings = read_settings(environment, {**options, "llm": Llm.REPLAY if arguments.reads else Llm.LIVE})
    settings = settings if arguments.reads else replace(settings, llm=Llm.RECORD)
    stream = sys.stderr if arguments.json else sys.stdout
    if environment.get("GITHUB_ACTIONS") == "true":
        for secret in settings.secrets:
            WorkflowLog(stream).mask(secret)
    redactor = Redactor(settings.secrets)
    log = RunLog(make_progress(stream, environment, redactor))
    with judging_begun(_request(arguments, environment, settings)) as request:
        recorded = _recorded(request, log, recorder, arguments, stream)
    with _plain(stream, environment):
        _print(recorded, redactor, stream)
    if arguments.json:
        print_json(_as_json(recorded, redactor))
    return _exit_code(recorded)


def _recorded(
    request: RunRequest, log: RunLog, recorder: Recorder, arguments: argparse.Namespace, stream: TextIO
) -> "_Recorded":
    """Say what recording costs, record, and write."""
    inputs, settings, environment = read_inputs(request), request.settings, request.environment
    configuration = load_configuration(request.repository, settings.config)
    if not inputs.keys and _judges_refusals_alone(inputs):
        inputs = replace(inputs, settings=replace(settings, llm=Llm.REPLAY))
    require_key(inputs.settings, configuration, environment, way_out=_way_out(inputs))
    log.warnings += [f"The variable {name} is set, but no input reads it." for name in unknown_variables(environment)]
    expected = forecast(inputs)
    if inputs.settings.llm is not Llm.REPLAY:
        print(keys_line(inputs.settings, inputs.configuration, environment), file=stream, flush=True)
    if expected is not None:
        log_forecast(expected, lambda line: print(printable(line), file=stream, flush=True), log.note)
    return _keep(inputs, log, _marking(recorder) if arguments.authored else recorder, arguments)


_NO_JUDGE = (
    f"For a reply of the listed sentences ({LIST}), must_refuse needs neither a key nor a recording; for any other "
    f"reply without a key, {phrases_alone(None)}."
)


def _calls_no_model(inputs: RunInputs) -> bool:
    """Whether the system calls none in any of the scenarios."""
    system = inputs.configuration.system
    free = system.replay is not None or system.price_per_turn_usd == 0
    return all(free or scenario.script is not None for scenario in inputs.selection.scenarios)


def _judges_refusals_alone(inputs: RunInputs) -> bool:
    """Whether the judge of ``must_refuse`` is the only model that may be called: no reply may need it."""
    scenarios = inputs.selection.scenarios
    judged = any(needs_judge(scenario) or scenario.simulated_user is not None for scenario in scenarios)
    return _calls_no_model(inputs) and not judged and any(map(may_need_judge, scenarios))


def _way_out(inputs: RunInputs) -> str:
    """What to do without a key: to mock a model does not help where the system calls none."""
    if not any(may_call_judge(rule) for scenario in inputs.selection.scenarios for rule in scenario.rules):
        return MOCK
    return _NO_JUDGE if _calls_no_model(inputs) else f"{MOCK} {_NO_JUDGE}"


_AFTER_A_FAILURE = "Fix the code, or change the scenario if the new behaviour is right. Then run the command again."


@dataclass(frozen=True, slots=True)
class _Recorded:
    """The result of recording.

    Args:
        written: recording files that were written.
        waiting: recording files that were not replaced, with the path of their new content.
    """

    reviewed: RecordingReview
    report: Report
    written: Sequence[Path]
    waiting: Mapping[Path, Path]


def _marking(recorder: Recorder) -> Recorder:
    """The recorder, with every answer marked as written by hand."""

    def run_and_mark(inputs: RunInputs, log: RunLog) -> RunOutcome:
        outcome = recorder(inputs, log)
        marked = {
            scenario: tuple(replace(line, source=RecordingSource.AUTHORED) for line in lines)
            for scenario, lines in outcome.recorded.items()
        }
        return replace(outcome, recorded=marked)

    return run_and_mark


def _keep(inputs: RunInputs, log: RunLog, recorder: Recorder, arguments: argparse.Namespace) -> _Recorded:
    """Record and write. Unreadable recordings are reported before anything is spent."""
    overwrite, replayed = arguments.accept, inputs.settings.llm is Llm.REPLAY
    settings, scenarios = inputs.settings, inputs.selection.scenarios
    folder = inputs.recordings
    before = read_folder(folder, [scenario.id for scenario in scenarios])
    outcome = recorder(inputs, log)
    results = outcome.report.results
    reviewed = review(
        folder,
        scenarios,
        results=results,
        before=before,
        recorded=before if replayed else outcome.recorded,
        secrets=settings.secrets,
        reads=outcome.reads,
    )
    beside = Path(settings.report_dir).absolute() / "recordings" / inputs.variant
    changed = [item.path for item in reviewed.kept if item.outcome is ReviewOutcome.CHANGED and not overwrite]
    waiting = {path: beside / path.name for path in changed}
    if waiting:
        make_report_folder(Path(settings.report_dir).absolute())
    places = {waiting.get(item.path, item.path): item for item in reviewed.kept}
    write_all(
        {place: item.lines for place, item in places.items()},
        {place: item.reads for place, item in places.items() if item.reads is not None},
    )
    written = [item.path for item in reviewed.kept if item.path not in waiting]
    return _Recorded(reviewed, outcome.report, written, waiting)


def _inputs() -> tuple[Input, ...]:
    return tuple(entry for entry in INPUTS if entry.name in _INPUTS)


def _request(arguments: argparse.Namespace, environment: MutableMapping[str, str], settings: Settings) -> RunRequest:
    repository = repository_of(arguments, environment)
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Give the checkout with --repo.")
    request = request_of(settings, event_of(environment, repository))
    # Recording runs whatever has changed.
    decided = decide(replace(request, floor=Mode.BLOCKING, connect=by_pygithub), environment)
    refuse_wrong_start(decided, ())
    asked = RunRequest(
        settings=settings,
        decided=decided,
        repository=decided.change.git.root if decided.change.git is not None else repository,
        environment=environment,
        choice=Choice(tuple(arguments.scenario), tuple(arguments.tag)),
        concurrency=count_option("--concurrency", arguments.concurrency),
        seconds=parse_option("--deadline", arguments.deadline or "", lambda given: read_deadline(given, environment)),
        resume=arguments.resume,
        variant=arguments.variant,
        trials=count_option("--trials", arguments.trials, MAX_TRIALS),
    )
    return authorized(asked)


@contextlib.contextmanager
def _plain(stream: TextIO, environment: Mapping[str, str]) -> Iterator[None]:
    """Prevents the workflow's log from reading model output as commands."""
    in_workflow = environment.get("GITHUB_ACTIONS") == "true"
    with WorkflowLog(stream).plain() if in_workflow else contextlib.nullcontext():
        yield


def _print(recorded: _Recorded, redactor: Redactor, stream: TextIO) -> None:
    lines = [line for candidate in recorded.reviewed.candidates for line in _lines_of(candidate)]
    lines += [f"note: {note}" for note in recorded.report.notes]
    # Commands to copy contain paths, which must not be masked.
    shown = [
        *(redactor.text(line) for line in lines),
        redactor.text(money_phrase(recorded.report.spending)),
        *_ending(recorded),
    ]
    stream.write("".join(f"{printable(line)}\n" for line in shown))
    stream.flush()


def _lines_of(candidate: RecordingCandidate) -> list[str]:
    if candidate.outcome is ReviewOutcome.UNFINISHED:
        return [f"{candidate.scenario_id}: not recorded: {candidate.reason}"]
    if candidate.outcome is ReviewOutcome.FAILED:
        return [f"{candidate.scenario_id}: not recorded: {candidate.reason}", f"  {_AFTER_A_FAILURE}"]
    if candidate.outcome is ReviewOutcome.REFUSED:
        return [
            f"{candidate.scenario_id}: refused",
            *(f"  {candidate.path.name} {finding}" for finding in candidate.findings),
        ]
    failing = "; reads differ" if candidate.reads_differ else ""
    failing += "" if candidate.passed else "; judged scores are below their thresholds"
    heading = f"{candidate.scenario_id}: {candidate.outcome.value}: {candidate.comparison.summary}{failing}"
    return [heading, *(f"  {line}" for line in render(candidate.comparison))]


def _ending(recorded: _Recorded) -> list[str]:
    """What was written, and what to do with the rest."""
    refused = recorded.reviewed.having(ReviewOutcome.REFUSED)
    if refused:
        return [
            f"Nothing was written: recordings of {plural(len(refused), 'scenario')} contain forbidden identifiers.",
            "Identifiers of fictional people are allowed if the scenario declares them under `customer`.",
        ]
    lines = [f"Written: {path.name}" for path in recorded.written]
    if recorded.waiting:
        lines.append("Not replaced without --accept. To accept these recordings, run:")
        lines += [
            f"  cp {shlex.quote(str(place))} {shlex.quote(str(path))}" for path, place in recorded.waiting.items()
        ]
    return lines or ["Nothing was written."]


def _exit_code(recorded: _Recorded) -> int:
    if recorded.reviewed.having(ReviewOutcome.REFUSED, ReviewOutcome.FAILED) or recorded.waiting:
        return 1
    return 3 if recorded.reviewed.having(ReviewOutcome.UNFINISHED) or not recorded.reviewed.candidates else 0


def _as_json(recorded: _Recorded, redactor: Redactor) -> dict[str, object]:
    described = [
        {
            "scenario": candidate.scenario_id,
            "outcome": candidate.outcome.value,
            "path": str(candidate.path),
            "written": candidate.path in recorded.written,
            "waiting": str(recorded.waiting[candidate.path]) if candidate.path in recorded.waiting else None,
            "passed": candidate.passed,
            "reads_differ": candidate.reads_differ,
            **{kind.value: candidate.comparison.count(kind) for kind in LineFate},
            "findings": [str(finding) for finding in candidate.findings],
            "reason": redactor.text(candidate.reason),
        }
        for candidate in recorded.reviewed.candidates
    ]
    return {"recordings": described, "spent_usd": str(recorded.report.spending.spent)}
