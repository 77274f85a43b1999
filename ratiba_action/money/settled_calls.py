"""Paid calls that an earlier process of the same run has paid for."""

from collections.abc import Mapping

from ratiba_action.model.conversation import SettledAnswer
from ratiba_action.model.model_request import PaidAnswer, PaidRequest
from ratiba_action.ports import PaidCalls


class SettledCalls:
    """Implements ``PaidCalls`` around those that cost money; what is settled needs neither a key nor a budget.

    Args:
        calls: asked for everything else.
        settled: answers by ``KeptAnswer.key``, from the run's journal.
    """

    def __init__(self, calls: PaidCalls, settled: Mapping[str, SettledAnswer]) -> None:
        self._calls = calls
        self._settled = settled

    async def call(self, request: PaidRequest) -> PaidAnswer:
        """The answer that is settled, or one that is paid for now; see ``PaidCalls.call``."""
        settled = self._settled.get(request.kept_key)
        if settled is None:
            return await self._calls.call(request)
        return PaidAnswer(settled.body, settled.usage, resumed=True)
