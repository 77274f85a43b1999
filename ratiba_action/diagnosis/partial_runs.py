"""Finds the lines of a change that make scenarios fail, by running those scenarios on the base with parts of it."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Decimal
from types import MappingProxyType

from ratiba_action.diagnosis.changed_parts import PartialTrees, count_of_code, parts_of, prompts_among
from ratiba_action.diagnosis.delta_debugging import (
    BASE_FAILS,
    PASSES_AGAIN,
    NoFurtherStepError,
    StepOutcome,
    Subset,
    attribute,
)
from ratiba_action.diagnosis.failure_signature import (
    answer_outcome_of,
    drop_outcome_of,
    fails_alike,
    lacks_recording,
    outcome_of,
    signature,
)
from ratiba_action.diagnosis.unrecorded_requests import KeptRequests, attribute_in_units, units_of, with_advice
from ratiba_action.errors import InfrastructureError, RatibaError
from ratiba_action.llm.request_inputs import VOLATILE
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.attribution import Attribution, Explanation, Finding
from ratiba_action.model.canonical import digest
from ratiba_action.model.case_file import CaseThresholdStatus
from ratiba_action.model.conversation import ModelCall
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult
from ratiba_action.model.note import in_order
from ratiba_action.model.plan import HEAD, Arm, Trial
from ratiba_action.model.verdict import Conclusion, Report, Spending
from ratiba_action.money.budget import Ledger
from ratiba_action.run.arms import first_plan, head_inputs, scratch_folder
from ratiba_action.run.base_commit import BaseInputs, NoBase, fetch_base
from ratiba_action.run.earlier_runs import NONE
from ratiba_action.run.inputs import RunInputs, RunLog, SilentProgress, needs_judge
from ratiba_action.run.paid_run import journal_path
from ratiba_action.run.services import Measured
from ratiba_action.run.session import OpenSession, RunSession
from ratiba_action.util.interruption import current
from ratiba_action.util.text import clip
from ratiba_action.verdict.quarantine import day_of, quarantine_in_force
from ratiba_action.verdict.trials import ScenarioOutcome, Standing, outcomes_of, standing

_MESSAGE = 200
_MAX_SCENARIOS = 20
_FAILURES = frozenset({Standing.FAILED, Standing.BELOW_THRESHOLD})


def explain(
    inputs: RunInputs,
    ledger: Ledger,
    failed: Sequence[ScenarioResult] | None = None,
    *,
    open_session: OpenSession,
    max_runs: int,
    varying: Collection[str] = (),
    dropped: Mapping[str, float] = MappingProxyType({}),
    progress: Callable[[str], None] = lambda _: None,
    max_code: int | None = None,
    reported: Callable[[Measured], None] = lambda _: None,
) -> Explanation:
    """Find the parts of the change that make scenarios fail, or leave them without a recorded answer.

    Scenarios, recordings, judges and limits stay the run's own; only the files of the system under test go back to
    the base, part by part. Recorded answers of both sides are used: a request that neither recorded is a model call,
    paid from the ledger where the run has a key, and ``unresolved`` where it has none.

    Args:
        ledger: of the run, with its budget.
        failed: the results that decided; one for each scenario. None to run the selected scenarios first, and explain
            at most twenty of those that fail. What lacks a recorded answer is explained where no model is called and
            the change has a part that is no prompt: for an edited prompt, an answer is missing in any case.
        varying: ids of scenarios whose failure varies by chance; see ``varying_of``. Ignored where ``failed`` is None.
        dropped: mean score of each scenario whose scores fell, and which passes, halfway between base and change.
        progress: receives a line before the search for what ``failed``, and one after each of its runs.
        max_code: parts of files that are no prompts; a change with more of them is not explained. None for any number.
        reported: receives what is known at the end of all runs.

    Raises:
        InfrastructureError: the base cannot be read, nothing of the system differs from it, or nothing was measured.
    """
    base = inputs.base
    if isinstance(base, NoBase):
        raise InfrastructureError(f"The change cannot be compared with its base: {base.reason}.")
    with scratch_folder() as scratch:
        folder = fetch_base(inputs.decided.change, base.commit, scratch)
        parts = parts_of(inputs, folder)
        if max_code is not None and (not parts or count_of_code(inputs, parts) > max_code):
            return Explanation()
        if not parts:
            raise InfrastructureError(
                "No file of the system under test differs from the base, so no line of it can be the cause.",
                "Compare the scenarios: git diff on the scenarios folder.",
            )
        units = units_of(parts, prompts_among(inputs, parts)) if inputs.llm == Llm.REPLAY else ()
        if failed is not None and not units:
            failed = [result for result in failed if standing(result) is not Standing.UNMEASURED]
            if not failed:
                return Explanation()
        selected = [result.trial.scenario for result in failed or ()] or inputs.selection.scenarios
        judged = {scenario.id: scenario for scenario in selected}
        trees = PartialTrees(inputs, base, parts, folder, scratch, judged)
        runs = _PartialRuns(
            trees=trees,
            units=units,
            ledger=ledger,
            open_session=open_session,
            max_runs=max_runs,
            progress=progress,
            varying=varying,
            dropped=dropped,
        )
        before = ledger.spent
        if failed is not None:
            progress("Looking for the lines that did it, in more runs with parts of the change taken back …")
        with current().noting():
            scenarios = asyncio.run(runs.causes(failed, reported))
        texts = runs.requests.new_prompt_lines(scenarios, (frozenset(range(len(parts))), 0))
        prompts = prompts_among(inputs, parts)
        shown = tuple(replace(part.shown, prompt=part.path in prompts or part.holds_any(texts)) for part in parts)
        return Explanation(shown, scenarios, runs.count, ledger.spent - before, runs.left_out)


def varying_of(inputs: RunInputs, results: Sequence[ScenarioResult], calls: Sequence[ModelCall]) -> frozenset[str]:
    """Ids of scenarios whose outcome may vary by chance: trials differ, or a model was called that is called again.

    Args:
        calls: of the run; a recorded answer to the change's request is none to that of a part of it.
    """
    differ = {
        outcome.scenario.id
        for outcome in outcomes_of(results)
        if len({standing(trial) is Standing.PASSED for trial in outcome.trials if not isinstance(trial, NotRun)}) > 1
    }
    if inputs.llm == Llm.REPLAY:
        return frozenset(differ)
    mocked = {scenario.id for scenario in inputs.suite.scenarios if scenario.script is not None}
    called = {call.scenario_id for call in calls if not (call.replayed and call.scenario_id in mocked)}
    # A score that was known from an earlier run is none of a part of the change.
    judged = {result.trial.scenario.id for result in results if needs_judge(result.trial.scenario)}
    return frozenset(differ | called | judged)


FEW_PARTS = 20
"""Parts of code, besides any number of parts of prompts, up to which the gate looks for the cause by itself."""
_FEW_SCENARIOS = 5
_MAX_SECONDS = 600.0
"""Whoever waits for the comment of a failed run waits no longer for this."""
_SHARE = Decimal("0.25")
_EXACT = Decimal("1e-12")
_BASE_FAILS = Attribution(Finding.NONE, why=BASE_FAILS)


def with_explanation(
    report: Report,
    inputs: RunInputs,
    log: RunLog,
    ledger: Ledger,
    seconds: float | None,
    *,
    open_session: OpenSession,
    base: Sequence[ScenarioResult] = (),
    show: Callable[[str], None] = lambda _: None,
) -> Report:
    """The report of a run with the lines that make its scenarios fail, or leave them without a recorded answer.

    Any other report stays as it is. The verdict's conclusion does, too; what to do names the lines of code that change
    a request. Whatever goes wrong is a note.

    Args:
        log: of the run; what goes wrong is added to its warnings.
        ledger: of the run; the attribution has its own, lower cap within the run's.
        seconds: that are left until the deadline; None for any number.
        base: what is known of the base; what it fails in the same way is not searched for.
        show: receives a line before the search, and one after each of its runs.
    """
    block, noted = inputs.configuration.attribution, len(log.warnings)
    failed = _failures(report, inputs) if block.enabled else []
    shared_failures = {each.trial.scenario.id: _BASE_FAILS for each in failed if fails_alike(each, base)}
    failed = [each for each in failed if each.trial.scenario.id not in shared_failures]
    dropped = _dropped(report) if block.enabled else {}
    failed += [each for each in _passing(report, inputs, dropped) if each not in failed]
    failed += _unrecorded(report, inputs) if block.enabled else []
    if shared_failures:
        report = replace(report, explanation=Explanation(scenarios=shared_failures))
    if not failed or (seconds is not None and seconds <= 0):
        return report
    seconds = min(_MAX_SECONDS, _MAX_SECONDS if seconds is None else seconds)
    left = max(ledger.allowed - ledger.spent, Decimal(0))
    maximum = (left * _SHARE).quantize(_EXACT, ROUND_FLOOR) if block.budget_usd is None else min(block.budget_usd, left)
    seen: list[Measured] = []
    explanation: Explanation | None = None
    try:
        with ledger.limited_to(maximum):
            explanation = explain(
                replace(inputs, seconds=seconds),
                ledger,
                failed[:_FEW_SCENARIOS],
                open_session=open_session,
                max_runs=block.max_steps,
                varying=varying_of(inputs, report.results, ledger.calls),
                dropped=dropped,
                max_code=FEW_PARTS,
                reported=seen.append,
                progress=show,
            )
    except Exception as error:  # noqa: BLE001 - nothing that goes wrong here may change the verdict
        log.note(f"Which lines make scenarios fail is not known: {type(error).__name__}: {clip(str(error), _MESSAGE)}")
    if explanation is not None:
        # Of a change of prompts alone, what lacks a recorded answer needs no explanation.
        searched = any(cause.unrecorded for cause in explanation.scenarios.values())
        more = [each for each in failed[_FEW_SCENARIOS:] if searched or standing(each) is not Standing.UNMEASURED]
        left_out = tuple(result.trial.scenario.id for result in more)
        found = {**shared_failures, **explanation.scenarios}
        explanation = replace(explanation, scenarios=found, left_out=left_out) if found else None
    report = report if explanation is None else with_advice(report, explanation)
    shared = [each.shared_spending for each in seen if each.shared_spending]
    return replace(
        report,
        explanation=explanation or report.explanation,
        spending=_with_paid(report.spending, ledger.snapshot()),
        shared_spending=shared[-1] if shared else report.shared_spending,
        notes=in_order((*report.notes, *log.warnings[noted:], *set(ledger.breaches).difference(report.notes))),
    )


def _with_paid(before: Spending, after: Spending) -> Spending:
    """The spending of the run with what the attribution paid; what it replayed says nothing of the run's price."""
    list_price = before.list_price + after.spent - before.spent
    return replace(after, list_price=list_price, replayed_calls=before.replayed_calls, cache_hits=before.cache_hits)


