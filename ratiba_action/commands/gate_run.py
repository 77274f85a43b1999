"""A run of ``ratiba gate``: decide the mode, run scenarios, publish the report, and set the exit code."""

import gc
import json
import sys
import time
import traceback
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

from ratiba_action.commands.gate_options import GateOptions
from ratiba_action.commands.gate_request import problems_of_baseline, problems_of_given, run_request
from ratiba_action.config.configuration import load_configuration
from ratiba_action.errors import (
    ConfigurationError,
    FileProblem,
    InfrastructureError,
    LedgerError,
    PublishError,
    RatibaError,
    SuiteError,
    UsageError,
)
from ratiba_action.history.executions import Begun, begin_execution, end_execution
from ratiba_action.history.keeping import keep_run, with_trends
from ratiba_action.metrics.judging.cache import JudgeCache
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import Mode
from ratiba_action.model.note import in_order
from ratiba_action.model.plan import Selection
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.money.budget import Ledger
from ratiba_action.money.forecast import Forecast
from ratiba_action.observability.event_file import FILE as EVENTS
from ratiba_action.observability.logged_ports import NoEvents
from ratiba_action.publish.full_publication import full_publication
from ratiba_action.publish.notifications import CANCELLED_SECONDS, NOTIFY_SECONDS, alerts_of, message_of, notify
from ratiba_action.publish.publishing import Publication
from ratiba_action.publish.unmeasured_runs import refuse_wrong_start, skipped, stopped
from ratiba_action.reporting.money_facts import log_forecast
from ratiba_action.reporting.results_json import write_baseline
from ratiba_action.reporting.summary import ReportSummary
from ratiba_action.reporting.terminal import make_progress
from ratiba_action.reporting.wording import mode_line, selection_line
from ratiba_action.run.arms import head_inputs
from ratiba_action.run.attribution import with_explanation
from ratiba_action.run.authority import authorized
from ratiba_action.run.cache_place import cache_folder
from ratiba_action.run.composition import open_session as open_real_session
from ratiba_action.run.estimating import forecast
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.event_logging import Tracer, open_event_log, run_ended, tracer_of
from ratiba_action.run.gate import evaluate, evaluate_shard, evaluate_side_by_side, plan_shard, variants_of
from ratiba_action.run.inputs import Kept, RunInputs, RunLog, RunRequest
from ratiba_action.run.paid_run import go_on_with_earlier
from ratiba_action.run.provider_keys import keys_line, require_key
from ratiba_action.run.session import OpenSession
from ratiba_action.run.shard_folders import FoundShard, ShardFolders, report_folders
from ratiba_action.run.shards import with_readable_answers
from ratiba_action.settings.gitlab import gitlab_job
from ratiba_action.settings.settings import Settings, read_settings_leniently, unknown_variables
from ratiba_action.settings.step_output import leave
from ratiba_action.util.interruption import Interruption, current
from ratiba_action.util.persisted_credentials import in_job, persisted_credentials
from ratiba_action.util.text import unreadable_as_command
from ratiba_action.verdict.decision import cut_short
from ratiba_action.verdict.tally import status_of

_YOUNG = 10_000
"""New objects after which the garbage collector looks at them. Nearly all objects of a large suite live until the end,
so that Python's 700 only costs time: a tenth of a merge of 10,000 scenarios."""

_PATIENCE = 3.0
"""Seconds from a signal until a report without measurements is written; a runner kills the process after 10."""


