"""What a scripted model says: the steps from which recordings are written by hand."""

import json
from dataclasses import dataclass
from typing import Any

from ratiba_action.model.canonical import canonical_json
from ratiba_action.model.conversation import ToolCall, Usage

_BYTES_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of a scripted model.

    Args:
        provider: ``anthropic``, ``openai``, ``gemini`` or a name of ``providers``; a call to another one is an error.
            None answers any.
        text: what it says.
        data: what it says, as a value that is sent as JSON; not together with ``text``.
        tools: the tools that it calls, in order.
        usage: the tokens to report; None estimates them from the length of the texts.
    """

    provider: str | None
    text: str = ""
    data: Any = None
    tools: tuple[ToolCall, ...] = ()
    usage: Usage | None = None

    def spoken(self) -> str:
        """The text of the answer, its data as JSON."""
        return self.text if self.data is None else json.dumps(self.data, ensure_ascii=False)


def estimated_usage(step: Step, request: Any) -> Usage:
    """Tokens of an answer that no model gave, at four bytes a token, rounded up.

    Args:
        step: the answer.
        request: the request's body.
    """
    answer = step.spoken() + "".join(canonical_json([call.name, dict(call.args)]) for call in step.tools)
    return Usage(input_tokens=_tokens(canonical_json(request)), output_tokens=_tokens(answer))


def _tokens(text: str) -> int:
    return max(1, -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN))
