"""What a model said and which tools it called, read from a recorded answer of any endpoint."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ratiba_action.model.canonical import canonical_json, digest
from ratiba_action.model.values import JsonObject

_ENDS = ("stop_reason", "finish_reason")
_NEW_EACH_TIME = frozenset(
    {"created", "created_at", "completed_at", "id", "system_fingerprint", "service_tier", "usage"}
)
_DIGEST_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Said:
    """The readable part of an answer.

    Args:
        text: what was said, its parts one a line.
        tools: each call as ``name(arguments)``, its arguments as the model wrote them.
        ended: why the model stopped; empty where the answer does not tell.
    """

    text: str
    tools: tuple[str, ...] = ()
    ended: str = ""


def read_said(response: JsonObject) -> Said:
    """The readable part; an answer that says nothing, such as an embedding, is told by a digest of its content."""
    texts: list[str] = []
    tools: list[str] = []
    ends: list[str] = []
    for block in _blocks(response):
        ends += [str(block[name]) for name in _ENDS if block.get(name)]
        tool = _tool(block)
        if tool is not None:
            tools.append(tool)
        texts += [block[name] for name in ("content", "text", "refusal") if isinstance(block.get(name), str)]
    if not texts and not tools:
        texts.append(f"(no text; content {digest(lasting(response))[:_DIGEST_DIGITS]})")
    return Said("\n".join(texts), tuple(tools), ", ".join(ends))


def lasting(response: JsonObject) -> dict[str, Any]:
    """The answer without what is new each time a provider says the same: ids of the whole answer, times, usage."""
    return {name: value for name, value in response.items() if name not in _NEW_EACH_TIME}


def _blocks(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object of an answer in order, but not what lies inside a tool's arguments."""
    if isinstance(value, Mapping):
        yield value
        if _tool(value) is None:
            for name, item in value.items():
                if name != "usage":
                    yield from _blocks(item)
    elif isinstance(value, list):
        for item in value:
            yield from _blocks(item)


def _tool(block: Mapping[str, Any]) -> str | None:
    for arguments in ("input", "arguments"):
        if isinstance(block.get("name"), str) and arguments in block:
            written = block[arguments]
            return f"{block['name']}({written if isinstance(written, str) else canonical_json(written)})"
    return None
