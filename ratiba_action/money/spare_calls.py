"""Paid calls that are made only from what the waiting scenarios leave."""

from ratiba_action.errors import BudgetError
from ratiba_action.model.model_request import PaidAnswer, PaidRequest
from ratiba_action.model.values import Usd
from ratiba_action.money.admissions import Admissions
from ratiba_action.ports import PaidCalls


class SpareCalls:
    """Implements ``PaidCalls`` for the cross-check, which goes before any scenario does.

    Once a call is refused for want of money, all are, so that the sample ends at one point of the run.

    Args:
        calls: makes the call.
        admissions: knows what the scenarios may still need.
        upper: the most that one call is expected to cost.
    """

    def __init__(self, calls: PaidCalls, admissions: Admissions, upper: Usd) -> None:
        self._calls = calls
        self._admissions = admissions
        self._upper = upper
        self._refusal: BudgetError | None = None

    async def call(self, request: PaidRequest) -> PaidAnswer:
        """The answer; see ``PaidCalls.call``.

        Raises:
            BudgetError: the scenarios may need the money, or a call before this one was refused.
        """
        if self._refusal is not None:
            raise BudgetError(self._refusal.problem, self._refusal.remedy)
        try:
            return await self._afforded(request)
        except BudgetError as refusal:
            self._refusal = self._refusal or refusal
            raise

    async def _afforded(self, request: PaidRequest) -> PaidAnswer:
        refusal = await self._admissions.cross_check_refusal(self._upper)
        if refusal:
            raise BudgetError(refusal)
        return await self._calls.call(request)
