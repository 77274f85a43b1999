"""Actions on slots and bookings."""

from booking_assistant.fsm import State
from booking_assistant.memory import payment_status
from booking_assistant.payment_actions import pay
from booking_assistant.turn import Turn
from booking_assistant.understanding import Understanding


async def offer_slot(turn: Turn, heard: Understanding) -> None:
    """Look the wanted slot up and ask for confirmation; or ask for what is missing."""
    named = {"service": heard.service, "start": heard.start}
    wanted = {**turn.memory["wanted"], **{name: value for name, value in named.items() if value}}
    turn.memory.update({"wanted": wanted, "offered": None})
    missing = [name for name in named if name not in wanted]
    if missing:
        turn.facts.update(outcome="details_missing", missing=missing)
        turn.move_to(State.COLLECTING)
        return
    slot = await turn.toolbox.call("check_availability", service=wanted["service"], start=wanted["start"])
    if not slot["free"]:
        _forget_start(turn, slot["reason"], slot["alternatives"])
        return
    turn.memory["offered"] = {**wanted, "price_kes": slot["price_kes"]}
    turn.facts["outcome"] = "slot_free"
    turn.move_to(State.CONFIRMING_SLOT)


async def create_booking(turn: Turn, heard: Understanding) -> None:  # noqa: ARG001  (every action has one signature)
    """Book the slot that was offered; if it went to someone else meanwhile, name other times."""
    offered = turn.memory["offered"] or {}
    slot = {"service": offered["service"], "start": offered["start"]}
    created = await turn.toolbox.call("create_booking", **slot)
    turn.memory["offered"] = None
    if not created["created"]:
        again = await turn.toolbox.call("check_availability", **slot)
        _forget_start(turn, created["reason"], again["alternatives"])
        return
    booking = {"id": created["booking_id"], **slot, "price_kes": created["price_kes"]}
    turn.memory.update({"booking": booking, "payment": None, "wanted": {}})
    turn.facts["outcome"] = "booked"
    turn.move_to(State.BOOKED)


async def drop_offer(turn: Turn, heard: Understanding) -> None:
    """Take the offer back and keep what the customer still wants."""
    service = heard.service or turn.memory["wanted"].get("service")
    turn.memory.update({"offered": None, "wanted": {"service": service} if service else {}})
    turn.facts["outcome"] = "offer_declined"
    turn.move_to(State.COLLECTING)


async def offer_change(turn: Turn, heard: Understanding) -> None:
    """Look a new time for the booking up and ask for confirmation."""
    if heard.start is None:
        if heard.phone and turn.state is State.BOOKED:
            await pay(turn, heard)
            return
        turn.facts.update(outcome="details_missing", missing=["start"])
        return
    slot = {"service": turn.booking["service"], "start": heard.start}
    found = await turn.toolbox.call("check_availability", **slot)
    if not found["free"]:
        turn.memory["offered"] = None
        turn.facts.update(outcome="slot_not_free", reason=found["reason"], alternatives=found["alternatives"])
        turn.move_to(_resting_state(turn))
        return
    turn.memory["offered"] = {**slot, "price_kes": turn.booking["price_kes"]}
    turn.facts["outcome"] = "change_free"
    turn.move_to(State.CONFIRMING_CHANGE)


async def apply_change(turn: Turn, heard: Understanding) -> None:  # noqa: ARG001  (every action has one signature)
    """Move the booking to the time that was offered."""
    start = (turn.memory["offered"] or {})["start"]
    moved = await turn.toolbox.call("reschedule_booking", booking_id=turn.booking["id"], start=start)
    turn.memory["offered"] = None
    if not moved["rescheduled"]:
        turn.facts.update(outcome="slot_not_free", reason=moved["reason"], alternatives=[])
        turn.move_to(_resting_state(turn))
        return
    turn.memory["booking"] = {**turn.booking, "start": start}
    turn.facts["outcome"] = "rescheduled"
    turn.move_to(State.BOOKED)


async def drop_change(turn: Turn, heard: Understanding) -> None:  # noqa: ARG001  (every action has one signature)
    """Leave the booking where it is."""
    turn.memory["offered"] = None
    turn.facts["outcome"] = "change_declined"
    turn.move_to(_resting_state(turn))


async def cancel_booking(turn: Turn, heard: Understanding) -> None:  # noqa: ARG001  (every action has one signature)
    """Cancel the booking. One that is paid needs a person, who decides about the money."""
    if payment_status(turn.memory) == "PAID":
        turn.facts["outcome"] = "handed_off"
        await turn.hand_off("the customer cancels a paid booking")
        return
    await turn.toolbox.call("cancel_booking", booking_id=turn.booking["id"])
    turn.memory.update({"booking": None, "wanted": {}})
    turn.facts["outcome"] = "booking_cancelled"
    turn.move_to(State.CANCELLED)


def _forget_start(turn: Turn, reason: str, alternatives: list[str]) -> None:
    turn.memory["wanted"] = {"service": turn.memory["wanted"]["service"]}
    turn.facts.update(outcome="slot_not_free", reason=reason, alternatives=alternatives)
    turn.move_to(State.COLLECTING)


def _resting_state(turn: Turn) -> State:
    if turn.state is State.CONFIRMING_CHANGE:
        return State.PAID if payment_status(turn.memory) == "PAID" else State.BOOKED
    return turn.state
