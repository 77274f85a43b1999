"""Run one trial of a scenario in its own tenant."""

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace

from ratiba_action.checks.checks import check_so_far, check_transcript, is_of_code
from ratiba_action.checks.conversation_events import beginning, place_of_trial, turn_events
from ratiba_action.checks.request_checks import RequestSearch
from ratiba_action.checks.row_checks import FoundRows, check_rows, matching_rows, sql_of, what_of
from ratiba_action.checks.turn_checks import check_turn
from ratiba_action.errors import (
    ConfigurationError,
    DatabaseError,
    QueryError,
    RatibaError,
    RecordingError,
    WorkerError,
    WorkerTimeoutError,
)
from ratiba_action.model.conversation import (
    AnsweredCalls,
    CustomerEnding,
    Exchange,
    Party,
    ReportedUsage,
    Transcript,
)
from ratiba_action.model.event import Event, ModelCalled
from ratiba_action.model.measurement import Check, Phase
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.plan import Tenant, Trial
from ratiba_action.model.scenario import ExpectedRows, Layer, SimulatedUser, Turn
from ratiba_action.model.values import Usd
from ratiba_action.ports import ModelAccess, Session
from ratiba_action.run.reply_size import MAX_BYTES, MAX_BYTES_OF_A_PART, ReplySize, parts_of
from ratiba_action.run.services import RunServices
from ratiba_action.util.instants import clock_of
from ratiba_action.util.patterns import SearchTime
from ratiba_action.util.text import plural


