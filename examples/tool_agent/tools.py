"""What the agent can do: the tools as the model is told them, and the functions behind them."""

from typing import Any

from anthropic.types import ToolParam

CODE = {"code": {"type": "string", "description": "such as KE-4471"}}
TOOLS: list[ToolParam] = [
    {
        "name": "find_parcel",
        "description": "Where a parcel is and on which day it comes.",
        "input_schema": {"type": "object", "properties": CODE, "required": ["code"]},
    },
    {
        "name": "move_delivery",
        "description": "Deliver a parcel on another day.",
        "input_schema": {
            "type": "object",
            "properties": {**CODE, "day": {"type": "string", "description": "YYYY-MM-DD"}},
            "required": ["code", "day"],
        },
    },
]


class Depot:
    """The parcels of one customer.

    Args:
        phone: the customer's.
    """

    def __init__(self, phone: str) -> None:
        self._parcels = {
            "KE-4471": {"owner": phone, "place": "Nakuru", "day": "2026-05-07"},
            "KE-9902": {"owner": "somebody else", "place": "Kisumu", "day": "2026-05-08"},
        }
        self._phone = phone

    def use(self, tool: str, args: dict[str, str]) -> dict[str, Any]:
        """What a tool answers; of a parcel that is not the customer's, only that it is not found."""
        parcel = self._parcels.get(args["code"], {})
        if parcel.get("owner") != self._phone:
            return {"found": False}
        if tool == "move_delivery":
            parcel["day"] = args["day"]
        return {"found": True, "place": parcel["place"], "day": parcel["day"]}
