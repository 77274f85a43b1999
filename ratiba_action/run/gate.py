"""The straight line: decision → inputs → plan → results → verdict → report."""

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ratiba_action.checks.checks import limits_not_measured
from ratiba_action.checks.system_exceptions import without_those_of_base
from ratiba_action.llm.recordings.lines import ModelRecording, Recording
from ratiba_action.model.conversation import Party
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult, Scored
from ratiba_action.model.note import Note, in_order
from ratiba_action.model.plan import BASE, Plan
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Report, Spending, Verdict
from ratiba_action.money.budget import Ledger, admit
from ratiba_action.money.forecast import Forecast, way_out
from ratiba_action.run.aftermath import Aftermath, cancelled_by_signals
from ratiba_action.run.composition import open_run
from ratiba_action.run.earlier_runs import FIRST_RUN, EarlierRuns, find_earlier_runs, measured_commit, not_added
from ratiba_action.run.equipping import (
    base_of,
    first_plan,
    materials_of,
    no_further_trials,
    scratch_folder,
    source_of,
    workshop_of,
)
from ratiba_action.run.event_logging import run_started
from ratiba_action.run.forecasting import forecast
from ratiba_action.run.paying import require_key
from ratiba_action.run.plan_loop import Held, PlanLoop
from ratiba_action.run.preparing import GateRun, Prepared
from ratiba_action.run.workshop import BaseOffer, Materials, Workshop
from ratiba_action.settings.input_values import LIVE
from ratiba_action.util.text import part_of
from ratiba_action.verdict.data_set_scores import score_data_sets
from ratiba_action.verdict.decision import next_step
from ratiba_action.verdict.pairing import content_digest, results_of, results_of_change
from ratiba_action.verdict.quarantine import day_of
from ratiba_action.verdict.stand_ins import confirm_suspected
from ratiba_action.verdict.trials import Standing, standing

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What came of a run.

    Args:
        recorded: new lines of each scenario, by its id; empty unless the run records.
    """

    report: Report
    recorded: Mapping[str, tuple[Recording, ...]]


def evaluate(
    run: GateRun, prepared: Prepared, ledger: Ledger | None = None, expected: Forecast | None = None
) -> Evaluated:
    """Run what is selected and decide; whatever is measured is reported, however the run ends.

    Args:
        run: its inputs.
        prepared: what it evaluates.
        ledger: the books that it shares with other runs of this process; None for its own.
        expected: its forecast, where that was made already.

    Raises:
        InfrastructureError: live answers are asked for, and there is no key.
    """
    require_key(run.settings, run.environment)
    clock = time.monotonic()
    ledger = Ledger(run.settings.budget_usd) if ledger is None else ledger
    commit = measured_commit(run.decided.change.git)
    rules = prepared.inputs.configuration.comparison.rules
    known = _Known(run, prepared, ledger, find_earlier_runs(run, prepared, run.started_at, rules, commit), [])
    ended, journal = _Ended(), None
    if prepared.selection.scenarios:
        with scratch_folder() as scratch:
            materials = materials_of(run, prepared)
            run.events.emit(run_started(run, prepared, materials.prompt_versions, source_of(run, prepared)))
            workshop = workshop_of(run, prepared, ledger, scratch, materials)
            refused = _refused_by_budget(run, expected or forecast(run, prepared), materials)
            ended = refused or _hold(known, materials, workshop, base_of(run, prepared, scratch))
            run.warnings.extend(_authored(materials, ledger.snapshot()))
            run.warnings.extend(_silent(materials, ended.held.own, ledger))
            journal = workshop.payment.journal if workshop.payment is not None else None
    evidence = _evidence(known, ended)
    verdict = _verdict(evidence)
    if journal is not None and verdict.conclusion is not Conclusion.INCOMPLETE:
        # A run that has its verdict is not resumed, and its journal holds what models and customers said.
        journal.path.unlink(missing_ok=True)
    report = _report(known, ended, evidence, verdict)
    return Evaluated(replace(report, seconds=time.monotonic() - clock, commit=commit), ended.aftermath.recorded)


def _hold(known: "_Known", materials: Materials, workshop: Workshop, base: BaseOffer | str) -> "_Ended":
    """Hold the conversations of every plan that the evidence asks for."""
    run, prepared = known.run, known.prepared
    no_base = base if isinstance(base, str) else ""
    loop = PlanLoop(
        first_plan(run, prepared, materials, base, measured=bool(known.earlier.baseline)),
        lambda held: next_step(_evidence(known, _Ended(held, no_base=no_base))),
        no_further_trials(run, prepared),
        known.interruptions,
    )
    aftermath = asyncio.run(_run(workshop, materials, base, loop, known.interruptions))
    if loop.held.no_base:
        run.warnings.append(f"The base was not run: {loop.held.no_base}")
    return _Ended(loop.held, aftermath, no_base)


def _refused_by_budget(run: GateRun, expected: Forecast | None, materials: Materials) -> "_Ended | None":
    """What a run ends with whose caps hold no scenario at all: nothing is set up for it. None for every other run."""
    if run.resume:  # What it paid for before is reported, whatever is left of its budget.
        return None
    if expected is None or expected.as_needed or not expected.conversations:
        return None
    if len(expected.limits) > 1:  # A shared account is opened, and its state reported, whatever is left of it.
        return None
    reasons = [admit(expected.limits, (), one.most).reason for one in expected.conversations]
    if not all(reasons):
        return None
    held = tuple(NotRun(trial, reason) for trial, reason in zip(materials.plan.trials, reasons, strict=True))
    return _Ended(Held(held), Aftermath(way_out=way_out(expected)))


def _report(known: "_Known", ended: "_Ended", evidence: Evidence, verdict: Verdict) -> Report:
    """Everything that is published, but for the time that it took."""
    run, prepared, spending = known.run, known.prepared, known.ledger.snapshot()
    return Report(
        name=run.settings.name,
        subject=run.decided.change.subject,
        decision=run.decided.decision,
        verdict=verdict,
        results=results_of_change(evidence.results),
        spending=spending,
        limits=evidence.limits,
        started_at=run.started_at,
        seconds=0.0,
        enforce=run.settings.enforce,
        llm=_llm(run.settings.llm, spending),
        judge_model=prepared.inputs.configuration.judge.model,
        suite_digest=prepared.inputs.suite.digest,
        edited_recordings=prepared.inputs.edited_recordings,
        replaced=prepared.inputs.replaced,
        system_ran=prepared.inputs.configuration.system.replay is None,
        notes=in_order(
            (
                *prepared.inputs.notes,
                *_notes(run, prepared),
                *_notes_of_stale(known, evidence),
                *_notes_of_baseline(known, verdict),
                *_unseen_calls(known, ended),
                *limits_not_measured(ended.held.own),
                *known.ledger.breaches,
            )
        ),
        left_out=evidence.left_out,
        covered=prepared.selection.covered,
        cross_checking=ended.aftermath.cross_checking,
        shared_spending=ended.aftermath.shared_spending,
        shared_ledger=bool(run.settings.ledger_url),
        data_sets=evidence.data_sets,
        baseline=known.earlier.facts,
        scenario_digests={one.id: content_digest(one) for one in prepared.selection.scenarios},
        rules=prepared.inputs.configuration.comparison.rules,
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """What the verdict may look at besides the conversations."""

    run: GateRun
    prepared: Prepared
    ledger: Ledger
    earlier: EarlierRuns
    interruptions: list[str]


@dataclass(frozen=True, slots=True)
class _Ended:
    """What the conversations came to."""

    held: Held = field(default_factory=Held)
    aftermath: Aftermath = field(default_factory=Aftermath)
    no_base: str = ""


def _counted(known: _Known, held: Held) -> tuple[tuple[ScenarioResult, ...], frozenset[str]]:
    """The results of every arm that count, and the ids of scenarios that were left out after all.

    What recorded answers to other requests showed of the change's code counts where the base passes it; an exception
    that the base raises too is no failure of the change.
    """
    base = (*results_of(held.results, BASE), *(one for run in known.earlier.baseline for one in run.results))
    results = without_those_of_base(confirm_suspected(held.results, known.earlier.baseline), base)
    stale = _not_run(known, results)
    return tuple(one for one in results if one.trial.scenario.id not in stale), stale


def _not_run(known: _Known, results: Sequence[ScenarioResult]) -> frozenset[str]:
    """Ids of scenarios that ran only because they cost nothing, and whose recordings no longer fit."""
    free = known.prepared.selection.free
    own = [one for one in results_of_change(results) if one.trial.scenario.id in free]
    failed = {one.trial.scenario.id for one in own if standing(one) is Standing.BROKEN}
    stale = {
        one.trial.scenario.id
        for one in own
        if isinstance(one, Errored) and one.phase is Phase.RECORDING and one.trial.scenario.script is None
    }
    return frozenset(stale - failed)


def _notes_of_stale(known: _Known, evidence: Evidence) -> tuple[str, ...]:
    """Why scenarios that would have cost nothing were not run."""
    names = sorted(set(evidence.left_out).difference(known.prepared.selection.left_out))
    if not names:
        return ()
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    count = "1 scenario was" if len(names) == 1 else f"{len(names)} scenarios were"
    # Why in detail holds what customers wrote, and who they are is only masked in scenarios of the report.
    told = f"{count} not run, since the recordings no longer fit: {', '.join(names[:_NAMED])}{more}."
    return (Note(told, f"To see what changed, run: ratiba gate --llm replay --scenario {names[0]}"),)


def _limits(prepared: Prepared) -> Limits:
    configuration = prepared.inputs.configuration
    return Limits(configuration.pass_rate, configuration.pass_rate_rule, configuration.suite.metric_thresholds)


def _evidence(known: _Known, ended: _Ended) -> Evidence:
    run, prepared, ledger = known.run, known.prepared, known.ledger
    answers = _answers(known)
    interruption = known.interruptions[0] if known.interruptions else None
    shortfall = _shortfall(run, prepared, ended, ledger)
    mode, way_out = run.decided.decision.mode, ended.aftermath.way_out
    results, stale = _counted(known, ended.held)
    own, day = results_of_change(results), day_of(run.started_at)
    return Evidence(
        mode,
        results,
        _limits(prepared),
        interruption,
        shortfall,
        way_out,
        score_data_sets(prepared.inputs.suite.data_sets, own, day),
        judge_model=prepared.inputs.configuration.judge.model,
        answers=answers,
        baseline=known.earlier.baseline,
        earlier=tuple(one for one in known.earlier.earlier if one.answers == answers),
        rules=prepared.inputs.configuration.comparison.rules,
        no_further=ended.held.no_further,
        no_base=ended.no_base,
        day=day,
        left_out=tuple(sorted({*prepared.selection.left_out, *stale})),
        recorded_only=prepared.selection.free,
        unconfirmed=_unconfirmed(run, prepared),
        confirm=_how_to_confirm(run),
    )


def _unconfirmed(run: GateRun, prepared: Prepared) -> str:
    """Why a person has to start the run by hand before it may pass; empty where nobody has to."""
    if not prepared.inputs.replaced or not run.decided.change.needs_confirmation:
        return ""
    return "Another system than the base's was tested, and no maintainer has confirmed it by a manual run."


def _how_to_confirm(run: GateRun) -> str:
    subject = run.decided.change.subject
    number = f" pull-request: {subject.pull_request} and" if subject.pull_request is not None else ""
    return (
        "Read what replaces the system. If it is right, start this workflow by hand (Actions, Run workflow) with"
        f"{number} commit: {subject.head}."
    )


def _notes_of_baseline(known: _Known, verdict: Verdict) -> tuple[str, ...]:
    """Where the baseline comes from; a first run is none where the base was held beside the change."""
    notes = tuple(note for note in known.earlier.notes if note != FIRST_RUN or verdict.comparison is None)
    return (*notes, *not_added(known.earlier.earlier, _answers(known)))


def _answers(known: _Known) -> str:
    return _llm(known.run.settings.llm, known.ledger.snapshot())


def _verdict(evidence: Evidence) -> Verdict:
    verdict = next_step(evidence)
    if isinstance(verdict, Plan):
        raise TypeError("next_step asks for trials that ran or were refused already")
    return verdict


def _shortfall(run: GateRun, prepared: Prepared, ended: _Ended, ledger: Ledger) -> str:
    """What was asked for and not done: a fair comparison, a cost that is known, or answers that are live."""
    if ended.aftermath.altered:
        return (
            f"What system.setup made for all sides of the change was altered while they ran "
            f"({ended.aftermath.altered!r}), so they cannot be compared. Let the system leave it as it is, and write "
            "to its copy, HOME or TMPDIR."
        )
    source = source_of(run, prepared)
    asking = [one for one in ended.held.own if isinstance(one, Scored) and one.trial.scenario.script is None]
    if source == "replay" or prepared.inputs.configuration.system.costs_are_declared or not asking:
        return ""
    if _saw_no_call(prepared, ended, ledger):
        return (
            "The gateway saw no model call of the system, so what it cost is not known: let it call its models through "
            "the gateway, report their usage in its replies, or set system.price_per_turn_usd, 0 if it calls none."
        )
    if source in LIVE and not ledger.snapshot().live_calls:
        return f"No model was called, though llm is {run.settings.llm!r}: nothing was measured live."
    return ""


def _saw_no_call(prepared: Prepared, ended: _Ended, ledger: Ledger) -> bool:
    """Whether a system ran that may call models, and neither the gateway nor its replies told of any call."""
    system = prepared.inputs.configuration.system
    asking = any(isinstance(one, Scored | Errored) and one.trial.scenario.script is None for one in ended.held.own)
    known = ended.aftermath.reported_calls or any(call.party is Party.SYSTEM for call in ledger.calls)
    told = system.costs_are_declared or known
    return asking and system.replay is None and not told


def _unseen_calls(known: _Known, ended: _Ended) -> tuple[str, ...]:
    """Which calls bypassed the gateway, or that none can be ruled out."""
    reported = ended.aftermath.reported_calls
    if reported:
        what = "1 model call was" if reported == 1 else f"{reported} model calls were"
        told = (
            f"{what} reported by the system and not seen by the gateway: not recorded, not replayed, and bounded by "
            "the budget only as far as the system reported them. Whether there were more is not known."
        )
        return (Note(told, "Let the system call its models at the base URL that the gateway gives it."),)
    if not _saw_no_call(known.prepared, ended, known.ledger):
        return ()
    told = (
        "The gateway saw no model call of the system, and cannot know whether it made any: calls that bypass the "
        "gateway are neither recorded nor replayed, and their cost is not counted."
    )
    remedy = (
        "Let the system call its models at the base URL that the gateway gives it, or set system.price_per_turn_usd, "
        "0 if it calls none."
    )
    return (Note(told, remedy),)


def _silent(materials: Materials, results: Sequence[ScenarioResult], ledger: Ledger) -> tuple[str, ...]:
    """Scenarios whose recordings hold answers to the system, which made no call that the gateway saw in this run."""
    called = {call.scenario_id for call in ledger.calls if call.party is Party.SYSTEM}
    recorded = {
        name for name, lines in materials.recordings.items() if any(isinstance(line, ModelRecording) for line in lines)
    }
    ran = [one.trial.scenario for one in results if isinstance(one, Scored)]
    names = sorted({one.id for one in ran if one.script is None and one.id in recorded and one.id not in called})
    if not names or not called:
        return ()  # Where none was called at all, one note says so of the whole run.
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    told = (
        f"The gateway saw no model call in {', '.join(names[:_NAMED])}{more}, though answers are recorded for "
        f"{'it' if len(names) == 1 else 'them'}: either the system calls no model there any more, or its calls bypass "
        "the gateway and are neither recorded nor counted."
    )
    return (Note(told, "Check that every model client of the system uses the base URL that the gateway gives it."),)


def _llm(asked: str, spending: Spending) -> str:
    if asked == "record":
        return asked
    if not spending.live_calls:
        return "live" if asked == "live" and not spending.replayed_calls else "replay"
    return "mixed" if spending.replayed_calls else "live"


def _authored(materials: Materials, spending: Spending) -> tuple[str, ...]:
    """Recordings that no model ever said are never presented as if one had; nothing where none of them answered."""
    sources = [line.source for lines in materials.recordings.values() for line in lines]
    authored = sources.count("authored")
    if not authored or not spending.replayed_calls:
        return ()
    # Which of the recordings answered is known only where all answers are theirs.
    what = "recording" if spending.live_calls else "replayed answer"
    told = part_of(authored, len(sources), what, "was written", "were written")
    return (f"{told} by hand, not produced by a model.",)


async def _run(
    workshop: Workshop, materials: Materials, base: BaseOffer | str, loop: PlanLoop, interruptions: list[str]
) -> Aftermath:
    """Hold the conversations; a further signal ends what is waited for and loses nothing that is known."""
    aftermath = Aftermath()
    with cancelled_by_signals(interruptions.append), contextlib.suppress(asyncio.CancelledError):
        async with open_run(workshop, materials, base) as opened:
            await loop.hold(opened.arms)
            aftermath = await opened.conclude(loop.held.results, cancelled=bool(interruptions))
            aftermath = replace(aftermath, altered=await opened.altered())
    return aftermath


def _notes(run: GateRun, prepared: Prepared) -> tuple[str, ...]:
    notes = list(run.warnings)
    if run.choice:
        count, total = len(prepared.selection.scenarios), len(prepared.inputs.suite.scenarios)
        notes.append(f"Only {part_of(count, total, 'scenario', 'was', 'were')} asked for.")
    return tuple(notes)
