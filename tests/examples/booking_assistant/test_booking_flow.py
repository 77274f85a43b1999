import pytest

from tests.examples.booking_assistant.conftest import OWN_PHONE, OpenTalk, Talk


def tools(reply: dict[str, object]) -> list[tuple[object, object]]:
    calls = reply["tool_calls"]
    assert isinstance(calls, list)
    return [(call["name"], call["args"]) for call in calls]


async def test_a_slot_is_looked_up_offered_confirmed_and_stored(talk: Talk) -> None:
    offered = await talk.say("massage kesho", intent="book", service="massage", start="2026-04-26T14:00")
    booked = await talk.say("ndio", intent="confirm")
    slot = {"service": "massage", "start": "2026-04-26T14:00"}
    assert (offered["state"], tools(offered)) == ("CONFIRMING_SLOT", [("check_availability", slot)])
    assert (booked["state"], tools(booked)) == ("BOOKED", [("create_booking", slot)])
    assert booked["events"] == [{"type": "state_transition", "data": {"from": "CONFIRMING_SLOT", "to": "BOOKED"}}]
    (row,) = talk.rows("bookings")
    assert (row["id"], row["service"], row["status"], row["price_kes"]) == (1, "massage", "confirmed", 3500)
    assert row["start_at"].isoformat() == "2026-04-26T11:00:00+00:00"
    assert row["customer_phone"] == OWN_PHONE


async def test_details_are_collected_over_several_messages(talk: Talk) -> None:
    first = await talk.say("Naomba massage", intent="book", service="massage")
    second = await talk.say("kesho saa nane", intent="provide_details", start="2026-04-26T14:00")
    assert (first["state"], tools(first)) == ("COLLECTING", [])
    assert second["state"] == "CONFIRMING_SLOT"


async def test_nothing_is_booked_without_a_yes(talk: Talk) -> None:
    await talk.say("massage kesho", intent="book", service="massage", start="2026-04-26T14:00")
    declined = await talk.say("hapana", intent="decline")
    confirmed = await talk.say("ndio", intent="confirm")
    assert (declined["state"], confirmed["state"], talk.rows("bookings")) == ("COLLECTING", "COLLECTING", [])


async def test_a_taken_slot_leads_to_later_ones_on_the_same_day(talk: Talk) -> None:
    silent = await talk.happen("slot_taken_elsewhere", service="massage", start="2026-04-26T14:00")
    reply = await talk.say("massage", intent="book", service="massage", start="2026-04-26T14:00")
    assert silent["text"] == ""
    assert reply["state"] == "COLLECTING"
    output = reply["tool_calls"][0]["output"]
    assert (output["reason"], output["alternatives"]) == ("taken", ["2026-04-26T15:00", "2026-04-26T15:30"])


async def test_a_slot_that_goes_between_offer_and_yes_is_not_booked_twice(talk: Talk) -> None:
    await talk.say("massage", intent="book", service="massage", start="2026-04-26T14:00")
    await talk.happen("slot_taken_elsewhere", service="massage", start="2026-04-26T14:30")
    reply = await talk.say("ndio", intent="confirm")
    assert reply["state"] == "COLLECTING"
    assert [call["name"] for call in reply["tool_calls"]] == ["create_booking", "check_availability"]
    assert [row["customer_phone"] for row in talk.rows("bookings")] == ["+254700000000"]


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ("2026-04-25T09:00", "past"),
        ("2026-04-25T10:00", "past"),
        ("2026-04-26T07:30", "closed"),
        ("2026-04-26T19:30", "closed"),
        ("2026-04-26T23:30", "closed"),
    ],
)
async def test_no_slot_in_the_past_or_outside_opening_hours_is_offered(talk: Talk, start: str, reason: str) -> None:
    reply = await talk.say("massage", intent="book", service="massage", start=start)
    assert (reply["state"], reply["tool_calls"][0]["output"]["reason"]) == ("COLLECTING", reason)


