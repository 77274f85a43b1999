"""One conversation of ``ratiba chat`` with the system under test, in a tenant of its own."""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from ratiba_action.errors import RatibaError, WorkerError
from ratiba_action.llm.answers import recording_of
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.model.conversation import Exchange
from ratiba_action.model.model_request import ModelAnswer, ModelRequest
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Scenario, Turn
from ratiba_action.model.values import JsonObject, Usd
from ratiba_action.ports import ModelAccess, Session
from ratiba_action.run.reply_size import MAX_BYTES_OF_A_PART, ReplySize, parts_of
from ratiba_action.run.services import RunServices

_TABLES = "tables"
_LIST_TABLES = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    " AND table_type = 'BASE TABLE' ORDER BY table_name"
)
_NOT_THE_SYSTEMS = ("alembic_version", "checkpoint", "django_migrations")
"""Beginnings of names of tables in which libraries keep their own state."""
MAX_ROWS = 200
"""Rows of a table that are compared; larger tables are left out."""

Rows = Mapping[str, tuple[JsonObject, ...]]


@dataclass(frozen=True, slots=True)
class RowChange:
    """How a turn changed a table.

    Args:
        added: rows that were not there before, a changed row among them.
        removed: rows that are no longer there.
        now: all rows after the turn.
    """

    table: str
    added: tuple[JsonObject, ...] = ()
    removed: tuple[JsonObject, ...] = ()
    now: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of one turn.

    Args:
        state_before: of the turn before; None where there was none.
        answers: how many model answers the conversation had once the turn was over.
    """

    exchange: Exchange
    state_before: str | None
    rows: tuple[RowChange, ...]
    answers: int


class KeptAnswers:
    """Keeps every model answer of every conversation, so that it can be given again without paying again.

    ``keep`` is a run's ``RunLog.answered``.
    """

    def __init__(self) -> None:
        self._known: dict[str, dict[tuple[str, int], ModelRecording]] = {}
        self._kept: dict[str, list[ModelRecording]] = {}

    def begin(self, arm: str, lines: Sequence[ModelRecording]) -> None:
        """Note the lines that an arm's next conversation is answered from: given again, they stay what they are."""
        self._known[arm] = {(line.key, line.ordinal): line for line in lines}
        self._kept[arm] = []

    def keep(self, request: ModelRequest, answer: ModelAnswer) -> None:
        """Keep one answer."""
        known = self._known.get(request.arm, {}).get((request.key, request.ordinal)) if answer.replayed else None
        self._kept.setdefault(request.arm, []).append(known or recording_of(request, answer))

    def of(self, arm: str) -> tuple[ModelRecording, ...]:
        """The answers of an arm's conversation, in order."""
        return tuple(self._kept.get(arm, ()))


