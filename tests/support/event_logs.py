"""Event logs for tests."""

from ratiba_action.model.event import Event


class RecordedEvents:
    """Implements ``EventLog``: remembers every event as it came, unmasked."""

    def __init__(self, run: str = "run-of-a-test") -> None:
        self._run = run
        self.events: list[Event] = []

    @property
    def run(self) -> str:
        """Id of the run."""
        return self._run

    @property
    def path(self) -> None:
        """Nothing is written down."""

    @property
    def types(self) -> list[str]:
        """The type of each event, in order."""
        return [event.type for event in self.events]

    def emit(self, event: Event) -> None:
        """Remember one."""
        self.events.append(event)
