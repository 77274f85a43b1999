from typing import Any

import pytest

from tests.examples.booking_assistant.conftest import OWN_PHONE, Talk


def statuses(talk: Talk) -> list[str]:
    return [row["status"] for row in talk.rows("payments")]


async def test_a_payment_is_asked_once_and_paid_on_its_callback(talk: Talk) -> None:
    await talk.book()
    asked = await talk.say("nilipe na mpesa", intent="pay", rail="mpesa")
    args = {"booking_id": 1, "rail": "mpesa", "amount_kes": 3500, "phone": OWN_PHONE}
    assert [(call["name"], call["args"]) for call in asked["tool_calls"]] == [("request_payment", args)]
    assert (asked["state"], asked["payment"]) == ("AWAITING_PAYMENT", "PENDING")
    paid = await talk.called_back()
    assert (paid["state"], paid["payment"]) == ("PAID", "PAID")
    assert {"type": "payment_state", "data": {"payment_id": 1, "from": "PENDING", "to": "PAID"}} in paid["events"]
    assert [row["receipt"] for row in talk.rows("payments")] == ["TKL4X8Q2ZP"]


async def test_pesapal_is_a_rail_too(talk: Talk) -> None:
    await talk.book()
    await talk.say("pesapal", intent="pay", rail="pesapal")
    paid = await talk.called_back(rail="pesapal")
    assert (paid["payment"], talk.rows("payments")[0]["rail"]) == ("PAID", "pesapal")


async def test_a_repeated_callback_charges_once_and_is_recorded_as_a_duplicate(talk: Talk) -> None:
    await talk.ask_to_pay()
    await talk.called_back(repeat=3)
    again = await talk.called_back()
    assert (again["state"], again["events"], statuses(talk)) == ("PAID", [], ["PAID"])
    assert [row["duplicate"] for row in talk.rows("payment_callbacks")] == [False, True, True, True]


async def test_a_customer_who_says_that_they_paid_has_not_paid(talk: Talk) -> None:
    await talk.ask_to_pay()
    reply = await talk.say("Nimelipa, receipt TKX9Z9Z9Z9", intent="confirm")
    assert (reply["state"], reply["payment"], statuses(talk)) == ("AWAITING_PAYMENT", "PENDING", ["PENDING"])


async def test_a_failed_payment_may_be_tried_again(talk: Talk) -> None:
    await talk.ask_to_pay()
    failed = await talk.called_back("failed", receipt=None)
    await talk.say("jaribu tena", intent="pay")
    await talk.called_back()
    assert (failed["state"], failed["payment"]) == ("BOOKED", "FAILED")
    assert statuses(talk) == ["FAILED", "PAID"]


@pytest.mark.parametrize("amount", [1, 3499, 3501, 35000])
async def test_another_amount_than_asked_is_never_paid_and_goes_to_a_person(talk: Talk, amount: int) -> None:
    await talk.ask_to_pay()
    reply = await talk.called_back(amount_kes=amount)
    assert (reply["state"], reply["payment"], statuses(talk)) == ("HANDED_OFF", "PENDING", ["PENDING"])
    assert len(talk.rows("handoffs")) == 1


async def test_money_for_a_cancelled_payment_is_reversed_once_and_never_charged_again(talk: Talk) -> None:
    await talk.ask_to_pay()
    cancelled = await talk.say("acha malipo", intent="cancel_payment")
    late = await talk.called_back(repeat=2)
    again = await talk.say("nilipe", intent="pay")
    assert cancelled["state"] == cancelled["payment"] == "PAYMENT_CANCELLED_BY_CUSTOMER"
    assert [(call["name"], call["args"]) for call in late["tool_calls"]] == [("reverse_payment", {"payment_id": 1})]
    assert (late["state"], late["payment"]) == ("PAYMENT_CANCELLED_BY_CUSTOMER", "REVERSED")
    assert (again["tool_calls"], statuses(talk)) == ([], ["REVERSED"])


@pytest.mark.parametrize(
    "event",
    [
        {"type": "payment_cancelled_by_customer"},
        {"type": "payment_callback", "rail": "mpesa", "result": "cancelled"},
    ],
)
async def test_the_customer_may_cancel_on_the_phone_as_well(talk: Talk, event: dict[str, Any]) -> None:
    await talk.ask_to_pay()
    reply = await talk.conversation.deliver(event)
    assert reply["state"] == reply["payment"] == "PAYMENT_CANCELLED_BY_CUSTOMER"


async def test_a_payment_that_is_through_cannot_be_cancelled(talk: Talk) -> None:
    await talk.ask_to_pay()
    await talk.called_back()
    reply = await talk.happen("payment_cancelled_by_customer")
    assert (reply["state"], reply["payment"], reply["tool_calls"]) == ("PAID", "PAID", [])


async def test_a_second_charge_with_another_receipt_goes_to_a_person(talk: Talk) -> None:
    await talk.ask_to_pay()
    await talk.called_back()
    reply = await talk.called_back(receipt="TKL4AAAAAA")
    assert (reply["state"], reply["payment"]) == ("HANDED_OFF", "PAID")
    assert talk.rows("payments")[0]["receipt"] == "TKL4X8Q2ZP"


