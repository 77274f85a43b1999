"""Metrics of the calls of a whole conversation, matched with those that were expected."""

from collections.abc import Callable

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.tool_calls import ToolMatch, ToolTurn, match_calls, tool_turns
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.clipping import clip

NO_TOOLS = "Give a turn `expect.tools`; an empty list forbids any call."


def score_match(
    metric: str, version: str, case: Case, threshold: float, formula: Callable[[ToolMatch], float]
) -> Score:
    """A formula over the matched calls, with what was missing and what was surplus as the reason.

    Raises:
        ConfigurationError: no turn that was held says which calls it expects.
    """
    match = match_calls(turns_of(metric, case), case.scenario.now.tzinfo)
    told = [f"{match.matched} of {match.expected} expected calls made, {match.made} made in all"]
    if match.missing:
        told.append(f"missing: {clip(', '.join(tool.name for tool in match.missing))}")
    if match.surplus:
        told.append(f"not expected: {clip(', '.join(call.name for call in match.surplus))}")
    return Score(metric, version, formula(match), threshold, judged=False, reason="; ".join(told))


def turns_of(metric: str, case: Case) -> tuple[ToolTurn, ...]:
    """The turns that say which calls they expect.

    Raises:
        ConfigurationError: there is none.
    """
    turns = tool_turns(case.transcript.exchanges)
    if not turns:
        raise ConfigurationError(f"{metric} found nothing to measure in this conversation.", NO_TOOLS)
    return turns