def run(
    options: GateOptions,
    environment: MutableMapping[str, str],
    tracer: Tracer = tracer_of,
    kept: Kept | None = None,
    open_session: OpenSession = open_real_session,
) -> int:
    """Run the gate.

    Args:
        options: of the command.
        environment: of the process.
        tracer: makes the function that sends the run's traces.
        kept: what is started already.
        open_session: makes what scenarios run in.

    Raises:
        UsageError: an option is invalid; nothing is published then.
    """
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
    interruption = current()
    interruption.watch(_PATIENCE, lambda: _leave_early(interruption))
    settings, problems = read_settings_leniently(environment, options.inputs)
    problems = (*problems, *problems_of_given(options, environment, settings))
    stream = sys.stderr if options.json else sys.stdout
    publication = full_publication(settings, environment, stream)
    publication.hide_secrets()
    _refuse_with_shards(options, settings)
    if options.variants and (options.variant or options.resume):
        raise UsageError("--variants runs all variants from the start.", "Remove --variant and --resume.")
    asked = authorized(run_request(options, environment, settings))
    problems = (*problems, *problems_of_baseline(asked))
    if problems and not _in_pipeline(environment):
        raise SuiteError([FileProblem("inputs", 0, problem) for problem in problems])
    request = replace(asked, kept=kept, outage=publication.outage)
    publication = _as_authorized(publication, request.settings)
    publication.reserve_space()
    persisted = persisted_credentials(request.decided.change.git, environment)
    publication.hide(persisted)
    log = RunLog(make_progress(stream, environment, publication.redactor))
    log.warnings += [f"The variable {name} is set, but no input reads it." for name in unknown_variables(environment)]
    log.warnings += [persisted.warning] if persisted.warning else []
    if options.clear_judge_cache:
        JudgeCache(cache_folder(environment, request.repository), log.note).clear()
    with interruption.noting():
        evaluated = partial(_report, options, request, log, publication, problems, open_session=open_session)
        return _conclude(evaluated, options, request, log, publication, tracer=tracer)


def _as_authorized(publication: Publication, allowed: Settings) -> Publication:
    """The publication with the run's own settings, and with the token that writes the report.

    Comment and status go to the address of the forge, whatever the configuration says.
    """
    given = publication.settings
    settings = replace(allowed, github_token=given.github_token, gitlab_token=given.gitlab_token)
    return replace(publication, settings=settings)


def inputs_of(options: GateOptions, environment: MutableMapping[str, str]) -> RunInputs:
    """What a run would evaluate.

    Args:
        options: of the command.
        environment: of the process.

    Raises:
        RatibaError: an option, the configuration or a scenario is invalid.
    """
    settings, problems = read_settings_leniently(environment, options.inputs)
    request = run_request(options, environment, settings)
    refuse_wrong_start(request.decided, problems)
    return read_inputs(request)


def _refuse_with_shards(options: GateOptions, settings: Settings) -> None:
    """Refuse options that need the results of the whole suite in one process.

    Raises:
        UsageError: says which.
    """
    if settings.shard is None and options.reports(settings) is None:
        return
    if settings.shard is not None and options.folders:
        raise UsageError(
            f"RATIBA_SHARD is {str(settings.shard)!r}, and a merge is of all shards.", "Unset RATIBA_SHARD."
        )
    given = {"--failed": options.failed, "--variants": options.variants, "--watch": options.watch}
    if settings.shard is not None:
        given["--baseline-out"] = options.baseline_out is not None
    else:
        given["--resume"] = options.resume
    named = [name for name, value in given.items() if value]
    if named:
        raise UsageError(
            f"{' and '.join(named)} cannot be used with shards.", f"Remove {'it' if len(named) == 1 else 'them'}."
        )


def _in_pipeline(environment: Mapping[str, str]) -> bool:
    """Whether somebody reads the report instead of the terminal."""
    return in_job(environment) or gitlab_job(environment) is not None


def _is_for_the_terminal(error: Exception, request: RunRequest, log: RunLog) -> bool:
    """Whether a mistake of whoever started the run leaves the last report as it is, which --failed reads."""
    if isinstance(error, UsageError):
        return True
    return isinstance(error, ConfigurationError) and not (_in_pipeline(request.environment) or log.execution)


def _leave_early(interruption: Interruption) -> NoReturn:
    """Exit before there is anything to report; the action's last step publishes the report."""
    sys.stderr.write(f"ratiba: {_cancelled(interruption)}\n")
    leave(_cancelled(interruption).exit_code)


