"""What the model that writes the reply is told: the facts of this turn, and nothing else to promise."""

import json

from booking_assistant.clock import Clock, format_minute, weekday
from booking_assistant.memory import JsonObject, Memory
from booking_assistant.phone_number import mask_phone

_COURTESY = {
    "sw": "Asante kwa ujumbe wako. Mwenzetu ameshapokea mazungumzo haya na atakujibu hapa hivi karibuni.",
    "en": "Thank you for your message. A colleague has this conversation now and will reply to you here shortly.",
}


def courtesy_line(language: str) -> str:
    """The fixed answer once a person has taken over. Mixed conversations get the Swahili one."""
    return _COURTESY["en" if language == "en" else "sw"]


def reply_question(memory: Memory, clock: Clock, language: str, customer_name: str) -> str:
    """The user prompt: language, time, name, state, facts, and the message or the event that led to them."""
    incoming = memory["incoming"]
    event = incoming.get("event")
    cause = {"event": event["type"]} if event else {"message": incoming["message"]}
    question = {
        "language": language,
        "now": format_minute(clock.now()),
        "weekday": weekday(clock.now()),
        "customer_name": customer_name,
        "state": memory["state"],
        "facts": {
            **memory["facts"],
            "tools": [_tool(call) for call in memory["tool_calls"]],
            "offered_slot": memory["offered"],
            "booking": _booking(memory["booking"]),
            "payment": _payment(memory["payment"]),
        },
        **cause,
    }
    return json.dumps(question, ensure_ascii=False, separators=(",", ":"))


def _tool(call: JsonObject) -> JsonObject:
    args = {name: value for name, value in call["args"].items() if name != "briefing"}
    if "phone" in args:
        args["phone"] = mask_phone(args["phone"])
    return {"name": call["name"], "args": args, "result": call["output"]}


def _booking(booking: JsonObject | None) -> JsonObject | None:
    return booking and {name: booking[name] for name in ("service", "start", "price_kes")}


def _payment(payment: JsonObject | None) -> JsonObject | None:
    if payment is None:
        return None
    shown = {name: payment[name] for name in ("rail", "amount_kes", "status", "receipt")}
    return {**shown, "phone": mask_phone(payment["phone"])}
