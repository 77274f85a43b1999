"""Another customer books over the counter, while this one is still thinking."""

from datetime import timedelta

from booking_assistant.catalogue import SERVICE_NAMES
from booking_assistant.clock import parse_minute
from booking_assistant.database import fetch_required
from booking_assistant.memory import JsonObject
from booking_assistant.tools import request_payment
from booking_assistant.tools.desk import Desk

_OTHER_CUSTOMER = "+254700000000"


async def take_slot_elsewhere(desk: Desk, event: JsonObject) -> None:
    """Book the event's ``service`` at its ``start`` for another, fictional customer.

    With a ``rail``, that customer is asked to pay, and has not answered yet.

    Raises:
        ValueError: service or start is missing, or there is no such rail.
    """
    service, start = event.get("service"), event.get("start")
    if service not in SERVICE_NAMES or not isinstance(start, str):
        raise ValueError(f"cannot take a slot for service {service!r} at {start!r}: name a service and a time")
    rail = event.get("rail")
    if rail is not None and rail not in desk.rails:
        raise ValueError(f"cannot ask for a payment over {rail!r}: use one of {sorted(desk.rails)}")
    offer = await fetch_required(desk.connection, "SELECT * FROM services WHERE name = %s", (service,))
    begin = parse_minute(start)
    booking = await fetch_required(
        desk.connection,
        "INSERT INTO bookings (service, resource_id, start_at, end_at, status, price_kes, customer_phone)"
        " VALUES (%s, %s, %s, %s, 'confirmed', %s, %s) RETURNING id",
        (
            service,
            offer["resource_id"],
            begin,
            begin + timedelta(minutes=offer["minutes"]),
            offer["price_kes"],
            _OTHER_CUSTOMER,
        ),
    )
    if rail is not None:
        await request_payment.run(desk, booking["id"], rail, offer["price_kes"], _OTHER_CUSTOMER)
