"""What the assistant does about an intent. No model takes part: slots and money are decided here."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

from booking_assistant import booking_actions, payment_actions
from booking_assistant.fsm import Action, action_for
from booking_assistant.turn import Turn
from booking_assistant.understanding import Understanding

_HAND_OFF_REASONS = {"ask_human": "the customer asks for a person", "complain": "the customer complains"}


async def act(turn: Turn, heard: Understanding) -> None:
    """Do what the flow says about this intent in this state."""
    proposed = turn.memory["proposed"]
    turn.memory["proposed"] = None  # a number lapses unless the very next message confirms it
    if action_for(turn.state, heard.intent) in {Action.PAY, Action.CONFIRM_PHONE}:
        turn.memory["proposed"] = proposed
    await _ACTIONS[action_for(turn.state, heard.intent)](turn, heard)


async def _hand_off(turn: Turn, heard: Understanding) -> None:
    turn.facts["outcome"] = "handed_off"
    await turn.hand_off(heard.reason or _HAND_OFF_REASONS[heard.intent])


async def _chat(turn: Turn, heard: Understanding) -> None:
    turn.facts["outcome"] = heard.intent.value


async def _refuse(turn: Turn, heard: Understanding) -> None:
    turn.facts.update(outcome="not_possible_now", asked=heard.intent.value)


_ACTIONS: Mapping[Action, Callable[[Turn, Understanding], Awaitable[None]]] = MappingProxyType(
    {
        Action.OFFER_SLOT: booking_actions.offer_slot,
        Action.CREATE_BOOKING: booking_actions.create_booking,
        Action.DROP_OFFER: booking_actions.drop_offer,
        Action.OFFER_CHANGE: booking_actions.offer_change,
        Action.APPLY_CHANGE: booking_actions.apply_change,
        Action.DROP_CHANGE: booking_actions.drop_change,
        Action.CANCEL_BOOKING: booking_actions.cancel_booking,
        Action.PAY: payment_actions.pay,
        Action.CONFIRM_PHONE: payment_actions.confirm_phone,
        Action.DROP_PHONE: payment_actions.drop_phone,
        Action.CANCEL_PAYMENT: payment_actions.cancel_payment,
        Action.HAND_OFF: _hand_off,
        Action.CHAT: _chat,
        Action.REFUSE: _refuse,
    },
)
