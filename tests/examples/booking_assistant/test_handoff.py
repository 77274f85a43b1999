from typing import Any

import pytest
from booking_assistant.handoff import BriefingCard

from tests.examples.booking_assistant.conftest import OpenTalk, Talk

CARD = {
    "customer": {"name": "Wanjiku", "phone": "+254712345432"},
    "summary": "Wanjiku: a complaint",
    "state": "BOOKED",
    "booking": None,
    "payment": None,
    "last_messages": [{"role": "customer", "text": "Habari"}],
}


@pytest.mark.parametrize("intent", ["ask_human", "complain"])
async def test_a_person_gets_the_conversation_with_a_briefing_card(talk: Talk, intent: str) -> None:
    await talk.book()
    reply = await talk.say("Nataka kuongea na mtu", intent=intent, reason="price")
    assert reply["state"] == "HANDED_OFF"
    assert {"type": "handoff", "data": {"reason": "price"}} in reply["events"]
    (row,) = talk.rows("handoffs")
    card = row["briefing"]
    assert reply["tool_calls"][0]["args"] == {"reason": "price", "briefing": card}
    assert card["customer"] == {"name": "Wanjiku", "phone": "+254712345432"}
    assert (card["state"], card["booking"]["id"], card["payment"]) == ("BOOKED", 1, None)
    assert card["last_messages"][-1] == {"role": "customer", "text": "Nataka kuongea na mtu"}


@pytest.mark.parametrize(("language", "word"), [("sw", "Asante"), ("mixed", "Asante"), ("en", "Thank you")])
async def test_after_a_hand_off_only_a_fixed_line_is_sent_and_no_model_asked(
    open_talk: OpenTalk, language: str, word: str
) -> None:
    talk = await open_talk(language=language)
    await talk.say("mtu", intent="ask_human")
    asked = len(talk.models.requests)
    reply = await talk.conversation.send("Hallo?")
    assert reply["text"].startswith(word)
    assert (reply["state"], reply["tool_calls"], reply["events"]) == ("HANDED_OFF", [], [])
    assert len(talk.models.requests) == asked


async def test_money_that_arrives_after_a_hand_off_is_settled_in_silence(talk: Talk) -> None:
    await talk.ask_to_pay()
    await talk.say("mtu", intent="ask_human")
    reply = await talk.called_back()
    assert (reply["text"], reply["state"], reply["payment"]) == ("", "HANDED_OFF", "PAID")
    assert len(talk.rows("handoffs")) == 1


def test_a_card_survives_its_own_json() -> None:
    assert BriefingCard.from_json(CARD).to_json() == CARD


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"summary": None}, "summary"),
        ({"customer": "Wanjiku"}, "customer"),
        ({"last_messages": ["Habari"]}, "last_messages"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_card_of_another_shape_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        BriefingCard.from_json({**CARD, **change})
