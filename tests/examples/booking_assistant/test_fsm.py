import pytest
from booking_assistant.fsm import ACTIONS, MOVES, Action, IllegalMoveError, Intent, State, action_for, move


def test_every_state_has_its_actions_and_moves() -> None:
    assert set(ACTIONS) == set(MOVES) == set(State)


def test_every_state_can_be_reached_from_the_greeting() -> None:
    reached = {State.GREETING, State.HANDED_OFF}
    while True:
        wider = reached | {target for state in reached for target in MOVES[state]}
        if wider == reached:
            break
        reached = wider
    assert reached == set(State)


@pytest.mark.parametrize("state", State)
def test_a_person_can_be_asked_for_anywhere(state: State) -> None:
    assert action_for(state, Intent.ASK_HUMAN) is Action.HAND_OFF
    assert move(state, State.HANDED_OFF) is State.HANDED_OFF


@pytest.mark.parametrize("state", [state for state in State if state is not State.BOOKED])
def test_a_payment_is_asked_for_in_no_other_state_than_booked(state: State) -> None:
    assert action_for(state, Intent.PAY) is Action.REFUSE


def test_only_a_payment_that_is_awaited_can_become_paid() -> None:
    leading = {state for state in State if State.PAID in MOVES[state]}
    assert leading == {State.AWAITING_PAYMENT, State.CONFIRMING_CHANGE}


def test_a_move_that_the_flow_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(IllegalMoveError, match="'GREETING' to 'PAID'"):
        move(State.GREETING, State.PAID)
