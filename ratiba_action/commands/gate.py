"""``ratiba gate``: decide, run the golden conversations, report, and answer with an exit code."""

import argparse
import json
import sys
import traceback
from collections.abc import MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

from ratiba_action.commands.gate_request import chosen_scenarios, decide_request
from ratiba_action.commands.options import add_variant, parse_option
from ratiba_action.config.configuration import load_configuration
from ratiba_action.decide.deciding import decide
from ratiba_action.errors import (
    InfrastructureError,
    LedgerError,
    PublishError,
    RatibaError,
    UsageError,
)
from ratiba_action.history.keeping import keep_run, with_trends
from ratiba_action.metrics.judging.cache import JudgeCache
from ratiba_action.model.change import Mode
from ratiba_action.model.note import in_order
from ratiba_action.model.plan import Selection
from ratiba_action.model.scenario import MOST_TRIALS
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.publish.full_publication import full_publication
from ratiba_action.publish.publishing import Publication
from ratiba_action.publish.unmeasured_runs import refuse_wrong_start, skipped, stopped
from ratiba_action.reporting.money_facts import log_forecast
from ratiba_action.reporting.results_json import write_baseline
from ratiba_action.reporting.summary import ReportSummary
from ratiba_action.reporting.terminal import make_progress
from ratiba_action.reporting.wording import mode_line, selection_line
from ratiba_action.run.estimating import forecast
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.event_logging import Tracer, open_event_log, run_ended, tracer_of
from ratiba_action.run.gate import evaluate
from ratiba_action.run.inputs import RunInputs, RunLog, RunRequest
from ratiba_action.run.provider_keys import cache_folder, require_key
from ratiba_action.run.side_by_side import evaluate_side_by_side, variants_of
from ratiba_action.settings.input_values import parse_count
from ratiba_action.settings.run_deadline import read_deadline
from ratiba_action.settings.settings import (
    INPUTS,
    read_settings_leniently,
    unknown_variables,
)
from ratiba_action.settings.step_output import leave
from ratiba_action.util.interruption import Interruption, current
from ratiba_action.util.persisted_credentials import persisted_credentials
from ratiba_action.util.text import unreadable_as_command
from ratiba_action.verdict.decision import cut_short

DESCRIPTION = """Decide the mode, run the golden scenarios, and say whether the change may merge.
Without an event the working tree is compared with its merge base with the default branch."""
_PATIENCE = 3.0
"""Seconds from a signal until a report is written without what the run has measured; a runner kills it after 10."""

