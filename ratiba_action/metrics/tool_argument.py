"""Did the agent give its tools the right arguments? Part of a call may be right."""

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.tool_calls import argument_values, turns_of
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.text import clip

__version__ = "1.0.0"


class ToolArgumentMetric:
    """Implements ``Metric`` without a judge: right arguments over expected ones, of all expected calls."""

    name = "ToolArgumentMetric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score the arguments; those of a call that was not made are wrong.

        Raises:
            ConfigurationError: no expected call names an argument.
        """
        right = total = 0
        wrong = []
        for turn in turns_of(self.name, case):
            for tool, correct in argument_values(turn, case.scenario.now.tzinfo):
                right, total = right + len(correct), total + len(tool.args)
                missed = [name for name in tool.args if name not in correct]
                wrong += [f"turn {turn.turn}: {tool.name} without the expected {', '.join(missed)}"] if missed else []
        if not total:
            raise ConfigurationError(
                f"{self.name} found nothing to measure in this conversation.",
                "Give a tool of `expect.tools` its `args`.",
            )
        reason = clip("; ".join(wrong)) or f"{total} of {total} arguments right"
        return Score(self.name, self.version, right / total, threshold, judged=False, reason=reason)