def _failures(report: Report, inputs: RunInputs) -> list[ScenarioResult]:
    """The deciding results of scenarios that failed and can be run on the base, the gravest first."""
    if report.verdict.conclusion is not Conclusion.FAILED:
        return []
    failed = [outcome for outcome in _deciding(report, inputs) if outcome.standing in _FAILURES]
    failed.sort(key=lambda outcome: (not outcome.scenario.critical, -outcome.standing))
    return [outcome.deciding for outcome in failed]


def _dropped(report: Report) -> dict[str, float]:
    """Scenarios whose scores fell where nothing varies by chance, each with the mean score halfway to the base's."""
    found = report.verdict.comparison
    if found is None or not found.exact or report.verdict.conclusion is not Conclusion.FAILED:
        return {}
    fallen = [each for each in found.scenarios if each.dropped_again]
    thresholds = (threshold for cases in report.data_sets for threshold in cases.gates)
    if not fallen and any(threshold.status is CaseThresholdStatus.FAILED for threshold in thresholds):
        # Small drops of some cases add up; the largest one stands for them.
        lower = (each for each in found.scenarios if each.head < each.base)
        fallen = sorted(lower, key=lambda each: each.head - each.base)[:1]
    return {each.scenario_id: (each.base + each.head) / 2 for each in fallen}


