"""The log of a run that is not written down."""

from ratiba_action.model.event import Event


class NoEvents:
    """Implements ``EventLog``: forgets everything."""

    run = ""
    path = None

    def emit(self, event: Event) -> None:
        """Forget it."""
