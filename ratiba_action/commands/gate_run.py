"""A run of ``ratiba gate``: decide the mode, run scenarios, publish the report, and set the exit code."""

import json
import shlex
import sys
import time
from collections.abc import MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.commands.gate_options import GateOptions
from ratiba_action.commands.gate_request import asked_run, run_request
from ratiba_action.errors import FileProblem, PublishError, SuiteError
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import Mode
from ratiba_action.model.note import in_order
from ratiba_action.model.plan import Selection
from ratiba_action.money.budget import Ledger
from ratiba_action.money.forecast import Forecast
from ratiba_action.observability.event_file import FILE as EVENTS
from ratiba_action.privacy.masking import Redactor
from ratiba_action.publish.full_publication import full_publication
from ratiba_action.publish.publishing import Publication
from ratiba_action.publish.unmeasured_runs import refuse_wrong_start, skipped
from ratiba_action.reporting.money_facts import log_forecast
from ratiba_action.reporting.terminal import make_progress
from ratiba_action.reporting.wording import mode_line, selection_line
from ratiba_action.run.arms import head_inputs
from ratiba_action.run.cache_place import cache_folder
from ratiba_action.run.changed_requests import raised_by_shards
from ratiba_action.run.composition import REAL_WORLD, World
from ratiba_action.run.estimating import forecast
from ratiba_action.run.evaluation_inputs import read_inputs, require_asked
from ratiba_action.run.event_logging import open_event_log, run_ended
from ratiba_action.run.gate import evaluate, evaluate_shard
from ratiba_action.run.inputs import Kept, RunInputs, RunLog, RunRequest
from ratiba_action.run.lifecycle import Lifecycle, in_pipeline, leave_early
from ratiba_action.run.paid_run import go_on_with_earlier
from ratiba_action.run.planned_run import plan_run, plan_shard
from ratiba_action.run.provider_keys import keys_line, require_key
from ratiba_action.run.session import OpenSession
from ratiba_action.settings.settings import Settings, read_settings_leniently, unknown_variables
from ratiba_action.util.interruption import current
from ratiba_action.util.persisted_credentials import persisted_credentials
from ratiba_action.util.text import clip, unreadable_as_command

if TYPE_CHECKING:
    from ratiba_action.model.verdict import Report
    from ratiba_action.reporting.summary import ReportSummary
    from ratiba_action.run.shard_folders import FoundShard, ShardFolders

_PATIENCE = 3.0
"""Seconds from a signal until a report without measurements is written; a runner kills the process after 10."""


def run(
    options: GateOptions,
    environment: MutableMapping[str, str],
    kept: Kept | None = None,
    world: World = REAL_WORLD,
) -> int:
    """Run the gate.

    Raises:
        UsageError: an option is invalid; nothing is published then.
    """
    interruption = current()
    interruption.watch(_PATIENCE, lambda: leave_early(interruption))
    settings, problems = read_settings_leniently(environment, options.inputs)
    stream = sys.stderr if options.json else sys.stdout
    publication = full_publication(settings, environment, stream, options.verbosity)
    publication.hide_secrets()
    asked = asked_run(options, environment, settings, world.decide_change)
    problems = (*problems, *asked.problems)
    if problems and not in_pipeline(environment):
        raise SuiteError([FileProblem("inputs", 0, problem) for problem in problems])
    request = replace(asked.request, kept=kept, outage=publication.outage)
    publication = _as_authorized(publication, request.settings)
    publication.reserve_space()
    persisted = persisted_credentials(request.decided.change.git, environment)
    publication.hide(persisted)
    log = RunLog(
        make_progress(publication.progress_stream, environment, publication.redactor), prepare_report=_load_for_report
    )
    log.warnings += [f"The variable {name} is set, but no input reads it." for name in unknown_variables(environment)]
    log.warnings += [persisted.warning] if persisted.warning else []
    if options.clear_judge_cache:
        from ratiba_action.metrics.judging.cache import JudgeCache

        JudgeCache(cache_folder(environment, request.repository), log.note).clear()
    with interruption.noting():
        run = Lifecycle(request, log, publication, world.tracer)
        evaluate = partial(_report, run, problems, world)
        show = partial(_show, publication, options.baseline_out, as_json=options.json)
        return run.conclude(evaluate, partial(_with_calibration, request), show)


def _as_authorized(publication: Publication, allowed: Settings) -> Publication:
    """The publication with the run's own settings, and with the token that writes the report.

    Comment and status go to the address of the forge, whatever the configuration says.
    """
    given = publication.settings
    settings = replace(allowed, github_token=given.github_token, gitlab_token=given.gitlab_token)
    return replace(publication, settings=settings)


