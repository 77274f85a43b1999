"""Progress without what must not be printed."""

from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.ports import Progress
from ratiba_action.privacy.masking import Redactor


class RedactedProgress:
    """Implements ``Progress``: lets another one see each result as the report will show it.

    An error's message quotes the system under test, and is printed before there is a report.

    Args:
        progress: shows what it is given.
        redactor: the run's own.
    """

    def __init__(self, progress: Progress, redactor: Redactor) -> None:
        self._progress = progress
        self._redactor = redactor

    def started(self, total: int) -> None:
        """Hand it on."""
        self._progress.started(total)

    def advanced(self, result: ScenarioResult) -> None:
        """Hand on what may be shown."""
        self._progress.advanced(self._redactor.result(result))

    def finished(self) -> None:
        """Hand it on."""
        self._progress.finished()
