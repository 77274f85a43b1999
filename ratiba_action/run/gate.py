"""The straight line: inputs → plan → results → evidence → verdict → report."""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.checks.checks import limits_not_measured
from ratiba_action.checks.failure_rules import is_undecided
from ratiba_action.config.configuration import Exceeded
from ratiba_action.llm.recordings.lines import Recording
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.conversation import MergeAttempt
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult
from ratiba_action.model.note import caveats_of, in_order
from ratiba_action.model.plan import BASE, Plan
from ratiba_action.model.reads import Reads
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Report, ShardReport, Verdict
from ratiba_action.money.budget import Ledger, admit
from ratiba_action.money.forecast import Forecast, way_out
from ratiba_action.run.arms import base_of, first_plan, head_inputs, no_further_trials, scratch_folder
from ratiba_action.run.base_commit import BaseInputs, NoBase
from ratiba_action.run.changed_lines import NO_CHANGED_LINES, ChangedLines, changed_lines
from ratiba_action.run.earlier_history import notes_of_history
from ratiba_action.run.earlier_runs import (
    NONE,
    NOT_COMPARED,
    EarlierRuns,
    github_history,
)
from ratiba_action.run.estimating import forecast
from ratiba_action.run.event_logging import run_started
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunLog
from ratiba_action.run.notes import (
    answers_of,
    authored,
    comparable,
    cut_replies,
    how_to_confirm,
    mocked,
    notes_of_baseline,
    notes_of_choice,
    notes_of_clocks,
    notes_of_credentials,
    notes_of_edited_scenarios,
    notes_of_other_models,
    notes_of_prompts,
    notes_of_stale,
    outdated,
    shortfall,
    silences_base,
    silent,
    unconfirmed,
    unproven_server,
    unseen_calls,
)
from ratiba_action.run.own_history import notes_of_own_history
from ratiba_action.run.paid_run import end_journal, journal_place, shares_of_budget
from ratiba_action.run.plan_loop import PlanLoop
from ratiba_action.run.planned_run import PlannedRun, ShardRun
from ratiba_action.run.provider_keys import require_key
from ratiba_action.run.reads import notes_of_reads, read_map
from ratiba_action.run.self_reported import self_reported
from ratiba_action.run.services import Measured
from ratiba_action.run.session import OpenSession, RunSession
from ratiba_action.util.text import plural
from ratiba_action.verdict.pairing import results_of, results_of_change
from ratiba_action.verdict.quarantine import day_of
from ratiba_action.verdict.trials import Standing, standing