class TrialConversation:
    """One trial's conversation in its own tenant.

    Args:
        attempt: at this trial, from 1.
    """

    def __init__(self, trial: Trial, services: RunServices, attempt: int = 1) -> None:
        self._trial = trial
        self._services = services
        self._arm = services.arms[trial.arm.name]
        self._events = services.log.events
        self._attempt = attempt
        self._exchanges: list[Exchange] = []
        self._stand_ins: list[Exchange] = []
        self._row_checks: list[Check] = []
        self._suspected_rows: list[Check] = []
        self._goal_checks: list[Check] = []
        self._requests = RequestSearch(trial.scenario.rules)
        self._reported_calls = 0
        self._ended = False
        self._whole = False
        self._broken_turn = 0
        self._reported_models: set[str] = set()
        self._size = ReplySize(trial.scenario.id)
        self._refused: Sequence[RatibaError] = ()
        self._unasked: Sequence[RatibaError] = ()

    @property
    def turn(self) -> int:
        """Number of the turn that is going on, from 1."""
        return len(self._exchanges) + 1

    def phase_of(self, error: Exception) -> Phase:
        """Where the conversation ended in an error whose kind does not tell."""
        if any(error is refused for refused in self._refused):
            return Phase.REQUEST
        return Phase.CONFIGURATION if isinstance(error, ConfigurationError) else Phase.INTERNAL

    async def run(self) -> Transcript:
        """Provision, speak every turn, read the rows; the tenant is gone afterwards."""
        scenario, arm = self._trial.scenario, self._arm.template or self._trial.arm
        async with self._services.tenants.provision(scenario.id, arm, self._trial.number) as tenant:
            versions = self._arm.prompt_versions
            # The clock of a sampled conversation is the time at which it began in production.
            began = scenario.now if self._arm.captured and scenario.layer is Layer.PRODUCTION else None
            begun = beginning(
                self._events.run, self._trial, tenant, versions, self._attempt, self._arm.prompt_blobs, began
            )
            self._events.emit(begun)
            access = self._open_access()
            try:
                try:
                    session = await self._open(tenant, access)
                except WorkerError:
                    _raise_first(access)
                    raise
                try:
                    ended = await self._speak(session, access, tenant)
                finally:
                    await session.close()
            finally:
                refused = access.problems
                access.close()
                self._refused = access.problems
                self._unasked = access.problems[len(refused) :]
            if access.stale is None and refused:
                raise refused[0]
            self._ended = ended and not refused
            if self._ended:
                await self._check_rows(scenario.rows, tenant, 0, stand_in=access.stale is not None)
            if access.stale is not None:
                raise access.stale
            rows = await self._services.tenants.read(tenant, self._arm.rows)
            self._size.require(((f"rows of {name}", found) for name, found in rows.items()), MAX_BYTES, self.turn)
        self._whole = True
        return Transcript(
            scenario_id=scenario.id,
            exchanges=tuple(self._exchanges),
            rows=rows,
            prompt_versions=versions,
            models=tuple(sorted({*access.models, *self._reported_models})),
        )

    async def _open(self, tenant: Tenant, access: ModelAccess) -> Session:
        scenario, arm = self._trial.scenario, self._arm
        if scenario.test is None:
            return await arm.system.open(scenario, tenant, access.environment)
        if arm.tests is None:
            raise ConfigurationError(f"Nothing can run the test {scenario.test.node!r}.", "Run: ratiba gate")
        judge = self._services.calls.judge_of(self._trial)
        return await arm.tests.open_test(scenario, tenant, access.environment, judge)

    def _open_access(self) -> ModelAccess:
        """The trial's way to its models; each of its requests is searched on the way."""
        trial, requests, reads = self._trial, self._requests, self._services.reads

        def seen(request: ModelRequest) -> None:
            requests.look(request, stand_in=access.stale is not None)
            reads.sent(trial, requests.turn, request)

        access = self._services.gateway.open_scenario(
            trial.scenario.id,
            trial.number,
            trial.arm.name,
            seen=seen,
        )
        return access

    @property
    def goal_checks(self) -> tuple[Check, ...]:
        """Whether the simulated customer reached the goal; nothing without one, or where the scenario does not ask."""
        return tuple(self._goal_checks)

    @property
    def row_checks(self) -> tuple[Check, ...]:
        """The assertions on rows, of completed turns and after the conversation."""
        return tuple(self._row_checks)

    @property
    def request_checks(self) -> tuple[Check, ...]:
        """The rules about requests to models: all of them after a whole conversation, those that are decided before."""
        return self._requests.checks(whole=self._whole and not self._unseen())

    @property
    def unasked(self) -> Sequence[RatibaError]:
        """That the system did not ask for every step of its script, though the conversation went to its end."""
        return self._unasked

    def unseen_requests(self) -> tuple[ConfigurationError, ...]:
        """That rules about requests could not be measured, since models may have been called unseen; or nothing."""
        rules, why = " and ".join(self._requests.undecided), self._unseen()
        if not rules or not why:
            return ()
        remedy = (
            "Let the system call its models at the base URL that the gateway gives it. If it calls none here, give the "
            "scenario `layer: fsm` and `script: []`, or set system.price_per_turn_usd to 0 if it never calls one."
        )
        return (ConfigurationError(f"{rules} could not be measured: {why}.", remedy),)

    def _unseen(self) -> str:
        """Why it is not known what was sent to models; empty where it is."""
        declared = self._arm.declared_usd
        if self._arm.captured:
            return "the replies were captured earlier, so that no model is called"
        if self._reported_calls:
            return f"the system reported {self._reported_calls} of its model calls as made without the gateway"
        if declared:
            return "system.price_per_turn_usd declares model calls that bypass the gateway"
        if self._requests.requests or declared is not None or self._trial.scenario.script is not None:
            return ""
        return "the gateway saw no model call, and cannot know whether the system made any"

    def checks_so_far(self, time: SearchTime) -> tuple[Check, ...]:
        """What is known of a conversation that ended early: the assertions of the turns that were completed."""
        transcript, known = self.so_far(), (*self.row_checks, *self.request_checks)
        if transcript is None:
            return known
        try:
            return (*check_so_far(self._trial.scenario, transcript, self._services.detect_language, time), *known)
        except ConfigurationError:
            return known  # why the conversation ended early is reported already

    def suspected(self, time: SearchTime) -> tuple[Check, ...]:
        """What the code did against an assertion after the turns that were completed with answers that fit."""
        exact, scenario = len(self._exchanges), self._trial.scenario
        whole = Transcript(scenario.id, (*self._exchanges, *self._stand_ins))
        try:
            check = check_transcript if self._ended else check_so_far
            found = check(scenario, whole, self._services.detect_language, time) if self._stand_ins else ()
        except ConfigurationError:
            found = ()
        found += (*self._of_the_broken_turn(), *self._requests.suspected(ended=self._ended))
        later = (check for check in (*found, *self._suspected_rows) if not check.turn or check.turn > exact)
        return tuple(replace(check, stand_in=True) for check in later if not check.passed and is_of_code(check))

    def _of_the_broken_turn(self) -> tuple[Check, ...]:
        """The assertions of a turn that ended in an error of the code itself: none of them came true."""
        turns = self._trial.scenario.turns
        if not 0 < self._broken_turn <= len(turns):
            return ()
        clock, turn = clock_of(self._trial.scenario), turns[self._broken_turn - 1]
        asserted = replace(turn, expect=replace(turn.expect, language=None))
        return tuple(
            replace(check, got="(the turn ended in an error)")
            for check in check_turn(self._broken_turn, asserted, None, clock)
        )

    async def _speak(self, session: Session, access: ModelAccess, tenant: Tenant) -> bool:
        """Take every turn; False where recorded answers stand in and the conversation could not be ended with them."""
        for number, turn in enumerate(self._trial.scenario.turns, 1):
            self._requests.turn = number
            try:
                taken = await self._take(turn, session, access)
            except RatibaError as error:
                self._broken_turn = number if self._is_of_code(error) else 0
                await self._look_for_more_rows(turn.expect.rows, tenant, number)
                raise
            if not taken:
                await self._look_for_more_rows(turn.expect.rows, tenant, number)
                return False
            await self._check_rows(turn.expect.rows, tenant, number, stand_in=access.stale is not None)
        if access.stale is not None:
            # What a simulated customer would write depends on what was said.
            return self._trial.scenario.simulated_user is None
        user = self._trial.scenario.simulated_user
        return user is None or await self._speak_freely(user, session, access)

    async def _speak_freely(self, user: SimulatedUser, session: Session, access: ModelAccess) -> bool:
        """Take the simulated customer's turns; False where recorded answers stand in and it could not be ended."""
        line = self._trial.scenario.line
        for ordinal in range(user.max_turns):
            self._requests.turn += 1
            message = await self._improvise(ordinal)
            if isinstance(message, CustomerEnding):
                self._goal_checks += _goal_checks(user, message, ordinal, line)
                return True
            if not await self._take(Turn(user=message, line=line), session, access):
                return False
        # Only the customer can tell what the last reply came to.
        if user.must_reach_goal:
            message = await self._improvise(user.max_turns)
            self._goal_checks += _goal_checks(user, message, user.max_turns, line)
        return True

    async def _check_rows(self, expected: Sequence[ExpectedRows], tenant: Tenant, turn: int, *, stand_in: bool) -> None:
        """Read the rows that a turn or the scenario asserts on, as the tenant, and compare them."""
        for rows in expected:
            check = check_rows(rows, await self._read(rows, tenant), turn, clock_of(self._trial.scenario))
            (self._suspected_rows if stand_in else self._row_checks).append(check)

    def _is_of_code(self, error: RatibaError) -> bool:
        """Whether a turn ended by what the code did: it raised, or it called a scripted model more or less often."""
        if isinstance(error, RecordingError):
            return self._trial.scenario.script is not None
        return isinstance(error, WorkerError) and not isinstance(error, WorkerTimeoutError)

    async def _look_for_more_rows(self, expected: Sequence[ExpectedRows], tenant: Tenant, turn: int) -> None:
        """Look for more rows than a turn that did not end may leave; fewer say nothing, since it was not done yet."""
        clock = clock_of(self._trial.scenario)
        with contextlib.suppress(RatibaError):  # why the turn did not end says more
            for rows in expected:
                found = await self._read(rows, tenant)
                if rows.count is not None and len(matching_rows(rows, found, clock)) > rows.count:
                    self._suspected_rows.append(check_rows(rows, found, turn, clock))

    async def _read(self, expected: ExpectedRows, tenant: Tenant) -> FoundRows:
        name = what_of(expected)
        try:
            found = (await self._services.tenants.read(tenant, {name: sql_of(expected)}))[name]
        except QueryError as error:
            return FoundRows(problem=error.reason)
        except DatabaseError as error:
            place = f"{self._trial.scenario.path}:{expected.line}"
            raise DatabaseError(error.problem, f"Look at the assertion on rows at {place}.") from error
        self._size.require([(f"rows of the assertion {name!r}", found)], MAX_BYTES, self.turn)
        return FoundRows(tuple(found))

    async def _improvise(self, ordinal: int) -> str | CustomerEnding:
        user, simulator = self._trial.scenario.simulated_user, self._services.simulator
        if user is None or simulator is None:
            raise ConfigurationError("No model is configured for the simulated customer.", "Configure `simulator`.")
        return await simulator.next_message(self._trial, user, self._exchanges, ordinal)

    async def _take(self, turn: Turn, session: Session, access: ModelAccess) -> bool:
        """Send a turn and keep its exchange; False where recorded answers stand in and the system stopped at one."""
        scenario_id, arm = self._trial.scenario.id, self._trial.arm.name
        await self._services.turns.before(scenario_id, arm)
        self._services.reads.note_message(self._trial, turn.user)
        before, started = access.calls, time.monotonic()
        try:
            reply = await session.send(turn)
        except WorkerError:
            if access.stale is not None:
                return False
            _raise_first(access)
            raise
        if access.stale is not None:
            self._stand_ins += [Exchange(turn, reply, replayed=True)] if not access.problems else []
            return not access.problems
        _raise_first(access)
        self._size.require(parts_of(reply), MAX_BYTES_OF_A_PART, self.turn)
        seconds, calls = time.monotonic() - started, access.calls
        self._reported_models.update(call.model for call in session.reported_usage)
        self._reported_calls += len(session.reported_usage)
        replayed = self._arm.captured or calls.replayed > before.replayed
        self._exchanges.append(Exchange(turn, reply, seconds, None, replayed, cut=_cut(before, calls)))
        try:
            bypassing = await self._services.turns.after(scenario_id, session.reported_usage, arm)
            self._exchanges[-1] = replace(
                self._exchanges[-1],
                usd=_list_price(before, calls, bypassing),
                calls=calls.count - before.count + len(session.reported_usage),
                usage=sum((call.usage for call in session.reported_usage), calls.usage - before.usage),
            )
        finally:
            self._tell(session.reported_usage)
        return True

    def _tell(self, reported: Sequence[ReportedUsage]) -> None:
        """Write down what happened in the last turn, the model calls that bypass the gateway first."""
        for call in reported:
            called = ModelCalled(Party.SYSTEM.value, call.model, call.usage, provider=call.provider)
            self._events.emit(Event(called, place_of_trial(self._trial)))
        earlier = self._exchanges[-2].reply if len(self._exchanges) > 1 else None
        for event in turn_events(self._trial, len(self._exchanges), self._exchanges[-1], earlier):
            self._events.emit(event)

    def so_far(self) -> Transcript | None:
        """The conversation up to where it errored."""
        if not self._exchanges:
            return None
        return Transcript(self._trial.scenario.id, tuple(self._exchanges))


