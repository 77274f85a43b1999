"""Do an agent's tool calls agree with each other over the turns of a conversation?"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from ratiba_action.model.conversation import Exchange
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.text import clip
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"


class ToolConsistencyParameters(StrictModel):
    """Which arguments are compared."""

    arguments: Annotated[
        list[Annotated[str, Field(min_length=1)]],
        Field(min_length=1, description="arguments that keep their value over the turns, whichever tool takes them"),
    ]


class ToolConsistencyMetric:
    """Implements ``Metric`` without a judge: arguments used again with their last value, over all that are used again.

    A turn whose ``expect.tools`` gives an argument changes it: the expected value is the last one from there on.
    """

    name = "ToolConsistencyMetric"
    version = __version__
    judged = False
    Parameters = ToolConsistencyParameters

    def __init__(self, parameters: ToolConsistencyParameters) -> None:
        self._arguments = tuple(dict.fromkeys(parameters.arguments))

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score the calls of all turns; 1 where no argument is used a second time."""
        last: dict[str, Any] = {}
        again, wrong = 0, list[str]()
        for number, exchange in enumerate(case.transcript.exchanges, 1):
            last |= self._expected(exchange)
            for tool, argument, value in self._used(exchange):
                if argument in last:
                    again += 1
                    if last[argument] != value:
                        wrong.append(
                            f"turn {number}: {tool} has {argument} {value!r}, before it was {last[argument]!r}"
                        )
                last[argument] = value
        value = 1 - len(wrong) / again if again else 1.0
        reason = clip("; ".join(wrong)) or f"{again} arguments used again, all with the same value"
        return Score(self.name, self.version, value, threshold, judged=False, reason=reason)

    def _expected(self, exchange: Exchange) -> dict[str, Any]:
        tools = exchange.turn.expect.tools or ()
        return {name: tool.args[name] for tool in tools for name in self._arguments if name in tool.args}

    def _used(self, exchange: Exchange) -> Iterator[tuple[str, str, Any]]:
        for call in exchange.reply.tool_calls:
            yield from ((call.name, name, call.args[name]) for name in self._arguments if name in call.args)
