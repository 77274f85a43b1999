"""Actions on payments, and what a rail's callback leads to."""

from booking_assistant.fsm import PaymentState, State
from booking_assistant.memory import JsonObject, payment_status
from booking_assistant.phone_number import mask_phone, normalise_phone
from booking_assistant.rails.rail import read_callback
from booking_assistant.settlement import Outcome, cancel, settle
from booking_assistant.turn import Turn
from booking_assistant.understanding import Understanding

_MAX_REPEATS = 50
_NEEDS_A_PERSON = {
    Outcome.WRONG_AMOUNT: "a payment arrived with another amount than was asked",
    Outcome.UNEXPECTED_CHARGE: "a charge arrived that nobody asked for",
}
_NEXT_STATE = {
    Outcome.PAID: State.PAID,
    Outcome.FAILED: State.BOOKED,
    Outcome.CANCELLED: State.PAYMENT_CANCELLED_BY_CUSTOMER,
}


async def pay(turn: Turn, heard: Understanding) -> None:
    """Ask the customer's own phone to pay; another number is asked only once it is confirmed."""
    own = turn.toolbox.desk.customer.phone
    proposed, turn.memory["proposed"] = turn.memory["proposed"], None
    rail = heard.rail or (proposed or {}).get("rail", "mpesa")
    phone = normalise_phone(heard.phone) if heard.phone else own
    if phone is None:
        turn.facts["outcome"] = "phone_not_valid"
    elif phone == own or (proposed and proposed["phone"] == phone):
        await _request(turn, rail, phone)
    else:
        turn.memory["proposed"] = {"phone": phone, "rail": rail}
        turn.facts.update(outcome="phone_to_confirm", phone=mask_phone(phone))


async def confirm_phone(turn: Turn, heard: Understanding) -> None:
    """Ask the number that the customer gave a message ago; without one there is nothing to confirm."""
    proposed, turn.memory["proposed"] = turn.memory["proposed"], None
    if proposed is None:
        turn.facts["outcome"] = "nothing_to_confirm"
        return
    if heard.phone and normalise_phone(heard.phone) != proposed["phone"]:
        await pay(turn, heard)
        return
    await _request(turn, heard.rail or proposed["rail"], proposed["phone"])


async def drop_phone(turn: Turn, heard: Understanding) -> None:  # noqa: ARG001  (every action has one signature)
    """Forget a number that was given; the booking stands."""
    turn.facts["outcome"] = "payment_declined"


async def cancel_payment(turn: Turn, heard: Understanding | None = None) -> None:  # noqa: ARG001  (the same)
    """Cancel the pending payment; what still arrives for it is given back."""
    payment = turn.memory["payment"]
    if payment is None or not await cancel(turn.toolbox.desk.connection, payment["id"]):
        turn.facts["outcome"] = "nothing_to_cancel"
        return
    turn.set_payment_status(PaymentState.PAYMENT_CANCELLED_BY_CUSTOMER)
    turn.facts["outcome"] = "payment_cancelled"
    turn.move_to(State.PAYMENT_CANCELLED_BY_CUSTOMER)


async def receive_callback(turn: Turn, event: JsonObject) -> None:
    """Apply a rail's callback, as often as it was delivered.

    Raises:
        ValueError: the event is not a callback of the agreed shape.
    """
    callback, repeat = read_callback(event), event.get("repeat", 1)
    if not isinstance(repeat, int) or isinstance(repeat, bool) or not 1 <= repeat <= _MAX_REPEATS:
        raise ValueError(f"cannot deliver a callback {repeat!r} times: use 1 to {_MAX_REPEATS}")
    payment_id = (turn.memory["payment"] or {}).get("id")
    for delivery in range(repeat):
        settlement = await settle(turn.toolbox.desk.connection, payment_id, callback)
        if delivery == 0:
            turn.facts["outcome"] = settlement.outcome.value
        elif settlement.outcome is Outcome.DUPLICATE:
            turn.facts["duplicates"] = delivery
        await _follow_up(turn, settlement.outcome, callback.receipt)


async def _follow_up(turn: Turn, outcome: Outcome, receipt: str | None) -> None:
    if outcome in _NEEDS_A_PERSON:
        await turn.hand_off(_NEEDS_A_PERSON[outcome])
    elif outcome is Outcome.CHARGED_AFTER_CANCELLATION:
        await turn.toolbox.call("reverse_payment", payment_id=(turn.memory["payment"] or {})["id"])
        turn.set_payment_status(PaymentState.REVERSED, receipt)
        turn.facts["outcome"] = "payment_reversed"
    elif outcome in _NEXT_STATE:
        status = {
            Outcome.PAID: PaymentState.PAID,
            Outcome.FAILED: PaymentState.FAILED,
            Outcome.CANCELLED: PaymentState.PAYMENT_CANCELLED_BY_CUSTOMER,
        }[outcome]
        turn.set_payment_status(status, receipt if outcome is Outcome.PAID else None)
        turn.move_to(_NEXT_STATE[outcome])


async def _request(turn: Turn, rail: str, phone: str) -> None:
    booking = turn.booking
    amount = booking["price_kes"]
    args = {"booking_id": booking["id"], "rail": rail, "amount_kes": amount, "phone": phone}
    requested = await turn.toolbox.call("request_payment", **args)
    if not requested["requested"]:
        turn.facts.update(outcome=requested["reason"], payment_status=payment_status(turn.memory))
        return
    turn.set_payment(
        {"id": requested["payment_id"], **args, "status": PaymentState.PENDING.value, "receipt": None},
        before=PaymentState.NONE.value,
    )
    turn.facts["outcome"] = "payment_requested"
    turn.move_to(State.AWAITING_PAYMENT)
