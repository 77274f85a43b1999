"""What an earlier process has paid for is answered without money, also where none would be given."""

from ratiba_action.model.conversation import SettledAnswer, Usage
from ratiba_action.model.model_request import PaidAnswer, PaidRequest
from ratiba_action.money.reservations import SettledCalls
from tests.support.live_calls import paid_request

KEPT = SettledAnswer({"content": []}, Usage(40, 12))


class Provider:
    """Answers everything, and counts."""

    def __init__(self) -> None:
        self.asked: list[PaidRequest] = []

    async def call(self, request: PaidRequest) -> PaidAnswer:
        self.asked.append(request)
        return PaidAnswer({}, Usage())


async def test_a_settled_call_is_answered_from_the_journal_and_any_other_is_made() -> None:
    provider, request, another = Provider(), paid_request(), paid_request(ordinal=1)
    calls = SettledCalls(provider, {request.journal_key: KEPT})
    assert await calls.call(request) == PaidAnswer(KEPT.body, KEPT.usage, resumed=True)
    assert not (await calls.call(another)).resumed
    assert provider.asked == [another]
