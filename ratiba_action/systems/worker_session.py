"""A conversation with a Python system that runs in a worker process."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import uuid4

from ratiba_action.errors import WorkerEndedError, WorkerError
from ratiba_action.model.conversation import Reply, ReportedUsage
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Scenario, Turn
from ratiba_action.model.values import JsonObject
from ratiba_action.systems.dialogue import Dialogue, PlainDialogue, hide, parse_reply, parse_reported_usage, whole
from ratiba_action.systems.link import JudgeCall, Link

CLOSE_SECONDS = 5.0
Result = TypeVar("Result")


class WorkerSession:
    """Implements ``Session``.

    Args:
        scenario_id: named in messages.
        turn_timeout: seconds that one turn may take.
        dialogue: how it is spoken to; None for messages and events as they are.
        asked: what its process is asked when it is closed, each with what receives the answer.
        ended: called when the process has ended.
    """

    def __init__(
        self,
        link: Link,
        scenario_id: str,
        turn_timeout: float,
        dialogue: Dialogue | None = None,
        *,
        asked: Mapping[str, Callable[[Any], None]] | None = None,
        ended: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._asked, self._ended = dict(asked or {}), ended
        self._link = link
        self._dialogue = dialogue or PlainDialogue()
        self._scenario_id = scenario_id
        self._turn_timeout = turn_timeout
        self._reported_usage: tuple[ReportedUsage, ...] = ()

    @property
    def reported_usage(self) -> tuple[ReportedUsage, ...]:
        """See ``Session.reported_usage``."""
        return self._reported_usage

    async def send(self, turn: Turn) -> Reply:
        """Deliver a turn and wait for the reply.

        Raises:
            WorkerError: the system raised, hung, ended or answered outside the protocol.
        """
        if (turn.user is None) == (turn.event is None):
            raise WorkerError(f"scenario {self._scenario_id!r}: a turn has either `user` or `event`, not {turn!r}.")
        operation = "send" if turn.event is None else "deliver"
        request, argument = self._with_place(operation, lambda: self._dialogue.request(turn))
        answer = await self._link.request(request, {"argument": argument}, self._turn_timeout)
        return self._with_place(operation, lambda: self._read(answer))

    def _read(self, answer: Any) -> Reply:
        found = self._dialogue.reply(answer)
        reply = parse_reply(found)
        self._reported_usage = parse_reported_usage(found)
        return reply

    def _with_place(self, operation: str, act: Callable[[], Result]) -> Result:
        try:
            return act()
        except WorkerError as problem:
            message = f"scenario {self._scenario_id!r}: {operation}() of the adapter: {problem.problem}"
            raise WorkerError(message, problem.remedy) from problem

    async def close(self) -> None:
        """Let the adapter close the conversation, then end its process; may be called twice."""
        if not self._link.open and self._ended is None:
            return
        try:
            for operation, receive in self._asked.items():
                with contextlib.suppress(WorkerError):
                    receive(await self._link.request(operation, {}, CLOSE_SECONDS))
            await self._link.request("close", {}, min(CLOSE_SECONDS, self._turn_timeout))
        except WorkerError:
            pass  # everything that counts was measured before
        finally:
            await self._link.end()
            if self._ended is not None:
                ended, self._ended = self._ended, None
                await ended()


class TeamTestSession:
    """Implements ``Session`` for a test of pytest: one turn, whose reply says what came of it.

    Args:
        seconds: that it may take, and between two questions to the judge.
        secrets: texts that must not appear in what the test says.
    """

    reported_usage: tuple[ReportedUsage, ...] = ()

    def __init__(
        self, link: Link, fields: JsonObject, seconds: float, judge: JudgeCall, secrets: Sequence[str]
    ) -> None:
        self._link, self._fields, self._seconds, self._judge = link, fields, seconds, judge
        self._secrets = tuple(secrets)

    async def send(self, _turn: Turn) -> Reply:
        """Run the test; one that ends its process has failed.

        Raises:
            WorkerError: it cannot be run, or did not end in time.
            JudgeError: the judge answered outside its contract, or was asked too often.
            RecordingError: replaying, and no recorded answer fits.
            BudgetError: a judge call was refused.
        """
        try:
            answer = await self._link.request("test", self._fields, self._seconds, self._judge)
        except WorkerEndedError as ended:
            answer = {"cases": [{"name": self._fields["node"], "outcome": "failed", "message": ended.problem}]}
        cases = answer.get("cases") if isinstance(answer, dict) else None
        found = [
            {str(key): hide(str(value), self._secrets) for key, value in case.items()} if isinstance(case, dict) else {}
            for case in whole(cases if isinstance(cases, list) else [])
        ]
        return Reply("", output={"cases": found})

    async def close(self) -> None:
        """End the process; may be called twice."""
        await self._link.end()


def opening(scenario: Scenario, tenant: Tenant, environment: Mapping[str, str]) -> JsonObject:
    """Of the first request of a conversation: what the adapter's ``open(context)`` is given, and its environment."""
    context = {
        "scenario_id": scenario.id,
        "tenant_id": tenant.id,
        "schema": tenant.schema or None,
        "database_url": tenant.dsn or None,
        "conversation_id": str(uuid4()),
        "now": scenario.now.isoformat(),
        "timezone": scenario.timezone or None,
        "language": scenario.language,
        "vertical": scenario.vertical,
        "customer_name": scenario.customer.name,
        "customer_phone": scenario.customer.phone,
        "inputs": scenario.inputs,
    }
    database = {"DATABASE_URL": tenant.dsn} if tenant.dsn else {}
    return {"context": context, "environment": {**environment, **database}}
