"""What a turn becomes on its way to a worker, and its answer on the way back."""

from typing import Any, Protocol

from ratiba_action.model.scenario import Scenario, Turn


class Dialogue(Protocol):
    """One conversation's way of speaking with the adapter in its worker."""

    def request(self, turn: Turn) -> tuple[str, Any]:
        """The operation and its argument, any JSON.

        Raises:
            WorkerError: the system cannot be told of such a turn.
        """
        ...

    def reply(self, answer: Any) -> Any:
        """What ``parse_reply`` is to read, out of the JSON that came back.

        Raises:
            WorkerError: the answer does not hold what it must.
        """
        ...


class PlainDialogue:
    """For an adapter that takes messages and events and answers with replies."""

    def request(self, turn: Turn) -> tuple[str, Any]:
        """The message or the event as it is."""
        return ("send", turn.user) if turn.event is None else ("deliver", dict(turn.event))

    def reply(self, answer: Any) -> Any:
        """The answer as it is."""
        return answer


def plain_dialogue(_: Scenario) -> Dialogue:
    """For every conversation the same."""
    return PlainDialogue()
