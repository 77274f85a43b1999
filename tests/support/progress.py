"""Someone who watches a run and remembers it."""

from ratiba_action.model.measurement import ScenarioResult


class RecordedProgress:
    """Implements ``Progress``."""

    def __init__(self) -> None:
        self.total = 0
        self.results: list[ScenarioResult] = []
        self.done = False

    def started(self, total: int) -> None:
        """Remember how many will come."""
        self.total = total

    def advanced(self, result: ScenarioResult) -> None:
        """Remember one."""
        self.results.append(result)

    def finished(self) -> None:
        """Remember the end."""
        self.done = True