EXAMPLE = """example:
  ratiba gate
  ratiba gate --scenario spa_booking_swahili_happy --concurrency 1
  ratiba gate --event event.json --event-name pull_request --dry-run"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options: every input that is no secret, and those of a person at a terminal."""
    for entry in INPUTS:
        if entry.served and not entry.secret:
            parser.add_argument(
                f"--{entry.name}", metavar="VALUE", help=f"{entry.description} ({entry.environment_variable})"
            )
    parser.add_argument("--event", metavar="FILE", help="payload of the event (default: GITHUB_EVENT_PATH)")
    parser.add_argument("--event-name", metavar="NAME", help="its name (default: GITHUB_EVENT_NAME)")
    parser.add_argument("--repo", metavar="DIR", help="the checkout (default: GITHUB_WORKSPACE or this folder)")
    parser.add_argument("--scenario", action="append", default=[], metavar="ID", help="run this one; may be repeated")
    parser.add_argument("--tag", action="append", default=[], metavar="TAG", help="run those with this tag")
    parser.add_argument("--failed", action="store_true", help="run those that did not pass in the last run")
    add_variant(parser)
    parser.add_argument("--variants", action="store_true", help="run every variant after the system, side by side")
    parser.add_argument("--concurrency", metavar="N", help="scenarios at once (default: suite.concurrency, or 4)")
    parser.add_argument("--trials", default="1", metavar="N", help="least number of trials of each scenario, 1 to 50")
    parser.add_argument("--deadline", metavar="SECONDS", help="end the run in order after this time (RATIBA_DEADLINE)")
    parser.add_argument("--resume", action="store_true", help="go on with a killed run, and pay for nothing twice")
    parser.add_argument("--no-deepeval-cache", action="store_true", help="judge everything anew")
    parser.add_argument("--deepeval-cache-clear", action="store_true", help="forget the judges' earlier scores first")
    parser.add_argument("--baseline-out", metavar="FILE", help="write results.json there too, for --baseline")
    parser.add_argument("--dry-run", action="store_true", help="say what would run, and start nothing")
    parser.add_argument("--json", action="store_true", help="print the outputs as JSON")


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str], tracer: Tracer = tracer_of) -> int:
    """Run the gate.

    Args:
        arguments: with all of its options.
        environment: the process's own.
        tracer: makes what sends the run's conversations to where traces are kept.

    Raises:
        UsageError: an option is wrong; nothing is published then.
    """
    interruption = current()
    interruption.watch(_PATIENCE, lambda: _leave_early(interruption))
    options = {entry.name: getattr(arguments, entry.attribute, None) for entry in INPUTS}
    settings, problems = read_settings_leniently(environment, options)
    repository = Path(arguments.repo or environment.get("GITHUB_WORKSPACE") or ".").resolve()
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Name the checkout with --repo.")
    stream = sys.stderr if arguments.json else sys.stdout
    publication = full_publication(settings, environment, stream)
    publication.hide_secrets()
    publication.keep_room()
    if arguments.variants and (arguments.variant or arguments.resume):
        raise UsageError("--variants runs all of them from the start.", "Leave out --variant and --resume.")
    decided = decide(decide_request(arguments, environment, settings, repository), environment)
    persisted = persisted_credentials(decided.change.git, environment)
    publication.hide(persisted)
    request = RunRequest(
        settings=settings,
        decided=decided,
        repository=decided.change.git.root if decided.change.git is not None else repository,
        environment=environment,
        choice=chosen_scenarios(arguments, settings),
        concurrency=_concurrency(arguments),
        trials=parse_option("--trials", arguments.trials, partial(parse_count, most=MOST_TRIALS)),
        seconds=parse_option("--deadline", arguments.deadline or "", lambda given: read_deadline(given, environment)),
        resume=arguments.resume,
        variant=arguments.variant,
        cache=not arguments.no_deepeval_cache,
    )
    log = RunLog(make_progress(stream, environment, publication.redactor))
    log.warnings += [f"The variable {name} is set, and no input reads it." for name in unknown_variables(environment)]
    log.warnings += [persisted.warning] if persisted.warning else []
    if arguments.deepeval_cache_clear:
        JudgeCache(cache_folder(environment), log.note).clear()
    with interruption.noting():
        return _conclude(arguments, request, log, publication, problems=problems, tracer=tracer)


def _leave_early(interruption: Interruption) -> NoReturn:
    """Nothing is known yet that could be reported; the action's concluding step does that."""
    sys.stderr.write(f"ratiba: {_cancelled(interruption)}\n")
    leave(_cancelled(interruption).exit_code)


def _concurrency(arguments: argparse.Namespace) -> int | None:
    given = arguments.concurrency
    return None if given is None else parse_option("--concurrency", given, parse_count)


def _conclude(
    arguments: argparse.Namespace,
    request: RunRequest,
    log: RunLog,
    publication: Publication,
    *,
    problems: Sequence[str],
    tracer: Tracer,
) -> int:
    """Run, publish whatever came of it, and say the exit code."""
    failure: RatibaError | None = None
    interruption = current()
    interruption.replace_stand_in(lambda: _conclude_instead(request, log, publication, interruption))
    try:
        report = _report(arguments, request, log, publication, problems)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - every way out leaves a report, a defect of our own too
        failure = error if isinstance(error, RatibaError) else _defect(error)
        log.events = NoEvents()
        report = stopped(request.settings, request.decided, failure, log.warnings)
    if report is None:
        return 0
    interruption.conclude()
    trace = tracer(request.settings, request.environment, log.events)
    complaint = "" if failure is None else str(failure)
    report = _with_trends(_cut_short(report, interruption), publication)
    published = publication.publish(report, trace, complaint=complaint)
    # A signal that comes while GitHub is slow: a run that was cancelled is never shown as passed.
    if (short := _cut_short(published.report, interruption)) != published.report:
        published = publication.publish(short)
    if arguments.baseline_out:
        _leave_baseline(published, Path(arguments.baseline_out), publication)
    if arguments.json:
        sys.stdout.write(unreadable_as_command(json.dumps(published.outputs, indent=2)) + "\n")
        sys.stdout.flush()
    # Last: a run that is cancelled may be killed while the server is slow.
    _keep(published.report, publication)
    return published.exit_code