def _passing(report: Report, inputs: RunInputs, dropped: Collection[str]) -> list[ScenarioResult]:
    """The deciding results of these scenarios that pass, such as cases of which only the share decides."""
    return [
        outcome.deciding
        for outcome in (_deciding(report, inputs) if dropped else ())
        if outcome.scenario.id in dropped and outcome.standing is Standing.PASSED
    ]


def _unrecorded(report: Report, inputs: RunInputs) -> list[ScenarioResult]:
    """The deciding results that lack a recorded answer, where no model is called; critical scenarios first."""
    if inputs.llm != Llm.REPLAY or report.verdict.conclusion not in (Conclusion.FAILED, Conclusion.INCOMPLETE):
        return []
    found = [outcome.deciding for outcome in _deciding(report, inputs) if _is_unrecorded(outcome)]
    if (base := _compared_base(inputs)) is not None:
        # Their results were left out, since they ran only because they cost nothing.
        arm, known = Arm(HEAD, str(inputs.repository)), {scenario.id: scenario for scenario in inputs.suite.scenarios}
        unfit = [known[name] for name in report.unfit if name in known and name in base.scenarios]
        found += [Errored(Trial(scenario, arm, 0), Phase.RECORDING, "") for scenario in unfit]
    found.sort(key=lambda result: not result.trial.scenario.critical)
    return found


