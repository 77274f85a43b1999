"""One turn in the making: the memory it starts from, and what it adds."""

from dataclasses import dataclass, field

from booking_assistant.fsm import PaymentState, State, move
from booking_assistant.handoff import write_briefing
from booking_assistant.memory import JsonObject, Memory, payment_status
from booking_assistant.tools.toolbox import Toolbox


@dataclass(slots=True)
class Turn:
    """What actions write to.

    Args:
        memory: a copy that this turn owns.
        toolbox: records each call.
        events: type and data, in order.
        facts: what the reply may state.
    """

    memory: Memory
    toolbox: Toolbox
    events: list[JsonObject] = field(default_factory=list)
    facts: JsonObject = field(default_factory=dict)

    @property
    def state(self) -> State:
        """Where the conversation stands now."""
        return State(self.memory["state"])

    @property
    def booking(self) -> JsonObject:
        """The present booking.

        Raises:
            LookupError: there is none.
        """
        if self.memory["booking"] is None:
            raise LookupError(f"state {self.state.value!r} without a booking: a move in the flow is wrong")
        return self.memory["booking"]

    def move_to(self, target: State) -> None:
        """Move, and report it. A conversation that a person has taken over stays where it is."""
        before = self.state
        if before is State.HANDED_OFF or before is target:
            return
        self.memory["state"] = move(before, target).value
        self.events.append({"type": "state_transition", "data": {"from": before.value, "to": target.value}})

    def set_payment(self, payment: JsonObject, before: str | None = None) -> None:
        """Remember the latest payment, and report its state if it changed.

        Args:
            payment: the payment as it is now.
            before: its state until now; default: that of the payment in memory.
        """
        was = before if before is not None else payment_status(self.memory)
        self.memory["payment"] = payment
        if payment["status"] != was:
            data = {"payment_id": payment["id"], "from": was, "to": payment["status"]}
            self.events.append({"type": "payment_state", "data": data})

    def set_payment_status(self, status: PaymentState, receipt: str | None = None) -> None:
        """Change the state of the latest payment."""
        payment = self.memory["payment"]
        if payment is not None:
            self.set_payment({**payment, "status": status.value, "receipt": receipt or payment["receipt"]})

    async def hand_off(self, reason: str) -> None:
        """Give the conversation to a person, once."""
        if self.state is State.HANDED_OFF:
            return
        customer = self.toolbox.desk.customer
        briefing = write_briefing(self.memory, customer.name, customer.phone, reason)
        await self.toolbox.call("hand_off", reason=reason, briefing=briefing.to_json())
        self.events.append({"type": "handoff", "data": {"reason": reason}})
        self.move_to(State.HANDED_OFF)

    def result(self) -> Memory:
        """The memory with all that this turn added."""
        return {**self.memory, "tool_calls": self.toolbox.calls, "events": self.events, "facts": self.facts}
