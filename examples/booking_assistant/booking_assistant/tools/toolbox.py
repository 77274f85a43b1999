"""The registry of tools, and the record of what was called."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from booking_assistant.memory import JsonObject
from booking_assistant.tools import (
    cancel_booking,
    check_availability,
    create_booking,
    hand_off,
    request_payment,
    reschedule_booking,
    reverse_payment,
)
from booking_assistant.tools.desk import Desk

Tool = Callable[..., Awaitable[JsonObject]]

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        "check_availability": check_availability.run,
        "create_booking": create_booking.run,
        "reschedule_booking": reschedule_booking.run,
        "cancel_booking": cancel_booking.run,
        "request_payment": request_payment.run,
        "reverse_payment": reverse_payment.run,
        "hand_off": hand_off.run,
    },
)


@dataclass(slots=True)
class Toolbox:
    """Calls tools by name and keeps what went in and what came out.

    Args:
        desk: what the tools work with.
        calls: name, args and output of each call so far, in order.
    """

    desk: Desk
    calls: list[JsonObject] = field(default_factory=list)

    async def call(self, name: str, **args: Any) -> JsonObject:
        """Call a tool and record the call.

        Raises:
            KeyError: there is no such tool.
        """
        output = await TOOLS[name](self.desk, **args)
        self.calls.append({"name": name, "args": args, "output": output})
        return output