def _is_unrecorded(outcome: ScenarioOutcome) -> bool:
    return outcome.standing is Standing.UNMEASURED and lacks_recording(outcome.deciding)


def _compared_base(inputs: RunInputs) -> BaseInputs | None:
    """The base that the change can be compared with part by part; None where there is none."""
    if isinstance(inputs.base, NoBase) or inputs.variant or inputs.llm == Llm.RECORD:
        return None
    return None if inputs.settings.baseline == NONE or current().name is not None else inputs.base


def _deciding(report: Report, inputs: RunInputs) -> list[ScenarioOutcome]:
    """Outcomes that decide, of scenarios that can be run on the base."""
    base = _compared_base(inputs)
    if base is None:
        return []
    day = day_of(inputs.started_at)
    return [
        outcome
        for outcome in outcomes_of(report.results)
        if outcome.scenario.id in base.scenarios and quarantine_in_force(outcome.scenario, day) is None
    ]


@dataclass(slots=True, kw_only=True)
class _PartialRuns:
    """Runs scenarios on the base with parts of the change; database, worker and libraries are started once.

    Args:
        units: groups of parts that are applied together where a recorded answer is looked for.
        varying: ids of scenarios whose failure varies by chance.
        unrecorded: ids of scenarios that lack a recorded answer.
        dropped: see ``explain``.
        left_out: ids of failing scenarios that are not explained.
    """

    trees: PartialTrees
    units: Sequence[Subset]
    ledger: Ledger
    open_session: OpenSession
    max_runs: int
    progress: Callable[[str], None]
    varying: Collection[str]
    dropped: Mapping[str, float]
    signatures: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unrecorded: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()
    requests: KeptRequests = field(default_factory=KeptRequests)
    known: dict[Subset, list[Mapping[str, StepOutcome]]] = field(default_factory=dict)
    schemas: dict[Subset, Arm] = field(default_factory=dict)
    session: RunSession | None = None

    @property
    def count(self) -> int:
        """How often a combination was run."""
        return sum(map(len, self.known.values()))

    async def causes(
        self, failed: Sequence[ScenarioResult] | None, reported: Callable[[Measured], None]
    ) -> dict[str, Attribution]:
        """The cause of each scenario's failure.

        The search waits for one run after the other, so it has a thread of its own.

        Args:
            failed: see ``explain``.
            reported: see ``explain``.
        """
        loop, inputs = asyncio.get_running_loop(), self.trees.inputs
        async with contextlib.AsyncExitStack() as stack:
            partial = stack.enter_context(self.trees.written("change", self._whole))
            if partial is not None:
                stack.callback(journal_path(partial.repository, inputs.environment).unlink, missing_ok=True)
                session = self._session(partial)
                with session.cancelled_by_signals(), contextlib.suppress(asyncio.CancelledError):
                    self.session = await stack.enter_async_context(session)
                    if failed is None:
                        self.requests.of = self._whole, -1
                        failed = await self._first_failures(partial, session)
            if failed is None:
                raise InfrastructureError("The run was cancelled before the scenarios had run with the whole change.")
            self.signatures = {result.trial.scenario.id: signature(result) for result in failed}
            unmeasured = [result for result in failed if standing(result) is Standing.UNMEASURED]
            self.unrecorded = frozenset(result.trial.scenario.id for result in unmeasured)
            judged = {result.trial.scenario.id: result.trial.scenario for result in failed}
            self.trees = replace(self.trees, scenarios=judged)
            found = await asyncio.to_thread(self._causes, loop)
            if self.session is not None:
                reported(await self.session.finish(Measured()))
        return found

    @property
    def _whole(self) -> Subset:
        return frozenset(range(len(self.trees.parts)))

    def _session(self, partial: RunInputs) -> RunSession:
        """What runs every combination; the whole change is its first arm."""
        head, scratch = head_inputs(partial), self.trees.scratch
        log = RunLog(SilentProgress(), asked=self.requests.keep)
        self.schemas[self._whole] = head.arm
        return self.open_session(partial, head, ledger=self.ledger, log=log, scratch=scratch)

    async def _first_failures(self, partial: RunInputs, session: RunSession) -> Sequence[ScenarioResult]:
        """Run the selected scenarios with the whole change; the results that decide of those that fail."""
        results = await session.run(first_plan(partial, head_inputs(partial), measured=False))
        outcomes = outcomes_of(results)
        failed = [each.deciding for each in outcomes if each.standing in _FAILURES]
        failed += [each.deciding for each in outcomes if self.units and _is_unrecorded(each)]
        unmeasured = [each.deciding for each in outcomes if each.standing is Standing.UNMEASURED]
        if unmeasured and not failed:
            ended = unmeasured[0]
            why = ended.reason if isinstance(ended, NotRun) else getattr(ended, "message", "it was not measured")
            raise InfrastructureError(f"{ended.trial.scenario.id}: {clip(why, _MESSAGE)}", "Run it first: ratiba gate")
        self.varying = varying_of(self.trees.inputs, results, self.ledger.calls)
        self.left_out = tuple(result.trial.scenario.id for result in failed[_MAX_SCENARIOS:])
        return failed[:_MAX_SCENARIOS]

    def _causes(self, loop: asyncio.AbstractEventLoop) -> dict[str, Attribution]:
        return {name: self._cause(name, loop, by_chance=name in self.varying) for name in self.signatures}

    def _cause(self, name: str, loop: asyncio.AbstractEventLoop, *, by_chance: bool) -> Attribution:
        """The cause of one scenario's failure; it is repeated where it varies, or turns out to."""
        count, asked = len(self.trees.parts), Counter[Subset]()

        def once(subset: Subset) -> StepOutcome:
            return self._outcomes(subset, 0, loop).get(name, StepOutcome.UNRESOLVED)

        def again(subset: Subset) -> StepOutcome:
            asked[subset] += 1
            # A run for another scenario is none that this one was asked for yet.
            return self._outcomes(subset, asked[subset] - 1, loop).get(name, StepOutcome.UNRESOLVED)

        if name in self.unrecorded:
            found = attribute_in_units(self.units, once)
            return replace(found, request=self._changed_request(name, found, loop))
        if not by_chance:
            found = attribute(count, once)
            if found.why != PASSES_AGAIN:
                return found
        # Loads NumPy, which a failure that does not vary can do without.
        from ratiba_action.diagnosis.bayesian_search import attribute_by_chance

        return attribute_by_chance(count, again, seed=int(digest(name)[:8], 16))

    def _changed_request(self, name: str, found: Attribution, loop: asyncio.AbstractEventLoop) -> str:
        """What differs in the request; it is sent again where only that shows whether its time is a clock's."""
        whole, alone = self._whole, frozenset(found.parts) if found.finding is Finding.FOUND else self._whole
        request = self.requests.difference(name, (whole, 0), (alone, 0))
        if VOLATILE not in request or alone != whole:
            return request
        with contextlib.suppress(NoFurtherStepError):
            self._outcomes(whole, 1, loop)
        return self.requests.difference(name, (whole, 0), (whole, 1))

    def _outcomes(self, subset: Subset, number: int, loop: asyncio.AbstractEventLoop) -> Mapping[str, StepOutcome]:
        known = self.known.setdefault(subset, [])
        if number >= len(known):
            if self.count >= self.max_runs:
                raise NoFurtherStepError(f"the limit of {self.max_runs} runs was reached")
            with self.trees.written(f"parts-{self.count}", subset) as partial:
                self.requests.of = subset, number
                known.append({} if partial is None else self._run(partial, subset, loop))
            self.progress(_step(self.count, subset, len(self.trees.parts), known[-1]))
        return known[number]

    def _run(self, partial: RunInputs, subset: Subset, loop: asyncio.AbstractEventLoop) -> Mapping[str, StepOutcome]:
        cancelled = NoFurtherStepError("the run was cancelled")
        if current().name is not None or self.session is None:
            raise cancelled
        try:
            running = self._results(partial, subset, self.session)
            results = asyncio.run_coroutine_threadsafe(running, loop).result()
        except RatibaError as error:
            # Most often parts that do not fit together; the reader sees where it is something else.
            self.progress(f"could not be run: {clip(error.problem, _MESSAGE)}")
            return {}
        except CancelledError as error:
            raise cancelled from error
        refused = [result for result in results if isinstance(result, NotRun)]
        if refused:
            raise NoFurtherStepError(refused[0].reason)
        deciding = {outcome.scenario.id: outcome.deciding for outcome in outcomes_of(results)}
        return {name: self._outcome(name, result) for name, result in deciding.items()}

    def _outcome(self, name: str, result: ScenarioResult) -> StepOutcome:
        if name in self.unrecorded:
            return answer_outcome_of(result)
        if not self.signatures[name] and name in self.dropped:
            return drop_outcome_of(result, self.dropped[name])
        return outcome_of(result, self.signatures[name])

    async def _results(self, partial: RunInputs, subset: Subset, session: RunSession) -> Sequence[ScenarioResult]:
        arm = head_inputs(partial)
        arm = replace(arm, arm=Arm(partial.repository.name, arm.arm.root))
        with session.cancelled_by_signals():
            async with session.services.arms.open(arm, self.schemas.get(subset)):
                self.schemas.setdefault(subset, arm.arm)
                return await session.run(first_plan(partial, arm, measured=False))


def _step(number: int, subset: Subset, total: int, outcomes: Mapping[str, StepOutcome]) -> str:
    what = "the base" if not subset else f"{len(subset)} of {total} parts of the change"
    ended = ", ".join(f"{name} {outcome.value}" for name, outcome in sorted(outcomes.items()))
    return f"run {number}: {what}: {ended or 'could not be run'}"