async def test_rescheduling_frees_the_old_slot(talk: Talk) -> None:
    await talk.book()
    asked = await talk.say("nibadilishie", intent="reschedule", start="2026-04-27T09:00")
    moved = await talk.say("sawa", intent="confirm")
    assert asked["state"] == "CONFIRMING_CHANGE"
    assert (moved["state"], tools(moved)) == (
        "BOOKED",
        [("reschedule_booking", {"booking_id": 1, "start": "2026-04-27T09:00"})],
    )
    await talk.happen("slot_taken_elsewhere", service="massage", start="2026-04-26T14:00")
    assert [row["status"] for row in talk.rows("bookings")] == ["confirmed", "confirmed"]


async def test_a_change_that_is_declined_or_taken_leaves_the_booking(talk: Talk) -> None:
    await talk.book()
    await talk.say("nibadilishie", intent="reschedule", start="2026-04-27T09:00")
    declined = await talk.say("hapana, acha", intent="decline")
    await talk.happen("slot_taken_elsewhere", service="massage", start="2026-04-27T09:00")
    taken = await talk.say("nibadilishie", intent="reschedule", start="2026-04-27T09:00")
    assert (declined["state"], taken["state"]) == ("BOOKED", "BOOKED")
    assert talk.rows("bookings")[0]["start_at"].isoformat() == "2026-04-26T11:00:00+00:00"


async def test_a_change_taken_between_offer_and_yes_leaves_the_booking(talk: Talk) -> None:
    await talk.book()
    await talk.say("nibadilishie", intent="reschedule", start="2026-04-27T09:00")
    await talk.happen("slot_taken_elsewhere", service="massage", start="2026-04-27T09:00")
    reply = await talk.say("sawa", intent="confirm")
    assert (reply["state"], reply["tool_calls"][0]["output"]) == ("BOOKED", {"rescheduled": False, "reason": "taken"})


async def test_cancelling_frees_the_slot_and_the_customer_may_book_again(talk: Talk) -> None:
    await talk.book()
    cancelled = await talk.say("futa", intent="cancel_booking")
    again = await talk.say("massage", intent="book", service="massage", start="2026-04-26T14:00")
    assert (cancelled["state"], tools(cancelled)) == ("CANCELLED", [("cancel_booking", {"booking_id": 1})])
    assert again["state"] == "CONFIRMING_SLOT"


@pytest.mark.parametrize("intent", ["smalltalk", "off_topic", "unclear", "confirm", "decline", "pay", "cancel_payment"])
async def test_what_does_not_belong_here_changes_nothing(talk: Talk, intent: str) -> None:
    reply = await talk.say("Habari", intent=intent)
    assert (reply["state"], reply["payment"], reply["tool_calls"], reply["events"]) == ("GREETING", "NONE", [], [])


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Sure!",
        "[]",
        '{"intent": "buy"}',
        '{"intent": "book", "service": "tattoo"}',
        '{"intent": "book", "start": "2pm"}',
    ],
)
async def test_a_classifier_that_breaks_its_schema_leads_to_asking_again(talk: Talk, answer: str) -> None:
    talk.models.understandings.append(answer)
    reply = await talk.conversation.send("massage")
    assert (reply["state"], reply["tool_calls"], reply["text"]) == ("GREETING", [], "Sawa.")


async def test_a_conversation_goes_on_where_it_stood_when_it_is_opened_again(open_talk: OpenTalk) -> None:
    await (await open_talk()).book()
    reply = await (await open_talk()).say("nilipe", intent="pay")
    assert reply["state"] == "AWAITING_PAYMENT"


async def test_text_of_a_customer_is_stored_as_text(talk: Talk) -> None:
    await talk.say("'; DROP TABLE bookings; --", intent="ask_human", reason="'); DROP TABLE handoffs; --")
    assert talk.rows("handoffs")[0]["reason"] == "'); DROP TABLE handoffs; --"
    assert talk.rows("bookings") == []