def _conclude(
    evaluated: Callable[[], Report | None],
    options: GateOptions,
    request: RunRequest,
    log: RunLog,
    publication: Publication,
    *,
    tracer: Tracer,
) -> int:
    """Run, publish the report, and return the exit code."""
    failure: RatibaError | None = None
    interruption = current()
    interruption.replace_stand_in(lambda: _conclude_instead(request, log, publication, interruption))
    try:
        report = evaluated()
    except Exception as error:  # every failure leaves a report, also a bug of the gate
        if _is_for_the_terminal(error, request, log):
            raise
        failure = error if isinstance(error, RatibaError) else _defect(error)
        log.events = NoEvents()
        report = stopped(request.settings, request.decided, failure, log.warnings)
    if report is None:
        return 0
    interruption.conclude()
    trace = tracer(request.settings, request.environment, log.events)
    complaint = "" if failure is None else str(failure)
    report = with_readable_answers(_cut_short(report, interruption), publication.redactor.result)
    if report.shard is None:
        report = _with_calibration(_with_trends(report, publication), request)
    published = publication.publish(report, trace, complaint=complaint)
    # A signal may arrive while GitHub is slow: a cancelled run is never shown as passed.
    if (short := _cut_short(published.report, interruption)) != published.report:
        published = publication.publish(short)
    if log.end_journal is not None and failure is None:
        log.end_journal(interruption.name is not None)
    if options.baseline_out is not None:
        _leave_baseline(published, options.baseline_out, publication)
    if options.json:
        sys.stdout.write(unreadable_as_command(json.dumps(published.outputs, indent=2)) + "\n")
        sys.stdout.flush()
    if published.report.shard is not None:
        return published.exit_code
    # Last, because a cancelled run may be killed while a server is slow.
    _keep(published.report, publication)
    _end(published, log, publication)
    _notify(published.report, request, log, publication, interruption)
    return published.exit_code


def _cut_short(report: Report, interruption: Interruption) -> Report:
    """The report, marked as cancelled if the run was cancelled after the verdict."""
    reason, name = interruption.reason, interruption.name
    if reason is None or name is None or any(name in text for text in (report.verdict.reason, *report.notes)):
        return report
    note = f"The run was cancelled by {name} after everything had been measured."
    return replace(report, verdict=cut_short(report.verdict, reason), notes=in_order((*report.notes, note)))


def _conclude_instead(
    request: RunRequest, log: RunLog, publication: Publication, interruption: Interruption
) -> NoReturn:
    """Publish a report without measurements for a cancelled run whose main thread does not return in time."""
    report = stopped(request.settings, request.decided, _cancelled(interruption), log.warnings)
    leave(publication.publish(report).exit_code)


def _cancelled(interruption: Interruption) -> InfrastructureError:
    return InfrastructureError(f"The run was cancelled by {interruption.name}.", "Run the gate again.")


def _go_on(interruption: Interruption) -> None:
    """Check for cancellation between two steps.

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
    """The report with the trends of its base branch, if there is a readable history."""
    url = publication.settings.ledger_url
    try:
        return with_trends(report, url) if url else report
    except LedgerError as error:
        publication.warn(str(error))
        return report


def _with_calibration(report: Report, request: RunRequest) -> Report:
    """The report, with what is to be said of how far its judges agree with people."""
    if report.verdict.conclusion is Conclusion.SKIPPED or not report.judge_model:
        return report
    from ratiba_action.production.judge_calibration import calibration_notes  # a run has judges

    judges = {report.judge_model, report.cross_checking.model if report.cross_checking is not None else ""}
    folder = request.repository / request.settings.scenarios
    notes = calibration_notes(folder, judges, request.started_at.date())
    return replace(report, notes=in_order((*report.notes, *notes)))


def _keep(report: Report, publication: Publication) -> None:
    """Add the run to the history; a failure never changes the verdict."""
    url = publication.settings.ledger_url
    if not url or report.verdict.conclusion is Conclusion.SKIPPED:
        return
    try:
        keep_run(report, url)
    except LedgerError as error:
        publication.warn(str(error))


def _begin(request: RunRequest, log: RunLog, publication: Publication) -> None:
    """Write down in the ledger's database that the run begins; a failure never changes the verdict."""
    subject, url = request.decided.change.subject, request.settings.ledger_url
    if not url:
        return
    begun = Begun(
        repository=subject.repository,
        gate=request.settings.name,
        commit=subject.head,
        run_id=subject.run_id,
        run_attempt=subject.run_attempt,
        mode=request.decided.decision.mode.value,
        seconds=request.seconds,
    )
    try:
        log.execution = begin_execution(url, begun)
        publication.print_line(f"Execution: {log.execution}")
    except LedgerError as error:
        publication.warn(f"The run is not in the ledger's database: {error}")


