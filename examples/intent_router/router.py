"""A visitor's message is classified, skills are selected, and one of three handlers answers."""

from typing import Any, TypedDict

from intents import classify
from langgraph.graph import END, START, StateGraph
from skills import select_skills

ENDINGS = {
    "propose_demo": "Shall I book you a demo?",
    "share_pricing": "Plans start at KES 2,500 a month.",
    "ask_team_size": "How many people work with you?",
    "collect_email": "Which email may we write to?",
}
REDIRECTS = {
    "SUPPORT": "Our support team helps you at the help desk.",
    "OFFTOPIC": "I can only talk about our booking assistant.",
    "OTHER": "Please write to our office; they answer within two days.",
}


class State(TypedDict, total=False):
    """What a conversation remembers."""

    message: str
    classified: dict[str, Any]
    route: str
    reply: str


def classify_intent(state: State) -> State:
    """Intent, confidence and skills of the message."""
    label, confidence = classify(state["message"])
    skills = select_skills(state["message"])
    return {"classified": {"label": label, "confidence": confidence, "labels": skills}}


def choose_route(state: State) -> State:
    """Redirect what is not for us; book for whoever wants a demo; answer the rest."""
    if state["classified"]["label"] in REDIRECTS:
        return {"route": "redirect"}
    return {"route": "booking" if "propose_demo" in state["classified"]["labels"] else "answer"}


def answer(state: State) -> State:
    """Answer, and end as the skills say."""
    endings = [ENDINGS[skill] for skill in state["classified"]["labels"]]
    return {"reply": " ".join(["Our assistant takes bookings over WhatsApp, day and night.", *endings])}


def redirect(state: State) -> State:
    """Say who can help."""
    return {"reply": REDIRECTS[state["classified"]["label"]]}


def booking(state: State) -> State:
    """Offer a time for the demo, and ask for the email that the visitor wants to leave."""
    endings = [ENDINGS["collect_email"]] if "collect_email" in state["classified"]["labels"] else []
    return {"reply": " ".join(["Gladly! A demo takes 20 minutes. Does tomorrow at 10:00 suit you?", *endings])}


def build(saver: Any) -> Any:
    """The compiled graph; the gate gives the saver."""
    graph = StateGraph(State)
    graph.add_node("classify_intent", classify_intent)
    graph.add_node("choose_route", choose_route)
    graph.add_node("answer", answer)
    graph.add_node("redirect", redirect)
    graph.add_node("booking", booking)
    graph.add_edge(START, "classify_intent")
    graph.add_edge("classify_intent", "choose_route")
    graph.add_conditional_edges("choose_route", lambda state: state["route"], ["answer", "redirect", "booking"])
    for handler in ("answer", "redirect", "booking"):
        graph.add_edge(handler, END)
    return graph.compile(checkpointer=saver)
