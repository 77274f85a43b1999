"""Ask the classifier what a message means, and believe only an answer of the agreed shape."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from booking_assistant.catalogue import SERVICE_NAMES
from booking_assistant.clock import Clock, format_minute, parse_minute, weekday
from booking_assistant.fsm import Intent
from booking_assistant.memory import JsonObject, Memory, last_reply
from booking_assistant.phone_number import mask_phone

RAILS = ("mpesa", "pesapal")


def _nullable(schema: JsonObject) -> JsonObject:
    return {"anyOf": [schema, {"type": "null"}]}


ANSWER_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "intent": {"type": "string", "enum": [intent.value for intent in Intent]},
        "service": _nullable({"type": "string", "enum": list(SERVICE_NAMES)}),
        "start": _nullable({"type": "string", "description": "local time as YYYY-MM-DDTHH:MM"}),
        "rail": _nullable({"type": "string", "enum": list(RAILS)}),
        "phone": _nullable({"type": "string"}),
        "reason": _nullable({"type": "string"}),
    },
    "required": ["intent", "service", "start", "rail", "phone", "reason"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Understanding:
    """What a message means.

    Args:
        start: local time as ``YYYY-MM-DDTHH:MM``.
        phone: as the customer wrote it.
        reason: why a person is asked for, or what the complaint is.
    """

    intent: Intent
    service: str | None = None
    start: str | None = None
    rail: str | None = None
    phone: str | None = None
    reason: str | None = None

    def to_json(self) -> JsonObject:
        """As JSON values, for the checkpoint."""
        return {**asdict(self), "intent": self.intent.value}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """Back from a checkpoint."""
        return cls(**{**value, "intent": Intent(value["intent"])})


UNCLEAR = Understanding(Intent.UNCLEAR)


def read_understanding(text: str) -> Understanding:
    """Read the classifier's answer. One that breaks the schema in any way counts as ``unclear``: ask again."""
    try:
        answer = json.loads(text)
        return _check(answer) if isinstance(answer, dict) else UNCLEAR
    except (ValueError, RecursionError):
        return UNCLEAR


def _check(answer: dict[str, Any]) -> Understanding:
    names = ("service", "start", "rail", "phone", "reason")
    details = {name: answer.get(name) for name in names}
    if any(value is not None and not isinstance(value, str) for value in details.values()):
        raise ValueError("a detail is no text")
    if details["service"] not in {*SERVICE_NAMES, None} or details["rail"] not in {*RAILS, None}:
        raise ValueError("a detail is none of the allowed words")
    if details["start"] is not None:
        parse_minute(details["start"])
    return Understanding(Intent(answer.get("intent", "")), **details)


def classifier_question(memory: Memory, clock: Clock) -> str:
    """The user prompt: what the classifier needs, nothing that differs between two runs of one conversation."""
    booking, payment = memory["booking"], memory["payment"]
    proposed = memory["proposed"]
    question = {
        "now": format_minute(clock.now()),
        "weekday": weekday(clock.now()),
        "state": memory["state"],
        "wanted": memory["wanted"],
        "offered_slot": memory["offered"],
        "booking": booking and {"service": booking["service"], "start": booking["start"]},
        "payment": payment and {"rail": payment["rail"], "status": payment["status"]},
        "proposed_phone": proposed and mask_phone(proposed["phone"]),
        "last_assistant_message": last_reply(memory),
        "message": memory["incoming"]["message"],
    }
    return json.dumps(question, ensure_ascii=False, separators=(",", ":"))
