"""A model gateway that leads nowhere, in memory."""

from collections.abc import Callable, Mapping, Sequence

from ratiba_action.errors import RatibaError
from ratiba_action.model.conversation import AnsweredCalls
from ratiba_action.model.model_request import ModelRequest


class InMemoryAccess:
    """Implements ``ModelAccess``; problems and models are what the test puts there."""

    def __init__(self, problems: Sequence[RatibaError] = (), models: Sequence[str] = ()) -> None:
        self.environment: Mapping[str, str] = {"ANTHROPIC_BASE_URL": "http://nowhere.invalid"}
        self.problems = tuple(problems)
        self.stale: RatibaError | None = None
        self.models = tuple(models)
        self.calls = AnsweredCalls()
        self.closed = False

    def close(self) -> None:
        """Void the token."""
        self.closed = True


class InMemoryGateway:
    """Implements ``ModelGateway``.

    Args:
        problems: what each scenario's requests ran into, by its id.
    """

    def __init__(self, problems: Mapping[str, Sequence[RatibaError]] | None = None) -> None:
        self._problems = dict(problems or {})
        self.accesses: list[InMemoryAccess] = []

    def open_scenario(
        self, scenario_id: str, _trial: int, _arm: str, *, seen: Callable[[ModelRequest], None]
    ) -> InMemoryAccess:
        """An access with the scenario's problems; what makes its requests is the test."""
        self.seen = seen
        access = InMemoryAccess(self._problems.get(scenario_id, ()), ["some-model"])
        self.accesses.append(access)
        return access
