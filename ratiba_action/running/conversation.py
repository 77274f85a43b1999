"""Hold one trial's conversation in its own tenant."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ratiba_action.core.conversation_events import beginning, place_of_trial, turn_events
from ratiba_action.core.model.conversation import AnsweredCalls, Exchange, Party, Reply, ToldUsage, Transcript
from ratiba_action.core.model.event import Event, ModelCalled
from ratiba_action.core.model.plan import Trial
from ratiba_action.core.model.scenario import Turn
from ratiba_action.core.model.values import Usd
from ratiba_action.errors import ConfigurationError, RatibaError, WorkerError
from ratiba_action.ports import ModelAccess, Session
from ratiba_action.running.bench import Bench

MOST_BYTES_OF_A_PART = 256 * 1024
"""Of a reply's text, and of each tool call, document, event and structured output, as UTF-8."""
MOST_BYTES = 2 * 1024 * 1024
"""Of all replies of a scenario, and of its rows."""


class Conversation:
    """One trial's conversation in its own tenant.

    Args:
        trial: whose conversation it is.
        bench: what it is held with.
        attempt: at this trial, from 1.
    """

    def __init__(self, trial: Trial, bench: Bench, attempt: int = 1) -> None:
        self._trial = trial
        self._bench = bench
        self._attempt = attempt
        self._exchanges: list[Exchange] = []
        self._told: set[str] = set()
        self._bytes = 0

    async def hold(self) -> Transcript:
        """Provision, speak every turn, read the rows; the tenant is gone afterwards."""
        scenario, arm = self._trial.scenario, self._trial.arm
        async with self._bench.tenants.provision(scenario.id, arm, self._trial.number) as tenant:
            versions = self._bench.prompt_versions.get(arm.name, ())
            self._bench.events.emit(beginning(self._bench.events.run, self._trial, tenant, versions, self._attempt))
            access = self._bench.gateway.open_scenario(scenario.id, self._trial.number, arm.name)
            try:
                session = await self._bench.systems[arm.name].open(scenario, tenant, access.environment)
                try:
                    await self._speak(session, access)
                finally:
                    await session.close()
            finally:
                access.close()
            _raise_first(access.problems)
            rows = await self._bench.tenants.read(tenant, self._bench.rows.get(arm.name, {}))
            self._require_size(((f"rows of {name}", found) for name, found in rows.items()), MOST_BYTES)
        return Transcript(
            scenario_id=scenario.id,
            exchanges=tuple(self._exchanges),
            rows=rows,
            prompt_versions=versions,
            models=tuple(sorted({*access.models, *self._told})),
        )

    async def _speak(self, session: Session, access: ModelAccess) -> None:
        for turn in self._trial.scenario.turns:
            await self._take(turn, session, access)
        user = self._trial.scenario.simulated_user
        for ordinal in range(user.most_turns if user is not None else 0):
            message = await self._improvise(ordinal)
            if message is None:
                return
            await self._take(Turn(user=message, line=self._trial.scenario.line), session, access)

    async def _improvise(self, ordinal: int) -> str | None:
        user, simulator = self._trial.scenario.simulated_user, self._bench.simulator
        if user is None or simulator is None:
            raise ConfigurationError("Nobody plays the simulated customer.", "Configure `simulator`.")
        return await simulator.next_message(self._trial, user, self._exchanges, ordinal)

    async def _take(self, turn: Turn, session: Session, access: ModelAccess) -> None:
        scenario_id, arm = self._trial.scenario.id, self._trial.arm.name
        await self._bench.turns.before(scenario_id, arm)
        before, started = access.calls, time.monotonic()
        try:
            reply = await session.send(turn)
        except WorkerError:
            _raise_first(access.problems)
            raise
        _raise_first(access.problems)
        self._require_size(_parts(reply), MOST_BYTES_OF_A_PART)
        seconds, calls = time.monotonic() - started, access.calls
        self._told.update(call.model for call in session.told_usage)
        replayed = arm in self._bench.captured or calls.replayed > before.replayed
        self._exchanges.append(Exchange(turn, reply, seconds, None, replayed))
        try:
            past = await self._bench.turns.after(scenario_id, session.told_usage, arm)
            self._exchanges[-1] = replace(self._exchanges[-1], usd=_list_price(before, calls, past))
        finally:
            self._tell(session.told_usage)

    def _tell(self, told: Sequence[ToldUsage]) -> None:
        """Write down what happened in the last turn, the models that were asked past the gate first."""
        for call in told:
            called = ModelCalled(Party.SYSTEM.value, call.model, call.usage)
            self._bench.events.emit(Event(called, place_of_trial(self._trial)))
        earlier = self._exchanges[-2].reply if len(self._exchanges) > 1 else None
        for event in turn_events(self._trial, len(self._exchanges), self._exchanges[-1], earlier):
            self._bench.events.emit(event)

    def _require_size(self, parts: Iterator[tuple[str, Any]], most: int) -> None:
        """Refuse what is too large to be checked, masked and shown in time; cut, it could pass ``must_not_contain``."""
        turn = len(self._exchanges) + 1
        for what, value in parts:
            size = _size(value)
            self._bytes += size
            told = f"scenario {self._trial.scenario.id!r}, turn {turn}: the {what} has {size} bytes"
            remedy = "Return less, such as a page of the result, or what the model needs of it."
            if size > most:
                raise WorkerError(f"{told}; at most {most} bytes are measured, and none of it was cut.", remedy)
            if self._bytes > MOST_BYTES:
                raise WorkerError(
                    f"{told}, and all replies and rows so far {self._bytes} bytes; at most {MOST_BYTES} bytes are "
                    "measured.",
                    remedy,
                )

    def so_far(self) -> Transcript | None:
        """The conversation up to where it broke off."""
        if not self._exchanges:
            return None
        return Transcript(self._trial.scenario.id, tuple(self._exchanges))


def _parts(reply: Reply) -> Iterator[tuple[str, Any]]:
    """What a reply holds, by what it is called in a message."""
    yield "text", reply.text
    yield "state", [reply.state, reply.payment]
    for call in reply.tool_calls:
        yield f"call of the tool {call.name[:80]!r}", [call.args, call.output]
    for event in reply.events:
        yield f"event {event.type[:80]!r}", event.data
    for document in reply.documents:
        yield f"document {document.id[:80]!r}", document.text
    yield "output", reply.output


def _size(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "replace"))


def _list_price(before: AnsweredCalls, after: AnsweredCalls, past: Usd | None) -> Usd | None:
    """What a turn's model calls cost, through the gate and past it; None where one has no list price."""
    if before.usd is None or after.usd is None or past is None:
        return None
    return after.usd - before.usd + past


def _raise_first(problems: Sequence[RatibaError]) -> None:
    """A request that was not answered decides, even when the system made up a reply without it."""
    if problems:
        raise problems[0]
