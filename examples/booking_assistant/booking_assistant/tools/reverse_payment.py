"""Tool: give back money that arrived after the customer had cancelled the payment."""

from booking_assistant.database import fetch_required
from booking_assistant.memory import JsonObject
from booking_assistant.tools.desk import Desk


async def run(desk: Desk, payment_id: int) -> JsonObject:
    """Reverse a cancelled payment that was charged all the same; once, whatever happens after.

    Args:
        desk: the tools' surroundings.
        payment_id: a payment that the customer cancelled.
    """
    async with desk.connection.transaction():  # a rail that refuses leaves the payment as it was
        payment = await fetch_required(
            desk.connection,
            "UPDATE payments SET status = 'REVERSED'"
            " WHERE id = %s AND status = 'PAYMENT_CANCELLED_BY_CUSTOMER' RETURNING rail, amount_kes, receipt",
            (payment_id,),
        )
        await desk.rails[payment["rail"]].reverse(payment["receipt"], payment["amount_kes"])
    return {"reversed": True, "amount_kes": payment["amount_kes"]}
