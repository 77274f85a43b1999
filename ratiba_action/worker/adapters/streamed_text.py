"""The text that a graph streams to its user: the tokens of its response nodes and of no other."""

from __future__ import annotations

from typing import Any

from .lang_messages import text_of


async def streamed_text(graph: Any, given: Any, config: dict[str, Any], nodes: frozenset[str]) -> str:
    """Run the graph to its end; what the models of the response nodes said, in the order in which they began.

    A model that does not stream counts with its whole answer.

    Args:
        graph: compiled.
        given: its input.
        config: names the thread.
        nodes: names of the response nodes.
    """
    texts: dict[str, str] = {}
    async for event in graph.astream_events(given, config, version="v2"):
        if event["metadata"].get("langgraph_node") not in nodes:
            continue
        run = event["run_id"]
        if event["event"] == "on_chat_model_start":
            texts[run] = ""
        elif event["event"] == "on_chat_model_stream":
            texts[run] = texts.get(run, "") + text_of(event["data"]["chunk"])
        elif event["event"] == "on_chat_model_end":
            texts[run] = texts.get(run) or text_of(event["data"]["output"])
    return "".join(texts.values())