def inputs_of(options: GateOptions, environment: MutableMapping[str, str]) -> RunInputs:
    """What a run would evaluate.

    Raises:
        RatibaError: an option, the configuration or a scenario is invalid.
    """
    settings, problems = read_settings_leniently(environment, options.inputs)
    request = run_request(options, environment, settings, REAL_WORLD.decide_change)
    refuse_wrong_start(request.decided, problems)
    return read_inputs(request)


def _show(publication: Publication, baseline_out: Path | None, published: "ReportSummary", *, as_json: bool) -> None:
    """Write and print what the options ask for besides."""
    if baseline_out is not None:
        from ratiba_action.reporting.results_json import write_baseline

        try:
            write_baseline(published, baseline_out)
        except PublishError as error:
            publication.warn(str(error))
    if as_json:
        sys.stdout.write(unreadable_as_command(json.dumps(published.outputs, indent=2)) + "\n")
        sys.stdout.flush()


def _load_for_report() -> None:
    """Load what nothing but the report of a run needs; compiling its template takes a sixth of a second."""
    import ratiba_action.production.judge_calibration  # noqa: F401 - for _with_calibration
    from ratiba_action.reporting.html import report_template

    report_template()


def _with_calibration(request: RunRequest, report: "Report") -> "Report":
    """The report, with what is to be said of how far its judges agree with people."""
    from ratiba_action.model.verdict import Conclusion

    if report.verdict.conclusion is Conclusion.SKIPPED or not report.judge_model:
        return report
    from ratiba_action.production.judge_calibration import calibration_notes  # a run has judges

    judges = {report.judge_model, report.cross_checking.model if report.cross_checking is not None else ""}
    folder = request.repository / request.settings.scenarios
    mask = Redactor(request.settings.secrets)
    notes = calibration_notes(folder, judges, request.started_at.date(), report.results, mask)
    return replace(report, notes=in_order((*report.notes, *notes)))


def _report(run: Lifecycle, problems: Sequence[str], world: World) -> "Report | None":
    """The report of the run; None for a dry run, which only prints. The log has the run's events."""
    run.go_on()
    request, publication = run.request, run.publication
    refuse_wrong_start(request.decided, problems)
    decision = request.decided.decision
    if decision.mode is Mode.SKIP:
        return _skip(run)
    if not (request.dry_run or publication.in_workflow):
        # A dry run and the decide step print it in detail.
        publication.print_line(mode_line(decision, enforce=request.settings.enforce))
    if not request.shard_reports:
        with world.begin_judging(request) as run.request:
            return _evaluated(run, None, world)
    from ratiba_action.run.shard_folders import ShardFolders, report_folders  # for a merge alone

    with ShardFolders(report_folders(request.shard_reports)) as shard_folders:
        return _evaluated(run, shard_folders, world)


def _evaluated(run: Lifecycle, shard_folders: "ShardFolders | None", world: World) -> "Report | None":
    """The same of a run that evaluates something, or merges what its shards have evaluated."""
    log, publication, open_session = run.log, run.publication, world.open_session
    inputs = read_inputs(run.request)
    run.history = inputs.history
    shards = None
    if shard_folders is not None:
        shards = shard_folders.read()
        shard_folders.begin_events(publication.redactor, inputs.customers)
    inputs = inputs if inputs.dry_run else _raised(inputs, shards, publication, world)
    run.request = replace(run.request, decided=inputs.decided)  # a run that fails from here on is a blocking one too
    log.alerts = inputs.configuration.notifications.kinds
    require_key(inputs.settings, inputs.configuration, inputs.environment)
    run.go_on()
    shard = None if inputs.settings.shard is None else plan_shard(inputs, inputs.settings.shard)
    inputs = _with_earlier(inputs if shard is None else shard.inputs, log, publication)
    if (partly := selection_line(inputs.selection)) and not inputs.dry_run:
        publication.print_line(partly)
    if not inputs.dry_run and shard is None:
        run.begin()
    variants: Sequence[RunInputs] = ()
    if inputs.variants:
        from ratiba_action.run.variants import evaluate_side_by_side, variants_of

        variants = variants_of(inputs)
    expected = forecast(inputs) if shards is None else None
    if inputs.dry_run:
        _announce(inputs, expected, publication)
        return None
    if shards is None:
        _print_costs(inputs, expected, variants, publication, log)
    run.go_on()
    with open_event_log(inputs, publication.redactor, log.note) as log.events:
        if shard is not None:
            report = evaluate_shard(replace(shard, inputs=inputs), log, open_session, expected)
        elif variants:
            report = evaluate_side_by_side(inputs, log, open_session, variants)
        else:
            report = _explained(inputs, run, expected, shards, open_session)
        noted = len(log.warnings)
        log.events.emit(run_ended(report))
    if shard_folders is not None:
        _add_events(shard_folders, report, log, publication)
    # Only now is it known whether the log is complete.
    return replace(report, notes=in_order((*report.notes, *log.warnings[noted:])))