def _goal_checks(user: SimulatedUser, ending: str | CustomerEnding, messages: int, line: int) -> list[Check]:
    if not user.must_reach_goal:
        return []
    after = f"after {plural(messages, 'message')} of the customer"
    reached = ending is CustomerEnding.GOAL_REACHED
    why = "reached" if reached else "not reached"
    gave_up = ": the customer gave it up" if ending is CustomerEnding.GAVE_UP else ""
    expected = f"reached within {user.max_turns} messages (max_turns)"
    return [
        Check(
            "goal", 0, "goal of the simulated customer", expected, f"{why} {after}{gave_up}", passed=reached, line=line
        )
    ]


def _cut(before: AnsweredCalls, after: AnsweredCalls) -> str:
    """How an answer of a turn was cut at its output limit; the last one is the reply, as far as the gateway knows."""
    for number, cut in reversed(after.cuts[len(before.cuts) :]):
        return f"{'the reply' if number == after.count else 'an earlier answer of a model in this turn'} {cut}"
    return ""


def _list_price(before: AnsweredCalls, after: AnsweredCalls, bypassing: Usd | None) -> Usd | None:
    """What a turn's model calls cost, through the gate and past it; None where one has no list price."""
    if before.usd is None or after.usd is None or bypassing is None:
        return None
    return after.usd - before.usd + bypassing


def _raise_first(access: ModelAccess) -> None:
    """A request that was not answered decides, even when the system made up a reply without it."""
    if access.problems:
        raise access.problems[0]