def _end(published: ReportSummary, log: RunLog, publication: Publication) -> None:
    """Write down how the run ended, for those who wait for it."""
    if not log.execution:
        return
    results = published.report.results
    outcome = {
        "exit_code": published.exit_code,
        **{name.replace("-", "_"): value for name, value in published.outputs.items()},
        "results": [
            {"scenario": each.trial.scenario.id, "trial": each.trial.number, "status": status_of(each)}
            for each in results
        ],
    }
    try:
        end_execution(publication.settings.ledger_url, log.execution, outcome)
    except LedgerError as error:
        publication.warn(f"How the run ended is not in the ledger's database: {error}")


def _notify(
    report: Report, request: RunRequest, log: RunLog, publication: Publication, interruption: Interruption
) -> None:
    """Send the run's alerts; a failure never changes the verdict."""
    alerts = tuple(alerts_of(report, default_branch=request.decided.change.on_default_branch))
    notify(
        request.settings,
        request.environment,
        message_of(report, alerts),
        log.alerts,
        publication.warn,
        redactor=publication.redactor,
        seconds=NOTIFY_SECONDS if interruption.name is None else CANCELLED_SECONDS,
    )


def _defect(error: Exception) -> RatibaError:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    problem = f"The gate itself failed at {Path(frame.filename).name}:{frame.lineno}: {type(error).__name__}: {error}"
    return InfrastructureError(problem, "Please report it, with this line.")


def _report(
    options: GateOptions,
    request: RunRequest,
    log: RunLog,
    publication: Publication,
    problems: Sequence[str],
    *,
    open_session: OpenSession,
) -> Report | None:
    """The report of the run; None for a dry run, which only prints. The log has the run's events."""
    _go_on(current())
    refuse_wrong_start(request.decided, problems)
    decision = request.decided.decision
    if decision.mode is Mode.SKIP:
        return _skip(options, request, log, publication)
    if not (options.dry_run or publication.in_workflow):
        # A dry run and the decide step print it in detail.
        publication.print_line(mode_line(decision, enforce=request.settings.enforce))
    folders = options.reports(request.settings)
    if folders is None:
        return _evaluated(options, request, log, publication, None, open_session=open_session)
    with ShardFolders(report_folders(folders)) as shard_folders:
        return _evaluated(options, request, log, publication, shard_folders, open_session=open_session)


def _evaluated(
    options: GateOptions,
    request: RunRequest,
    log: RunLog,
    publication: Publication,
    shard_folders: ShardFolders | None,
    *,
    open_session: OpenSession,
) -> Report | None:
    """The same of a run that evaluates something, or merges what its shards have evaluated."""
    go_on = partial(_go_on, current())
    inputs = read_inputs(request)
    shards = None
    if shard_folders is not None:
        shards = shard_folders.read()
        shard_folders.begin_events(publication.redactor, inputs.customers)
    log.alerts = inputs.configuration.notifications.kinds
    require_key(inputs.settings, inputs.configuration, inputs.environment)
    go_on()
    shard = None if request.settings.shard is None else plan_shard(inputs, request.settings.shard)
    inputs = _with_earlier(inputs if shard is None else shard.inputs, options, log, publication)
    if (partly := selection_line(inputs.selection)) and not options.dry_run:
        publication.print_line(partly)
    if not options.dry_run and shard is None:
        _begin(request, log, publication)
    variants = variants_of(inputs) if options.variants else ()
    expected = forecast(inputs) if shards is None else None
    if options.dry_run:
        publication.announce(inputs.selection.decision, inputs.selection, inputs.notes, expected)
        return None
    if shards is None:
        _print_costs(inputs, expected, variants, publication, log)
    go_on()
    with open_event_log(inputs, publication.redactor, log.note) as log.events:
        if shard is not None:
            report = evaluate_shard(replace(shard, inputs=inputs), log, open_session, expected)
        elif variants:
            report = evaluate_side_by_side(inputs, log, open_session, variants)
        else:
            report = _explained(inputs, log, publication, expected, shards, open_session=open_session)
        noted = len(log.warnings)
        log.events.emit(run_ended(report))
    if shard_folders is not None:
        _add_events(shard_folders, report, log, publication)
    # Only now is it known whether the log is complete.
    return replace(report, notes=in_order((*report.notes, *log.warnings[noted:])))


