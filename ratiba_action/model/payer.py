"""On whom a model call is booked."""

from ratiba_action.model.conversation import Party
from ratiba_action.model.plan import BASE


def payer(party: Party, arm: str) -> Party:
    """Who a call is booked on: whatever the base arm asks for is the baseline's, but its cross-checks.

    What the comparison costs is one amount: the base's system, its simulated customers and the grades of its
    conversations. The cross-check samples both arms alike and stays an amount of its own, the first to be given up.

    Args:
        party: who caused the call.
        arm: name of the arm whose conversation it belongs to.
    """
    return Party.BASELINE if arm == BASE and party is not Party.CROSS_CHECK else party
