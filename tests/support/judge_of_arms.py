"""Judges that tell the answers of a change from those of its base, by a word that each side's system says."""

from typing import TYPE_CHECKING

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from tests.support.live_repository import is_judged
from tests.support.model_servers import Received
from tests.support.provider_faults import Served, Stalled

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD_SAYS, BASE_SAYS = "(head)", "(base)"


class JudgeOfArms:
    """Gives the base's answers full marks, and those of the change what a test says.

    Args:
        held: requests whose answers are charged for and never arrive.
    """

    def __init__(self) -> None:
        self.of_the_change = 8
        self.held: Callable[[Received], bool] = lambda _: False
        self.holding = 0

    def __call__(self, received: Received) -> Served | None:
        """The grade that a request asks for; None where it asks for none."""
        if not is_judged(received):
            return None
        score = self.of_the_change if HEAD_SAYS in str(received.body) else 10
        provider = "anthropic" if received.path.endswith("/messages") else "openai"
        step = Step(provider, data={"reason": "Plain.", "score": score}, usage=Usage(1_000, 100))
        if not self.held(received):
            return step
        self.holding += 1
        return Stalled(step, after=0)