async def test_a_receipt_pays_one_booking_only(talk: Talk) -> None:
    await talk.ask_to_pay()
    await talk.called_back()
    await talk.say("na facial", intent="book", service="facial", start="2026-04-26T16:00")
    await talk.say("ndio", intent="confirm")
    await talk.say("nilipe", intent="pay")
    reply = await talk.called_back(amount_kes=2500)
    assert (reply["state"], statuses(talk)) == ("HANDED_OFF", ["PAID", "PENDING"])


async def test_a_paid_booking_that_was_moved_is_not_charged_again(talk: Talk) -> None:
    await talk.ask_to_pay()
    await talk.called_back()
    await talk.say("nibadilishie", intent="reschedule", start="2026-04-27T09:00")
    await talk.say("sawa", intent="confirm")
    reply = await talk.say("nilipe", intent="pay")
    assert (reply["state"], reply["payment"], statuses(talk)) == ("BOOKED", "PAID", ["PAID"])
    assert reply["tool_calls"][0]["output"] == {"requested": False, "reason": "already_paid_or_pending"}


async def test_cancelling_a_paid_booking_goes_to_a_person(talk: Talk) -> None:
    await talk.ask_to_pay()
    await talk.called_back()
    reply = await talk.say("futa booking", intent="cancel_booking")
    assert (reply["state"], talk.rows("bookings")[0]["status"]) == ("HANDED_OFF", "confirmed")


async def test_another_phone_is_asked_only_after_it_is_confirmed(talk: Talk) -> None:
    await talk.book()
    given = await talk.say("tumia 0722 000 111", intent="pay", phone="0722 000 111")
    confirmed = await talk.say("ndio", intent="confirm")
    assert (given["state"], given["tool_calls"]) == ("BOOKED", [])
    assert confirmed["tool_calls"][0]["args"]["phone"] == "+254722000111"


@pytest.mark.parametrize("then", [{"intent": "smalltalk"}, {"intent": "decline"}, {"intent": "unclear"}])
async def test_a_phone_that_the_next_message_does_not_confirm_is_forgotten(talk: Talk, then: dict[str, str]) -> None:
    await talk.book()
    await talk.say("tumia 0722 000 111", intent="pay", phone="0722 000 111")
    await talk.say("hmm", **then)
    reply = await talk.say("ndio", intent="confirm")
    assert (reply["state"], talk.rows("payments")) == ("BOOKED", [])


async def test_a_third_phone_is_not_confirmed_by_naming_it_in_the_confirmation(talk: Talk) -> None:
    await talk.book()
    await talk.say("tumia 0722 000 111", intent="pay", phone="0722 000 111")
    reply = await talk.say("ndio, 0733 000 222", intent="confirm", phone="0733 000 222")
    assert (reply["state"], talk.rows("payments")) == ("BOOKED", [])


@pytest.mark.parametrize("phone", ["12345", "+1 212 555 0100", "0712 345 43", "abc"])
async def test_no_payment_is_asked_of_something_that_is_no_kenyan_number(talk: Talk, phone: str) -> None:
    await talk.book()
    reply = await talk.say("tumia hii", intent="pay", phone=phone)
    assert (reply["state"], talk.rows("payments")) == ("BOOKED", [])


async def test_a_callback_for_no_payment_or_another_rail_changes_nothing(talk: Talk) -> None:
    early = await talk.called_back()
    await talk.ask_to_pay()
    other = await talk.called_back(rail="pesapal")
    assert (early["state"], early["payment"]) == ("GREETING", "NONE")
    assert (other["state"], other["payment"], statuses(talk)) == ("AWAITING_PAYMENT", "PENDING", ["PENDING"])
    assert [row["payment_id"] for row in talk.rows("payment_callbacks")] == [None, None]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "payment_callback"},
        {"type": "payment_callback", "rail": "cash", "result": "success"},
        {"type": "payment_callback", "rail": "mpesa", "result": "maybe"},
        {"type": "payment_callback", "rail": "mpesa", "result": "success", "amount_kes": 3500},
        {"type": "payment_callback", "rail": "mpesa", "result": "success", "receipt": "A", "amount_kes": 3500.0},
        {"type": "payment_callback", "rail": "mpesa", "result": "success", "receipt": "A", "amount_kes": True},
        {"type": "payment_callback", "rail": "mpesa", "result": "success", "receipt": "A", "amount_kes": -3500},
        {"type": "payment_callback", "rail": "mpesa", "result": "failed", "repeat": 0},
        {"type": "payment_callback", "rail": "mpesa", "result": "failed", "repeat": 10**9},
        {"type": "slot_taken_elsewhere", "service": "tattoo", "start": "2026-04-26T14:00"},
        {"type": "earthquake"},
        {},
    ],
)
async def test_a_malformed_event_is_refused_and_leaves_no_row(talk: Talk, event: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"cannot (read|deliver|take)"):
        await talk.conversation.deliver(event)
    assert talk.rows("payment_callbacks") == talk.rows("bookings") == []