def _announce(inputs: RunInputs, expected: Forecast | None, publication: Publication) -> None:
    """Say what would run, and which scenarios read which files."""
    publication.announce(inputs.selection.decision, inputs.selection, inputs.notes, expected)
    _list_reads(inputs, publication)


def _list_reads(request: RunRequest, publication: Publication) -> None:
    """Print which scenarios of the base read which files."""
    for line in request.decided.observed.described():
        publication.print_line(line)


def _raised(
    inputs: RunInputs, shards: "Sequence[FoundShard] | None", publication: Publication, world: World
) -> RunInputs:
    """The inputs, as a blocking run's where the change alters what an advisory run's scenarios send to models."""
    if shards is None:
        raised = world.raise_by_requests(inputs, world.open_session)
    else:
        raised = raised_by_shards(inputs, [shard.report.decision for shard in shards if shard.report is not None])
    decision = raised.decided.decision
    if decision is not inputs.decided.decision and not publication.in_workflow:
        publication.print_line(mode_line(decision, enforce=raised.settings.enforce))
    return raised


def _add_events(shard_folders: "ShardFolders", report: "Report", log: RunLog, publication: Publication) -> None:
    """Add the events of the shards to those of their merge."""
    for result in report.results:
        publication.redactor.result(result)  # while a second process masks the events; the report looks it up
    for problem in shard_folders.add_events(Path(publication.settings.report_dir).absolute() / EVENTS):
        log.note(problem)


def _with_earlier(inputs: RunInputs, log: RunLog, publication: Publication) -> RunInputs:
    """The inputs, with what an earlier attempt of this workflow run has paid for; a merge has no journal to keep."""
    if not inputs.settings.journal_key or inputs.shard_reports or inputs.dry_run or inputs.variants:
        return inputs
    known = len(log.warnings)
    found = go_on_with_earlier(inputs, head_inputs(inputs), log.note)
    for text in log.warnings[known:]:
        publication.print_line(text)
    return found


def _skip(run: Lifecycle) -> "Report | None":
    request, decision = run.request, run.request.decided.decision
    if not request.decided.change.subject.event:
        # In a local run what is missing is an error, since somebody asked for a run.
        require_asked(request)
    if request.dry_run:
        run.publication.announce(decision, Selection(decision, ()), ())
        _list_reads(request, run.publication)
        return None
    return skipped(request.settings, request.decided, run.log.warnings)


def _explained(
    inputs: RunInputs,
    run: Lifecycle,
    expected: Forecast | None,
    shards: "Sequence[FoundShard] | None",
    open_session: OpenSession,
) -> "Report":
    """The report of the run and, of one that failed, which lines of the change did it."""
    began, ledger = time.monotonic(), Ledger(inputs.settings.budget_usd)
    planned = plan_run(inputs, shards)
    outcome = evaluate(planned, run.log, open_session, ledger, expected=expected, shards=shards)
    report = outcome.report
    if outcome.interrupted:
        return report  # Nothing more is paid for, least of all with what a lost shard may have spent.
    run.publish_if_cut_short(report)
    allowed, took = inputs.seconds_allowed, time.monotonic() - began
    left = None if allowed is None else allowed - took
    from ratiba_action.diagnosis.partial_runs import with_explanation  # after the run

    explained = with_explanation(
        report,
        inputs,
        run.log,
        ledger,
        left,
        open_session=open_session,
        base=outcome.base_results,
        show=run.publication.print_line,
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
    if setup := inputs.configuration.system.setup:
        publication.print_line(f"Setting the system up: {clip(shlex.join(setup))}")
    for variant in variants:
        _log_variant_forecast(variant, publication)


def _log_variant_forecast(variant: RunInputs, publication: Publication) -> None:
    """Print the expected cost of a variant; raises if one of its models has no price."""
    expected = forecast(variant)
    if expected is not None:
        publication.print_line(f"variant {variant.variant}:")
        log_forecast(expected, publication.print_line, lambda _: None)