if TYPE_CHECKING:
    from ratiba_action.run.shard_folders import FoundShard


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What came of a run: its verdict and everything that it rests on.

    Args:
        recorded: new lines of each scenario, by its id; empty unless the run records.
        interrupted: whether it was cancelled, or shards of it are missing or wrong.
        base_results: of the base, which ran beside the change or in earlier runs.
        reads: which files each scenario reads; nothing of one of which that was not seen.
    """

    report: Report
    recorded: Mapping[str, tuple[Recording, ...]]
    interrupted: bool = False
    base_results: tuple[ScenarioResult, ...] = ()
    reads: Mapping[str, Reads] = field(default_factory=dict)


def evaluate(
    run: PlannedRun,
    log: RunLog,
    open_session: OpenSession,
    ledger: Ledger | None = None,
    *,
    expected: Forecast | None = None,
    shards: "Sequence[FoundShard] | None" = None,
) -> RunOutcome:
    """Run what is selected and decide; whatever is measured is reported, however the run ends.

    Args:
        run: with what came before it.
        ledger: of several runs of this process that share one budget; None for its own.
        expected: its forecast, where that was made already.
        shards: see ``plan_run``.
    """
    inputs, commit = run.inputs, run.commit
    ledger = Ledger(inputs.settings.budget_usd) if ledger is None else ledger
    gate = _Gate(inputs, log, ledger, run.earlier, open_session)
    measured, journal = Measured(), None
    if inputs.selection.scenarios:
        head = head_inputs(inputs, github_history(inputs))
        for note in notes_of_prompts(inputs, head):
            log.note(note)
        log.events.emit(run_started(inputs, commit, head.prompt_versions, inputs.llm))
        journal = journal_place(inputs, head) if inputs.llm != Llm.REPLAY else None
        measured = gate.measure(head, expected) if shards is None else gate.merge(head, shards, commit)
    from ratiba_action.verdict.decision import next_step  # once everything was measured

    evidence = gate.evidence(measured)
    verdict = next_step(evidence)
    if isinstance(verdict, Plan):
        raise TypeError("next_step asks for trials that were run or refused already")
    if journal is not None:
        concluded = verdict.conclusion is not Conclusion.INCOMPLETE
        cut_short = gate.interrupted or (gate.late and not concluded)
        log.end_journal = partial(end_journal, journal, concluded=concluded, interrupted=cut_short)
    seconds = time.monotonic() - run.began + gate.seconds_of_shards
    report = replace(gate.report(measured, evidence, verdict), seconds=seconds, commit=commit)
    return RunOutcome(report, measured.recorded, gate.interrupted, gate.base_results(measured), measured.reads)


def evaluate_shard(run: ShardRun, log: RunLog, open_session: OpenSession, expected: Forecast | None) -> Report:
    """Run a shard's share of the first plan; what it means is decided by ``evaluate`` with all of the shards.

    Raises:
        InfrastructureError: live answers are asked for, and there is no key.
    """
    inputs, clock = run.inputs, time.monotonic()
    require_key(inputs.settings, inputs.configuration, inputs.environment)
    shares = shares_of_budget(inputs.settings, inputs.decided.change.subject)
    gate = _Gate(inputs, log, Ledger(inputs.settings.budget_usd, shares), run.earlier, open_session)
    measured, journal = Measured(), None
    if inputs.selection.scenarios:
        head = head_inputs(inputs, github_history(inputs))
        log.events.emit(run_started(inputs, run.commit, head.prompt_versions, inputs.llm))
        journal = journal_place(inputs, head) if inputs.llm != Llm.REPLAY else None
        measured = gate.measure(head, expected, first_only=True)
    report = gate.shard_report(run, measured)
    if journal is not None:
        # A shard that ran its share is not run again, whatever its time or money did not cover.
        log.end_journal = partial(end_journal, journal, concluded=not gate.interrupted, interrupted=gate.interrupted)
    return replace(report, seconds=time.monotonic() - clock, commit=run.commit)


class _Gate:
    """Turns what is known of a run into results, evidence and a report.

    Args:
        earlier: runs that the verdict may look at, too.
    """

    def __init__(
        self, inputs: RunInputs, log: RunLog, ledger: Ledger, earlier: EarlierRuns, open_session: OpenSession
    ) -> None:
        self._inputs, self._log, self._ledger, self._earlier = inputs, log, ledger, earlier
        self._open_session = open_session
        self._interruptions: list[str] = []
        self._base: BaseInputs | NoBase | None = None
        self._beside = False
        self._merges: tuple[MergeAttempt, ...] = ()
        self.seconds_of_shards = 0.0
        self.late = False

    @property
    def interrupted(self) -> bool:
        """Whether the run was cancelled, or shards of it are missing or wrong."""
        return bool(self._interruptions)

    def measure(self, head: ArmInputs, expected: Forecast | None, *, first_only: bool = False) -> Measured:
        """Run every plan that the evidence asks for; nothing where the caps hold none of the first one's trials.

        Args:
            expected: forecast of the run; None to make it.
            first_only: run the first plan alone, and note nothing of what only the whole run shows.
        """
        inputs = self._inputs
        lines = NO_CHANGED_LINES if first_only else changed_lines(inputs)
        head = replace(head, traced=lines.files)
        with scratch_folder() as scratch:
            measured = _refused_by_budget(inputs, head, expected or forecast(inputs))
            if measured is None:
                loop = self._loop(self._first_plan(head), _LEFT_TO_MERGE if first_only else None)
                measured = self._run(loop, head, scratch, lines)
        if not first_only:
            self._note_answers(head, measured)
        return measured

    def merge(self, head: ArmInputs, shards: "Sequence[FoundShard]", commit: str) -> Measured:
        """What the shards measured together, and whatever further plan the evidence asks for.

        Args:
            shards: their reports, in any order.
            commit: ``measured_commit`` of the merge.
        """
        from ratiba_action.run.shard_reports import merge_shards, notes_of_merges, paid_by_merges, with_shards
        from ratiba_action.run.shards import identity_of

        inputs = self._inputs
        subject = inputs.decided.change.subject
        attempt = subject.run_attempt if subject.run_id else None
        merged = merge_shards(shards, self._first_plan(head), identity_of(inputs, commit), attempt)
        earlier = paid_by_merges(self._earlier.earlier, attempt or 1)
        discarded = (*merged.discarded, *(call for each in earlier for call in each.calls))
        self._ledger.carry_on(
            merged.calls,
            0,
            cache_hits=merged.cache_hits,
            breaches=merged.breaches,
            discarded=discarded,
            refusals=merged.refusals,
            attempts=merged.attempts,
        )
        self._ledger.set_aside(merged.unknown_usd)
        self.seconds_of_shards = merged.seconds
        for note in (*merged.notes, *notes_of_merges(earlier, attempt or 1, inputs.llm)):
            self._log.note(note)
        self._interruptions += [merged.interruption] if merged.interruption is not None else []
        loop = self._loop(merged.open_base, None, merged.measured)
        measured = loop.measured
        if not loop.settled:
            with scratch_folder() as scratch:
                measured = self._run(loop, head, scratch)
        measured = with_shards(measured, merged.measured)
        self._merges = (*earlier, MergeAttempt(attempt or 1, self._ledger.calls[len(merged.calls) :]))
        self._note_answers(head, measured)
        return measured

    def _note_answers(self, head: ArmInputs, measured: Measured) -> None:
        self._log.warnings += authored(head, self._ledger.snapshot())
        self._log.warnings += silent(head, measured.own, self._ledger)
        self._log.warnings += outdated(self._inputs, head, self._ledger)

    def _first_plan(self, head: ArmInputs) -> Plan:
        self._base = base_of(self._inputs)
        plan = first_plan(self._inputs, head, measured=self._earlier.measured)
        self._beside = any(trial.arm.name == BASE for trial in plan.trials)
        return plan

    def _loop(self, first: Plan, no_further: str | None, known: Measured | None = None) -> PlanLoop:
        """What runs a plan and those that follow from it; ``known`` is what shards have measured already."""

        def ask(measured: Measured) -> Plan | Verdict:
            from ratiba_action.verdict.decision import next_step  # once something was measured

            if known is not None:
                from ratiba_action.run.shard_reports import with_shards

                measured = with_shards(measured, known)
            return next_step(self.evidence(measured))

        results = None if known is None else Measured(known.results, base_failed=known.base_failed)
        no_further = no_further or no_further_trials(self._inputs)
        return PlanLoop(first, ask, no_further, self._interruptions, results)

    def _run(self, loop: PlanLoop, head: ArmInputs, scratch: Path, lines: ChangedLines = NO_CHANGED_LINES) -> Measured:
        """Run scenarios; a signal ends what is waited for and loses nothing that is known.

        Args:
            lines: of the change, to say which of them nothing runs.
        """
        finished: Measured | None = None

        async def work(session: RunSession) -> None:
            nonlocal finished
            await loop.run(session.services)
            finished = await session.finish(loop.measured)
            finished = replace(finished, altered=await session.services.arms.altered())
            arm = session.services.arms.get(head.arm.name)
            later = getattr(arm.system, "warnings", ()) if arm is not None else ()
            self._log.warnings += [warning for warning in later if warning not in self._log.warnings]
            if not session.cancelled:
                self._log.warnings += lines.notes(getattr(arm.system, "executed", {}) if arm else {}, finished)
                reads = session.services.reads
                finished = replace(finished, reads=await asyncio.to_thread(reads.observed, self._inputs, arm))

        session = self._open_session(
            self._inputs,
            head,
            ledger=self._ledger,
            log=self._log,
            scratch=scratch,
            with_base=loop.runs_base or (loop.may_go_on and self._earlier.measured),
            interruptions=self._interruptions,
        )
        session.conduct(work)
        self.late = session.ended_late
        measured = finished or loop.measured
        if measured.base_failed:
            self._log.note(f"The base was not run: {measured.base_failed}")
        return measured

    def evidence(self, measured: Measured) -> Evidence:
        """What the verdict rests on, so far."""
        from ratiba_action.verdict.case_file_scores import score_case_files

        inputs, earlier, answers = self._inputs, self._earlier, answers_of(self._inputs, self._ledger)
        configuration, decided = inputs.configuration, inputs.decided
        results, stale = self._counted(measured)
        day = day_of(inputs.started_at)
        no_base, base_failed = self._missing_base(measured)
        return Evidence(
            decided.decision.mode,
            results,
            Limits(
                configuration.pass_rate,
                configuration.pass_rate_rule,
                configuration.suite.metric_thresholds,
                configuration.limits.increases,
                configuration.limits.exceeded is Exceeded.BLOCK,
                configuration.critical.advisory,
            ),
            self._interruptions[0] if self._interruptions else None,
            shortfall(inputs, measured, self._ledger),
            measured.way_out,
            score_case_files(inputs.suite.data_sets, results_of_change(results), day),
            judge_model=configuration.judge.model,
            answers=answers,
            baseline=earlier.baseline,
            earlier=tuple(run for run in earlier.earlier if run.answers == answers),
            rules=configuration.comparison.rules,
            no_further=measured.no_further,
            no_base=no_base,
            base_failed=base_failed,
            day=day,
            left_out=tuple(sorted({*inputs.selection.left_out, *stale})),
            recorded_only=inputs.selection.free,
            unfit=tuple(scenario for scenario in inputs.selection.scenarios if scenario.id in stale),
            confirm=how_to_confirm(inputs, silenced=silences_base(inputs, earlier)),
            unconfirmed=unconfirmed(inputs),
            anchor=earlier.anchor,
        )

    def _missing_base(self, measured: Measured) -> tuple[str | None, str | None]:
        """Why there is no base to run trials on, and why the base that should have been measured was not."""
        base, lost, inputs = self._base, measured.base_failed, self._inputs
        compared = inputs.settings.baseline != NONE and inputs.decided.change.subject.event not in NOT_COMPARED
        if compared and not self._beside:
            # Earlier results that could not be read are not missed where the base runs beside the change.
            lost = lost or self._earlier.lost
        if not isinstance(base, NoBase):
            return None, lost
        failed = base.failed and not self._earlier.measured
        return base.reason, lost or (base.reason if failed else None)

    def _counted(self, measured: Measured) -> tuple[tuple[ScenarioResult, ...], frozenset[str]]:
        """The results of every arm that count, and the ids of scenarios that were left out after all.

        What recorded answers to other requests showed of the change's code counts where the base passes it; an
        exception that the base raises too is no failure of the change.
        """
        from ratiba_action.checks.system_exceptions import without_those_of_base
        from ratiba_action.verdict.stand_ins import confirm_suspected

        suspected = confirm_suspected(measured.results, self._earlier.baseline)
        results = without_those_of_base(suspected, self.base_results(measured))
        stale = _not_run(results, self._inputs.selection.free)
        return tuple(result for result in results if result.trial.scenario.id not in stale), stale

    def base_results(self, measured: Measured) -> tuple[ScenarioResult, ...]:
        """Results of the base: beside the change, and of the earlier runs that it is compared with."""
        beside = results_of(measured.results, BASE) if self._earlier.anchor is None else ()
        return (*beside, *(result for run in self._earlier.baseline for result in run.results))

    def report(self, measured: Measured, evidence: Evidence, verdict: Verdict) -> Report:
        """Everything that is published, but for the time that it took."""
        inputs, configuration = self._inputs, self._inputs.configuration
        notes = (
            *unproven_server(inputs),
            *inputs.notes,
            *self._log.warnings,
            *notes_of_credentials(measured.own),
            *notes_of_choice(inputs),
            *notes_of_edited_scenarios(inputs),
            *notes_of_stale(inputs, evidence.left_out),
            *notes_of_baseline(self._earlier, verdict, evidence.answers),
            *unseen_calls(inputs, measured, self._ledger),
            *notes_of_reads(inputs, measured),
            *cut_replies(measured.own),
            *notes_of_own_history(measured.own),
            *notes_of_history(inputs.history),
            *limits_not_measured(measured.own),
            *notes_of_other_models(self._ledger),
            *notes_of_clocks(inputs.selection.scenarios),
            *mocked(measured.own),
            *self._ledger.breaches,
        )
        notes = in_order(notes)
        return Report(
            name=inputs.settings.name,
            subject=inputs.decided.change.subject,
            decision=inputs.decided.decision,
            verdict=verdict,
            results=results_of_change(evidence.results),
            spending=self._ledger.snapshot(),
            limits=evidence.limits,
            started_at=inputs.started_at,
            seconds=0.0,
            enforce=inputs.settings.enforce,
            llm=evidence.answers,
            judge_model=configuration.judge.model,
            suite_digest=inputs.suite.digest,
            edited_recordings=inputs.edited_recordings,
            edited_scenarios=inputs.edited.edited if comparable(inputs) else 0,
            base_scenarios=inputs.edited.total,
            replaced=inputs.replaced,
            edited_judges=inputs.judging.edited,
            self_reported=self_reported(inputs),
            system_ran=configuration.system.replay is None,
            notes=notes,
            caveats=caveats_of(notes),
            left_out=evidence.left_out,
            covered=inputs.selection.covered,
            cross_checking=measured.cross_checking,
            shared_spending=measured.shared_spending,
            shared_ledger=bool(inputs.settings.ledger_url),
            data_sets=evidence.data_sets,
            baseline=self._earlier.facts,
            scenario_digests={scenario.id: inputs.digests.of(scenario) for scenario in inputs.selection.scenarios},
            rules=configuration.comparison.rules,
            merges=self._merges,
            unfit=tuple(scenario.id for scenario in evidence.unfit if scenario.critical),
            reads=read_map(inputs),
            site=configuration.site.url,
        )

    def shard_report(self, run: ShardRun, measured: Measured) -> Report:
        """What a shard measured, with everything that its merge needs to decide."""
        count, ledger = len(self._inputs.selection.scenarios), self._ledger
        reason = f"Shard {run.shard} ran {plural(count, 'scenario')}. It decides nothing: the merge of all shards does."
        verdict = Verdict(Conclusion.INCOMPLETE, reason, "Merge the reports of all shards: ratiba merge shard-*/")
        report = self.report(measured, self.evidence(measured), verdict)
        details = ShardReport(
            shard=run.shard,
            attempt=max(1, report.subject.run_attempt),
            identity=run.identity,
            base_results=results_of(measured.results, BASE),
            calls=ledger.calls,
            cache_hits=ledger.cache_hits,
            breaches=ledger.breaches,
            pairs=measured.pairs,
            interruption=self._interruptions[0] if self._interruptions else None,
            no_base=self._base.reason if isinstance(self._base, NoBase) else None,
            base_failed=measured.base_failed,
            reported_calls=measured.reported_calls,
            altered=measured.altered,
            way_out=measured.way_out,
            resumed=self._inputs.sealed.holds if self._inputs.sealed is not None and ledger.carried else (),
            carried=ledger.carried,
        )
        notes = in_order((*self._log.warnings, *notes_of_credentials(measured.own)))
        return replace(report, results=measured.own, notes=notes, shard=details)


_LEFT_TO_MERGE = "further trials are run when the shards are merged"


def _refused_by_budget(inputs: RunInputs, head: ArmInputs, expected: Forecast | None) -> Measured | None:
    """What came of a run whose caps leave room for no scenario: nothing is set up for it. None for every other run."""
    if inputs.resume:  # What it paid for before is reported, whatever is left of its budget.
        return None
    if expected is None or expected.as_needed or not expected.conversations:
        return None
    if len(expected.limits) > 1:  # A shared account is opened, and its state reported, whatever is left of it.
        return None
    reasons = [admit(expected.limits, (), conversation.maximum).reason for conversation in expected.conversations]
    if not all(reasons):
        return None
    refused = tuple(NotRun(trial, reason) for trial, reason in zip(head.plan.trials, reasons, strict=True))
    return Measured(refused, way_out=way_out(expected))


def _not_run(results: Sequence[ScenarioResult], free: Collection[str]) -> frozenset[str]:
    """Ids of scenarios that ran only because they cost nothing, and whose recordings no longer fit."""
    own = [result for result in results_of_change(results) if result.trial.scenario.id in free]
    failed = {result.trial.scenario.id for result in own if standing(result) is Standing.FAILED}
    stale = {
        result.trial.scenario.id
        for result in own
        if isinstance(result, Errored) and result.phase is Phase.RECORDING and result.trial.scenario.script is None
    }
    # What it was to refuse it may have given away: nothing that is left out may hide that.
    return frozenset(stale - failed - {result.trial.scenario.id for result in own if _may_have_leaked(result)})


def _may_have_leaked(result: ScenarioResult) -> bool:
    """Whether a conversation ended with a reply that a judge has to call a refusal, and none has."""
    transcript, scenario = result.transcript if isinstance(result, Errored) else None, result.trial.scenario
    if transcript is None or len(transcript.exchanges) < len(scenario.turns):
        return False
    return any(is_undecided(rule, transcript) for rule in scenario.rules)
