"""Answers from the models themselves, paid for."""

from ratiba_action.model.model_request import ModelAnswer, ModelRequest, PaidRequest
from ratiba_action.ports import PaidCalls


class LiveAnswers:
    """Implements ``AnswerSource``.

    Args:
        calls: asks the providers and books what it costs.
    """

    def __init__(self, calls: PaidCalls) -> None:
        self._calls = calls

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """The provider's answer; see ``PaidCalls.call`` for what may go wrong."""
        paid = await self._calls.call(
            PaidRequest(
                party=request.payer,
                scenario_id=request.scenario_id,
                trial=request.trial,
                provider=request.provider,
                endpoint=request.endpoint,
                model=request.model,
                key=request.key,
                ordinal=request.ordinal,
                body=request.body,
                arm=request.arm,
            )
        )
        return ModelAnswer(paid.body, paid.usage, replayed=False)
