"""The booking flow as data: states, what each intent asks for in each state, which moves exist."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class State(StrEnum):
    """Where a conversation stands."""

    GREETING = "GREETING"
    COLLECTING = "COLLECTING"
    CONFIRMING_SLOT = "CONFIRMING_SLOT"
    BOOKED = "BOOKED"
    AWAITING_PAYMENT = "AWAITING_PAYMENT"
    PAID = "PAID"
    CONFIRMING_CHANGE = "CONFIRMING_CHANGE"
    CANCELLED = "CANCELLED"
    PAYMENT_CANCELLED_BY_CUSTOMER = "PAYMENT_CANCELLED_BY_CUSTOMER"
    HANDED_OFF = "HANDED_OFF"


class PaymentState(StrEnum):
    """Where a payment stands."""

    NONE = "NONE"
    PENDING = "PENDING"
    PAID = "PAID"
    FAILED = "FAILED"
    PAYMENT_CANCELLED_BY_CUSTOMER = "PAYMENT_CANCELLED_BY_CUSTOMER"
    REVERSED = "REVERSED"


class Intent(StrEnum):
    """What a customer's message asks for."""

    BOOK = "book"
    PROVIDE_DETAILS = "provide_details"
    CONFIRM = "confirm"
    DECLINE = "decline"
    RESCHEDULE = "reschedule"
    CANCEL_BOOKING = "cancel_booking"
    PAY = "pay"
    CANCEL_PAYMENT = "cancel_payment"
    ASK_HUMAN = "ask_human"
    COMPLAIN = "complain"
    SMALLTALK = "smalltalk"
    OFF_TOPIC = "off_topic"
    UNCLEAR = "unclear"


class Action(StrEnum):
    """What the assistant does about it; each is one function in ``actions.py``."""

    OFFER_SLOT = "offer_slot"
    CREATE_BOOKING = "create_booking"
    DROP_OFFER = "drop_offer"
    OFFER_CHANGE = "offer_change"
    APPLY_CHANGE = "apply_change"
    DROP_CHANGE = "drop_change"
    CANCEL_BOOKING = "cancel_booking"
    PAY = "pay"
    CONFIRM_PHONE = "confirm_phone"
    DROP_PHONE = "drop_phone"
    CANCEL_PAYMENT = "cancel_payment"
    HAND_OFF = "hand_off"
    CHAT = "chat"
    REFUSE = "refuse"


class IllegalMoveError(Exception):
    """The flow has no such move; a mistake in the program, never the customer's."""


_ANYWHERE: Mapping[Intent, Action] = MappingProxyType(
    {
        Intent.ASK_HUMAN: Action.HAND_OFF,
        Intent.COMPLAIN: Action.HAND_OFF,
        Intent.SMALLTALK: Action.CHAT,
        Intent.OFF_TOPIC: Action.CHAT,
        Intent.UNCLEAR: Action.CHAT,
    },
)
_BOOKING = {Intent.BOOK: Action.OFFER_SLOT, Intent.PROVIDE_DETAILS: Action.OFFER_SLOT}
_CHANGING = {Intent.RESCHEDULE: Action.OFFER_CHANGE, Intent.PROVIDE_DETAILS: Action.OFFER_CHANGE}

ACTIONS: Mapping[State, Mapping[Intent, Action]] = MappingProxyType(
    {
        State.GREETING: _BOOKING,
        State.COLLECTING: {**_BOOKING, Intent.DECLINE: Action.DROP_OFFER},
        State.CONFIRMING_SLOT: {
            **_BOOKING,
            Intent.RESCHEDULE: Action.OFFER_SLOT,
            Intent.CONFIRM: Action.CREATE_BOOKING,
            Intent.DECLINE: Action.DROP_OFFER,
            Intent.CANCEL_BOOKING: Action.DROP_OFFER,
        },
        State.BOOKED: {
            **_CHANGING,
            Intent.PAY: Action.PAY,
            Intent.CONFIRM: Action.CONFIRM_PHONE,
            Intent.DECLINE: Action.DROP_PHONE,
            Intent.CANCEL_BOOKING: Action.CANCEL_BOOKING,
        },
        State.AWAITING_PAYMENT: {Intent.CANCEL_PAYMENT: Action.CANCEL_PAYMENT},
        State.PAID: {**_CHANGING, Intent.BOOK: Action.OFFER_SLOT, Intent.CANCEL_BOOKING: Action.CANCEL_BOOKING},
        State.CONFIRMING_CHANGE: {
            **_CHANGING,
            Intent.CONFIRM: Action.APPLY_CHANGE,
            Intent.DECLINE: Action.DROP_CHANGE,
        },
        State.CANCELLED: _BOOKING,
        State.PAYMENT_CANCELLED_BY_CUSTOMER: {Intent.CANCEL_BOOKING: Action.CANCEL_BOOKING},
        State.HANDED_OFF: {},
    },
)

MOVES: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.GREETING: frozenset({State.COLLECTING, State.CONFIRMING_SLOT}),
        State.COLLECTING: frozenset({State.CONFIRMING_SLOT}),
        State.CONFIRMING_SLOT: frozenset({State.COLLECTING, State.BOOKED}),
        State.BOOKED: frozenset({State.AWAITING_PAYMENT, State.CONFIRMING_CHANGE, State.CANCELLED}),
        State.AWAITING_PAYMENT: frozenset({State.PAID, State.BOOKED, State.PAYMENT_CANCELLED_BY_CUSTOMER}),
        State.PAID: frozenset({State.CONFIRMING_CHANGE, State.COLLECTING, State.CONFIRMING_SLOT}),
        State.CONFIRMING_CHANGE: frozenset({State.BOOKED, State.PAID}),
        State.CANCELLED: frozenset({State.COLLECTING, State.CONFIRMING_SLOT}),
        State.PAYMENT_CANCELLED_BY_CUSTOMER: frozenset({State.CANCELLED}),
        State.HANDED_OFF: frozenset(),
    },
)


def action_for(state: State, intent: Intent) -> Action:
    """The action that an intent asks for in a state; ``REFUSE`` when the flow has none."""
    return ACTIONS[state].get(intent) or _ANYWHERE.get(intent, Action.REFUSE)


def move(current: State, target: State) -> State:
    """Check a move and return its target. Staying, and handing off, are always possible.

    Raises:
        IllegalMoveError: the flow has no such move.
    """
    if target in (current, State.HANDED_OFF) or target in MOVES[current]:
        return target
    raise IllegalMoveError(f"cannot move from {current.value!r} to {target.value!r}: add the move to MOVES")