class ChatConversation:
    """A conversation that is going on. Made by ``open_conversation``, whose stack ends it.

    Args:
        count: says how many model answers the conversation has had.
    """

    def __init__(
        self,
        services: RunServices,
        scenario: Scenario,
        arm: str,
        *,
        tenant: Tenant,
        access: ModelAccess,
        session: Session,
        count: Callable[[], int],
    ) -> None:
        self._services, self._scenario, self._arm = services, scenario, arm
        self._tenant, self._access, self._session, self._count = tenant, access, session, count
        self._rows: Rows = {}
        self._state: str | None = None
        self._size, self._turn = ReplySize(scenario.id), 0

    async def note_rows(self) -> None:
        """Read what the database holds before the next turn."""
        self._rows = await self._read()

    async def say(self, turn: Turn) -> Heard:
        """Send a turn and wait for the whole reply.

        Raises:
            WorkerError: the system raised, hung, ended, answered outside the protocol or more than the gate measures.
            RecordingError: the system asked for a model answer that is not recorded, and no model may be called.
            BudgetError: a model call was refused.
            DatabaseError: the tenant's rows cannot be read.
        """
        turns, access, scenario_id = self._services.turns, self._access, self._scenario.id
        await turns.before(scenario_id, self._arm)
        before, started = access.calls, time.monotonic()
        try:
            reply = await self._session.send(turn)
        except WorkerError:
            self._raise_refused()
            raise
        seconds, calls = time.monotonic() - started, access.calls
        reported = self._session.reported_usage
        bypassing = await turns.after(scenario_id, reported, self._arm)
        self._raise_refused()
        self._turn += 1
        self._size.require(parts_of(reply), MAX_BYTES_OF_A_PART, self._turn)
        usd: Usd | None = None
        if before.usd is not None and calls.usd is not None and bypassing is not None:
            usd = calls.usd - before.usd + bypassing
        exchange = Exchange(
            turn,
            reply,
            seconds,
            usd,
            replayed=calls.replayed > before.replayed,
            calls=calls.count - before.count + len(reported),
            usage=sum((call.usage for call in reported), calls.usage - before.usage),
        )
        rows = await self._read()
        heard = Heard(exchange, self._state, changes(self._rows, rows), self._count())
        self._rows, self._state = rows, reply.state
        return heard

    def _raise_refused(self) -> None:
        """A request that was not answered decides, whatever the system made of that."""
        refused: RatibaError | None = self._access.stale or next(iter(self._access.problems), None)
        if refused is not None:
            raise refused

    async def _read(self) -> Rows:
        tenants = self._services.tenants
        if not self._tenant.dsn:
            return {}
        listed = (await tenants.read(self._tenant, {_TABLES: _LIST_TABLES})).get(_TABLES, ())
        names = [str(row["table_name"]) for row in listed]
        queries = {
            name: f"SELECT * FROM {_quoted(name)} LIMIT {MAX_ROWS + 1}"  # noqa: S608 - the name is the database's own
            for name in names
            if not name.startswith(_NOT_THE_SYSTEMS)
        }
        found = await tenants.read(self._tenant, queries)
        return {name: rows for name, rows in found.items() if len(rows) <= MAX_ROWS}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def changes(before: Rows, after: Rows) -> tuple[RowChange, ...]:
    """The tables whose rows differ, in order of their names; one that was not compared on both sides is left out."""
    found = list[RowChange]()
    for table in sorted(before.keys() & after.keys()):
        added, removed = _without(after[table], before[table]), _without(before[table], after[table])
        change = RowChange(table, added, removed, after[table])
        found += [change] if change.added or change.removed else []
    return tuple(found)


def _without(rows: Sequence[JsonObject], others: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
    """The rows that the others do not have, or not as often, in order."""
    left, found = Counter(map(_key, others)), list[JsonObject]()
    for row in rows:
        if left[_key(row)] > 0:
            left[_key(row)] -= 1
        else:
            found.append(row)
    return tuple(found)


def _key(row: JsonObject) -> str:
    return json.dumps(row, sort_keys=True)


async def open_conversation(
    stack: AsyncExitStack, services: RunServices, scenario: Scenario, arm: str, answers: KeptAnswers
) -> ChatConversation:
    """Begin a conversation in a fresh tenant; both end with the stack.

    Args:
        arm: name of the arm that runs it, which is started.
        answers: what the run's log keeps of it.

    Raises:
        InfrastructureError: the database or the system cannot be used.
    """
    running = services.arms[arm]
    template = running.template or running.arm
    tenant = await stack.enter_async_context(services.tenants.provision(scenario.id, template, 0))
    access = services.gateway.open_scenario(scenario.id, 0, arm, seen=lambda _: None)
    stack.callback(access.close)
    session = await running.system.open(scenario, tenant, access.environment)
    stack.push_async_callback(session.close)
    conversation = ChatConversation(
        services,
        scenario,
        arm,
        tenant=tenant,
        access=access,
        session=session,
        count=lambda: len(answers.of(arm)),
    )
    await conversation.note_rows()
    return conversation
