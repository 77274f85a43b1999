"""No system at all: gives the replies that production gave, from memory."""

from collections.abc import Collection, Mapping, Sequence

from ratiba_action.errors import ConfigurationError, WorkerError
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Scenario
from ratiba_action.production.captured import CapturedConversation
from ratiba_action.systems.replay_system import ReplaySession


class CapturedSystem:
    """Implements ``SystemUnderTest`` without running anything.

    Args:
        conversations: that took place.
        judges: models that must not have generated what they are to judge.
    """

    def __init__(self, conversations: Sequence[CapturedConversation], judges: Collection[str]) -> None:
        self._conversations = {one.scenario.id: one for one in conversations}
        self._judges = frozenset(judges)
        self._sessions: list[ReplaySession] = []

    async def start(self) -> None:
        """Nothing is started."""

    async def migrate(self, _dsn: str) -> None:
        """There are no tables."""

    async def open(self, scenario: Scenario, _tenant: Tenant, _environment: Mapping[str, str]) -> ReplaySession:
        """The conversation as it took place.

        Raises:
            WorkerError: nothing is known of it.
            ConfigurationError: a judge would judge its own words.
        """
        found = self._conversations.get(scenario.id)
        if found is None:
            raise WorkerError(f"nothing was captured of {scenario.id!r}.")
        own = sorted(self._judges & set(found.models))
        if own:
            raise ConfigurationError(
                f"The judge {own[0]!r} generated this conversation itself.", "Configure another judge."
            )
        session = ReplaySession(scenario.id, found.replies)
        self._sessions.append(session)
        return session

    async def close(self) -> None:
        """Close every session; may be called twice."""
        for session in self._sessions:
            await session.close()