def _add_events(shard_folders: ShardFolders, report: Report, log: RunLog, publication: Publication) -> None:
    """Add the events of the shards to those of their merge."""
    for result in report.results:
        publication.redactor.result(result)  # while a second process masks the events; the report looks it up
    for problem in shard_folders.add_events(Path(publication.settings.report_dir).absolute() / EVENTS):
        log.note(problem)


def _with_earlier(inputs: RunInputs, options: GateOptions, log: RunLog, publication: Publication) -> RunInputs:
    """The inputs, with what an earlier attempt of this workflow run has paid for; a merge has no journal to keep."""
    merges = options.reports(inputs.settings) is not None
    if not inputs.settings.journal_key or merges or options.dry_run or options.variants:
        return inputs
    known = len(log.warnings)
    found = go_on_with_earlier(inputs, head_inputs(inputs), log.note)
    for text in log.warnings[known:]:
        publication.print_line(text)
    return found


def _skip(options: GateOptions, request: RunRequest, log: RunLog, publication: Publication) -> Report | None:
    decision = request.decided.decision
    if not request.decided.change.subject.event:
        # In a local run a missing configuration is an error, since somebody asked for a run.
        load_configuration(request.repository, request.settings.config)
    if options.dry_run:
        publication.announce(decision, Selection(decision, ()), ())
        return None
    return skipped(request.settings, request.decided, log.warnings)


def _explained(
    inputs: RunInputs,
    log: RunLog,
    publication: Publication,
    expected: Forecast | None,
    shards: Sequence[FoundShard] | None,
    *,
    open_session: OpenSession,
) -> Report:
    """The report of the run and, of one that failed, which lines of the change did it."""
    began, ledger = time.monotonic(), Ledger(inputs.settings.budget_usd)
    outcome = evaluate(inputs, log, open_session, ledger, expected=expected, shards=shards)
    report = outcome.report
    if outcome.interrupted:
        return report  # Nothing more is paid for, least of all with what a lost shard may have spent.
    # Whatever happens from here on, what was measured is published.
    current().replace_stand_in(lambda: leave(publication.publish(_cut_short(report, current())).exit_code))
    allowed, took = inputs.seconds_allowed, time.monotonic() - began
    left = None if allowed is None else allowed - took
    explained = with_explanation(
        report, inputs, log, ledger, left, open_session=open_session, base=outcome.base_results
    )
    return replace(explained, seconds=time.monotonic() - began) if explained.explanation is not None else explained


def _print_costs(
    inputs: RunInputs, expected: Forecast | None, variants: Sequence[RunInputs], publication: Publication, log: RunLog
) -> None:
    """Print which keys may be spent, and how much of the budget."""
    if inputs.llm != Llm.REPLAY and (keys := keys_line(inputs.settings, inputs.configuration, inputs.environment)):
        publication.print_line(keys)
    if expected is not None:
        log_forecast(expected, publication.print_line, log.note)
    for variant in variants:
        _log_variant_forecast(variant, publication)


def _log_variant_forecast(variant: RunInputs, publication: Publication) -> None:
    """Print the expected cost of a variant; raises if one of its models has no price."""
    expected = forecast(variant)
    if expected is not None:
        publication.print_line(f"variant {variant.variant}:")
        log_forecast(expected, publication.print_line, lambda _: None)