def _cut_short(report: Report, interruption: Interruption) -> Report:
    """The report of a run that was cancelled, where its verdict does not know of that yet."""
    reason, name = interruption.reason, interruption.name
    if reason is None or name is None or any(name in text for text in (report.verdict.reason, *report.notes)):
        return report
    note = f"The run was cancelled by {name} when everything had been measured."
    return replace(report, verdict=cut_short(report.verdict, reason), notes=in_order((*report.notes, note)))


def _conclude_instead(
    request: RunRequest, log: RunLog, publication: Publication, interruption: Interruption
) -> NoReturn:
    """Conclude a cancelled run whose main thread does not come back in time; what it has measured is not known here."""
    report = stopped(request.settings, request.decided, _cancelled(interruption), log.warnings)
    leave(publication.publish(report).exit_code)


def _cancelled(interruption: Interruption) -> InfrastructureError:
    return InfrastructureError(f"The run was cancelled by {interruption.name}.", "Run the gate again.")


def _go_on(interruption: Interruption) -> None:
    """Between two steps that no signal interrupts.

    Raises:
        InfrastructureError: the run was cancelled.
    """
    if interruption.name is not None:
        raise _cancelled(interruption)


def _leave_baseline(summary: ReportSummary, path: Path, publication: Publication) -> None:
    try:
        write_baseline(summary, path)
    except PublishError as error:
        publication.warn(str(error))


def _with_trends(report: Report, publication: Publication) -> Report:
    """The report with the trends of its base branch, where there is a history and it can be read."""
    url = publication.settings.ledger_url
    try:
        return with_trends(report, url) if url else report
    except LedgerError as error:
        publication.warn(str(error))
        return report


def _keep(report: Report, publication: Publication) -> None:
    """Add the run to the history; a failure never changes the verdict."""
    url = publication.settings.ledger_url
    if not url or report.verdict.conclusion is Conclusion.SKIPPED:
        return
    try:
        keep_run(report, url)
    except LedgerError as error:
        publication.warn(str(error))


def _defect(error: Exception) -> RatibaError:
    where = traceback.extract_tb(error.__traceback__)[-1]
    problem = f"The gate itself failed at {Path(where.filename).name}:{where.lineno}: {type(error).__name__}: {error}"
    return InfrastructureError(problem, "Please report it, with this line.")


def _report(
    arguments: argparse.Namespace,
    request: RunRequest,
    log: RunLog,
    publication: Publication,
    problems: Sequence[str],
) -> Report | None:
    """The report of the run; None for a dry run, which only prints. The log has the run's events."""
    go_on = partial(_go_on, current())
    go_on()
    refuse_wrong_start(request.decided, problems)
    decision = request.decided.decision
    if decision.mode is Mode.SKIP:
        if not request.decided.change.subject.event:
            # On a laptop somebody has asked for a run, and a repository without a configuration can have none.
            load_configuration(request.repository, request.settings.config)
        if arguments.dry_run:
            publication.announce(decision, Selection(decision, ()), ())
            return None
        return skipped(request.settings, request.decided, log.warnings)
    require_key(request.settings, request.environment)
    if not (arguments.dry_run or publication.in_workflow):
        # A dry run and the step that decides say it at length.
        publication.tell(mode_line(decision, enforce=request.settings.enforce))
    inputs = read_inputs(request)
    go_on()
    if (partly := selection_line(inputs.selection)) and not arguments.dry_run:
        publication.tell(partly)
    variants = variants_of(inputs) if arguments.variants else ()
    expected = forecast(inputs)
    if arguments.dry_run:
        publication.announce(decision, inputs.selection, inputs.notes, expected)
        return None
    if expected is not None:
        log_forecast(expected, publication.tell, log.note)
    for variant in variants:
        _foretell(variant, publication)
    go_on()
    with open_event_log(inputs, publication.redactor, log.note) as log.events:
        if variants:
            report = evaluate_side_by_side(inputs, log, variants)
        else:
            report = evaluate(inputs, log, expected=expected).report
        told = len(log.warnings)
        log.events.emit(run_ended(report))
    # Only now is it known whether the log is whole.
    return replace(report, notes=in_order((*report.notes, *log.warnings[told:])))


def _foretell(variant: RunInputs, publication: Publication) -> None:
    """Say what a variant is expected to cost, and refuse it where one of its models has no price."""
    expected = forecast(variant)
    if expected is not None:
        publication.tell(f"variant {variant.variant}:")
        log_forecast(expected, publication.tell, lambda _: None)
