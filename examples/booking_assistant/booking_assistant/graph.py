"""The conversation as a LangGraph graph: understand, act, respond."""

from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from booking_assistant.actions import act
from booking_assistant.fsm import State
from booking_assistant.llm_router import BOOKING_ORCHESTRATOR, INTENT_CLASSIFIER, LLMRouter
from booking_assistant.memory import JsonObject, Memory, remember
from booking_assistant.payment_actions import cancel_payment, receive_callback
from booking_assistant.responding import courtesy_line, reply_question
from booking_assistant.tools.desk import Desk
from booking_assistant.tools.toolbox import Toolbox
from booking_assistant.turn import Turn
from booking_assistant.understanding import ANSWER_SCHEMA, Understanding, classifier_question, read_understanding

Graph = CompiledStateGraph[Memory, None, Memory, Memory]


@dataclass(frozen=True, slots=True)
class Assistant:
    """The nodes of the graph.

    Args:
        language: of the fixed lines and the replies: sw, en or mixed.
    """

    router: LLMRouter
    desk: Desk
    tenant_id: str
    conversation_id: str
    language: str

    async def understand(self, state: Memory) -> JsonObject:
        """Ask the classifier what the message means."""
        answer = await self._ask(INTENT_CLASSIFIER, classifier_question(state, self.desk.clock), ANSWER_SCHEMA)
        return {"understanding": read_understanding(answer).to_json()}

    async def act(self, state: Memory) -> Memory:
        """Do what the flow says, with tools; no model takes part."""
        turn = self._turn(state)
        await act(turn, Understanding.from_json(state["understanding"] or {}))
        return turn.result()

    async def receive_event(self, state: Memory) -> Memory:
        """Take in something that is not the customer's message."""
        turn = self._turn(state)
        event = state["incoming"]["event"]
        if event["type"] == "payment_callback":
            await receive_callback(turn, event)
        else:
            await cancel_payment(turn)
        return turn.result()

    async def respond(self, state: Memory) -> JsonObject:
        """Let the orchestrator's model word the reply."""
        question = reply_question(state, self.desk.clock, self.language, self.desk.customer.name)
        reply = await self._ask(BOOKING_ORCHESTRATOR, question)
        return {"reply": reply, "history": remember(state, reply)}

    async def stay_polite(self, state: Memory) -> JsonObject:
        """After a hand-off: a fixed line, no model and no tool."""
        reply = courtesy_line(self.language)
        return {"reply": reply, "history": remember(state, reply)}

    async def _ask(self, role: str, question: str, schema: JsonObject | None = None) -> str:
        prompt = self.router.resolve_prompt(role, self.tenant_id, self.conversation_id)
        response = await self.router.call_for_role(
            role, self.tenant_id, self.conversation_id, prompt.text, question, schema
        )
        return response.text

    def _turn(self, memory: Memory) -> Turn:
        return Turn(memory={**memory}, toolbox=Toolbox(self.desk))


def build_graph(assistant: Assistant, saver: BaseCheckpointSaver[Any]) -> Graph:
    """Wire the nodes; the saver keeps the memory between turns."""
    graph: StateGraph[Memory, None, Memory, Memory] = StateGraph(Memory)
    graph.add_node("understand", assistant.understand)
    graph.add_node("act", assistant.act)
    graph.add_node("receive_event", assistant.receive_event)
    graph.add_node("respond", assistant.respond)
    graph.add_node("stay_polite", assistant.stay_polite)
    graph.add_conditional_edges(START, _entrance, ["understand", "receive_event", "stay_polite"])
    graph.add_edge("understand", "act")
    graph.add_edge("act", "respond")
    graph.add_conditional_edges("receive_event", _after_event, ["respond", END])
    graph.add_edge("respond", END)
    graph.add_edge("stay_polite", END)
    return graph.compile(checkpointer=saver)


def _entrance(memory: Memory) -> str:
    if "event" in memory["incoming"]:
        return "receive_event"
    return "stay_polite" if memory["state"] == State.HANDED_OFF else "understand"


def _after_event(memory: Memory) -> str:
    """An event is settled after a hand-off too, but the person who took over speaks, not the assistant."""
    handed_off_now = any(event["type"] == "handoff" for event in memory["events"])
    return END if memory["state"] == State.HANDED_OFF and not handed_off_now else "respond"
