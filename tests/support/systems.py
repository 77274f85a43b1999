"""A system under test that says what it was told to say, in memory."""

from collections.abc import Mapping, Sequence

from ratiba_action.errors import RatibaError, WorkerError
from ratiba_action.model.conversation import Reply, ReportedUsage
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Scenario, Turn

Line = Reply | RatibaError
"""What one turn gives: a reply, or the error that it ends in."""


class ScriptedSession:
    """Implements ``Session``: gives its lines in order, whatever it is sent."""

    def __init__(self, scenario_id: str, lines: Sequence[Line]) -> None:
        self._scenario_id = scenario_id
        self._lines = list(lines)
        self.turns: list[Turn] = []
        self.reported_usage: tuple[ReportedUsage, ...] = ()
        self.closed = False

    async def send(self, turn: Turn) -> Reply:
        """The next line of the script.

        Raises:
            RatibaError: the script says so.
            WorkerError: the session is closed or the script is at its end.
        """
        if self.closed or not self._lines:
            raise WorkerError(f"scenario {self._scenario_id!r}: the session is closed or its script has ended.")
        self.turns.append(turn)
        line = self._lines.pop(0)
        if isinstance(line, RatibaError):
            raise line
        return line

    async def close(self) -> None:
        """Answer no more turns."""
        self.closed = True


class ScriptedSystem:
    """Implements ``SystemUnderTest``; remembers what was asked of it.

    Args:
        script: each scenario's lines, by its id.
    """

    def __init__(self, script: Mapping[str, Sequence[Line]]) -> None:
        self._script = script
        self._started = False
        self.migrated: list[str] = []
        self.environments: dict[str, Mapping[str, str]] = {}
        self.sessions: list[ScriptedSession] = []

    async def start(self) -> None:
        """Accept sessions from now on."""
        self._started = True

    async def migrate(self, dsn: str) -> None:
        """Remember the connection string."""
        self._require_started()
        self.migrated.append(dsn)

    async def open(self, scenario: Scenario, _tenant: Tenant, environment: Mapping[str, str]) -> ScriptedSession:
        """A session with the scenario's lines.

        Raises:
            WorkerError: the system is not started, or the script has no such scenario.
        """
        self._require_started()
        if scenario.id not in self._script:
            raise WorkerError(f"scenario {scenario.id!r}: the script does not know it.")
        self.environments[scenario.id] = dict(environment)
        session = ScriptedSession(scenario.id, self._script[scenario.id])
        self.sessions.append(session)
        return session

    async def close(self) -> None:
        """Close every session."""
        self._started = False
        for session in self.sessions:
            await session.close()

    def _require_started(self) -> None:
        if not self._started:
            raise WorkerError("the system under test is not started.")
