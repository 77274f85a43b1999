"""No system at all: gives the replies that were captured when a conversation took place."""

from collections.abc import Mapping
from pathlib import Path

from ratiba_action.errors import WorkerError
from ratiba_action.model.conversation import Reply, ReportedUsage
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Scenario, Turn
from ratiba_action.systems.dialogue import decode_line, parse_reply
from ratiba_action.util.locked_folder import read_plain_file


class ReplaySession:
    """Implements ``Session``: the captured replies in their order."""

    def __init__(self, scenario_id: str, replies: tuple[Reply, ...]) -> None:
        self._scenario_id = scenario_id
        self._replies = list(replies)
        self._open = True

    @property
    def reported_usage(self) -> tuple[ReportedUsage, ...]:
        """See ``Session.reported_usage``: nothing is asked."""
        return ()

    async def send(self, _turn: Turn) -> Reply:
        """The next reply.

        Raises:
            WorkerError: the session is closed, or no reply is left.
        """
        if not self._open:
            raise WorkerError(f"scenario {self._scenario_id!r}: the session is closed.")
        if not self._replies:
            raise WorkerError(
                f"scenario {self._scenario_id!r}: there are fewer captured replies than turns.",
                "Capture the conversation again, or remove the turns that were not part of it.",
            )
        return self._replies.pop(0)

    async def close(self) -> None:
        """Answer no more."""
        self._open = False


class ReplaySystem:
    """Implements ``SystemUnderTest`` without running anything.

    Args:
        transcripts: folder below it with ``<scenario id>.jsonl``, a reply a line; None for the scenarios' own replies.
    """

    def __init__(self, root: Path, transcripts: str | None) -> None:
        self._root = root
        self._transcripts = transcripts
        self._sessions: list[ReplaySession] | None = None

    async def start(self) -> None:
        """Nothing is started."""
        self._sessions = []

    async def migrate(self, _dsn: str) -> None:
        """Refuse what is not started; there are no tables."""
        self._require_started()

    async def open(self, scenario: Scenario, _tenant: Tenant, _environment: Mapping[str, str]) -> ReplaySession:
        """The conversation as it was captured.

        Raises:
            WorkerError: nothing was captured of the scenario, or it cannot be read.
        """
        sessions = self._require_started()
        session = ReplaySession(scenario.id, self._replies(scenario))
        sessions.append(session)
        return session

    async def close(self) -> None:
        """Close every session; may be called twice."""
        for session in self._sessions or ():
            await session.close()
        self._sessions = None

    def _require_started(self) -> list[ReplaySession]:
        if self._sessions is None:
            raise WorkerError("the system under test is not started.")
        return self._sessions

    def _replies(self, scenario: Scenario) -> tuple[Reply, ...]:
        if self._transcripts is not None:
            return read_transcript(self._root, f"{self._transcripts}/{scenario.id}.jsonl")
        captured = scenario.replies or scenario.captured
        if not captured:
            raise WorkerError(
                f"scenario {scenario.id!r} holds no captured replies.",
                "Give `layer: replay` and a `reply` in every turn, or name a folder in `system.replay.transcripts`.",
            )
        return tuple(Reply(text) for text in captured)


def read_transcript(root: Path, name: str) -> tuple[Reply, ...]:
    """The replies of a transcript: JSON lines, each a reply as an adapter gives it.

    Args:
        root: folder of the system.
        name: path below it.

    Raises:
        WorkerError: it cannot be read; names the file and the line.
    """
    try:
        lines = read_plain_file(root, name).splitlines()
    except OSError as problem:
        reason = problem.strerror or problem
        raise WorkerError(
            f"the transcript {name!r} cannot be read: {reason}.", "Capture it, or correct `system.replay.transcripts`."
        ) from None
    replies = []
    for number, line in enumerate(lines, 1):
        try:
            replies.append(parse_reply(decode_line(line)))
        except WorkerError as problem:
            raise WorkerError(f"{name}:{number}: {problem.problem}", problem.remedy) from None
    return tuple(replies)
