"""What a conversation takes on the base and with a change: money, model calls, tokens and time."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import ConversationCost, Figure, FigureChange, MeasuredRun, ScenarioCost
from ratiba_action.model.conversation import Exchange
from ratiba_action.model.measurement import Scored
from ratiba_action.model.values import mean
from ratiba_action.model.verdict import Conclusion, Limits, Verdict
from ratiba_action.verdict.interval import t_interval
from ratiba_action.verdict.pairing import content_digest

_ROUNDING = 1e-9
_TAIL = 0.95

WORDS: Mapping[Figure, str] = {
    Figure.USD: "cost",
    Figure.CALLS: "model calls",
    Figure.INPUT_TOKENS: "input tokens",
    Figure.OUTPUT_TOKENS: "output tokens",
    Figure.SECONDS: "seconds to a reply",
}


def conversation_cost(
    head: Sequence[MeasuredRun], base: Sequence[MeasuredRun], limits: Mapping[str, float]
) -> ConversationCost | None:
    """Compare what each scenario takes on both sides.

    A scenario counts where both sides measured it to its end, with the same content and answers from the same kind of
    source. Recorded answers have the usage of their recording, so money, calls and tokens are compared in a replay
    too; the time to a reply only where it was live on both sides.

    Args:
        limits: greatest increase of a figure as a share of the base's, by ``Figure``.

    Returns:
        None where no scenario can be compared, or no model was called on either side.
    """
    ours, theirs = _trials(head), _trials(base)
    costs, replies = list[ScenarioCost](), list[tuple[Sequence[float], Sequence[float]]]()
    chance = False
    for place in sorted(ours.keys() & theirs.keys()):
        left, right = theirs[place], ours[place]
        before, after = _figures(left), _figures(right)
        both = [figure for figure in Figure if figure in before and figure in after]
        if both:
            costs.append(
                ScenarioCost(place[0], {name: before[name] for name in both}, {name: after[name] for name in both})
            )
            chance = chance or place[2] != AnswerOrigin.REPLAY or len(left) > 1 or len(right) > 1
        if Figure.SECONDS in both:
            replies.append((_seconds(left), _seconds(right)))
    if not any(cost.base.get(Figure.CALLS) or cost.head.get(Figure.CALLS) for cost in costs):
        return None
    changes = [_change(figure, costs, limits.get(figure), chance=chance) for figure in Figure]
    figures = tuple(_with_replies(change, replies) for change in changes if change is not None)
    return ConversationCost(figures, tuple(costs))


def apply_limits(verdict: Verdict, limits: Limits) -> Verdict:
    """The verdict with what exceeds its limit: a warning, or a failure where the configuration says so."""
    found = verdict.cost.figures if verdict.cost is not None else ()
    problems = [_excess(change) for change in found if change.exceeded]
    if not problems:
        return verdict
    text = f"A conversation takes more than the limits allow: {'; '.join(problems)}."
    if limits.increases_block and verdict.conclusion in (Conclusion.PASSED, Conclusion.INCONCLUSIVE):
        return replace(
            verdict,
            conclusion=Conclusion.FAILED,
            reason=text,
            action="Make the change cheaper, or raise the limit under limits in a pull request of its own.",
        )
    return replace(verdict, warnings=(*verdict.warnings, text))


def _excess(change: FigureChange) -> str:
    """One figure that exceeds its limit."""
    rise = increase(change)
    by = "from nothing" if rise is None else f"{rise:+.0%}"
    return f"{WORDS[change.figure]} {by}, limit +{change.limit or 0:.0%}"


def increase(change: FigureChange) -> float | None:
    """Head against base as a share of the base's; None where the base's is nothing."""
    return change.head / change.base - 1 if change.base else None


def _trials(runs: Iterable[MeasuredRun]) -> dict[tuple[str, str, str], list[Scored]]:
    """The trials of each scenario, by its id, its content and where its answers came from."""
    found: dict[tuple[str, str, str], list[Scored]] = {}
    for run in runs:
        for result in run.results:
            if isinstance(result, Scored):
                scenario = result.trial.scenario
                digest = run.scenario_digests.get(scenario.id) or content_digest(scenario)
                found.setdefault((scenario.id, digest, run.answers), []).append(result)
    return found


def _figures(trials: Sequence[Scored]) -> dict[str, float]:
    """The mean of each figure over the trials; without those that a trial does not know."""
    totals = [_totals(trial.transcript.exchanges) for trial in trials]
    names = set.intersection(*(set(total) for total in totals))
    return {name: mean([total[name] for total in totals]) for name in names}


def _totals(exchanges: Sequence[Exchange]) -> dict[str, float]:
    found: dict[str, float] = {}
    prices = [exchange.usd for exchange in exchanges if exchange.usd is not None]
    calls = [exchange.calls for exchange in exchanges if exchange.calls is not None]
    usages = [exchange.usage for exchange in exchanges if exchange.usage is not None]
    if exchanges and len(prices) == len(exchanges):
        found[Figure.USD] = float(sum(prices))
    if exchanges and len(calls) == len(usages) == len(exchanges):
        found[Figure.CALLS] = float(sum(calls))
        found[Figure.INPUT_TOKENS] = float(
            sum(usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens for usage in usages)
        )
        found[Figure.OUTPUT_TOKENS] = float(sum(usage.output_tokens for usage in usages))
    if any(calls) and not any(exchange.replayed for exchange in exchanges):
        found[Figure.SECONDS] = mean([exchange.seconds for exchange in exchanges])
    return found


def _seconds(trials: Sequence[Scored]) -> Sequence[float]:
    return [exchange.seconds for trial in trials for exchange in trial.transcript.exchanges]


def _change(figure: Figure, costs: Sequence[ScenarioCost], limit: float | None, *, chance: bool) -> FigureChange | None:
    pairs = [(cost.base[figure], cost.head[figure]) for cost in costs if figure in cost.base]
    if not pairs:
        return None
    base, head = mean([left for left, _ in pairs]), mean([right for _, right in pairs])
    between = t_interval([right - left for left, right in pairs]) if chance and len(pairs) > 1 else None
    surely = head - base if between is None else between.low
    exceeded = limit is not None and surely > limit * base + _ROUNDING
    low, high = (None, None) if between is None else (between.low, between.high)
    return FigureChange(figure, len(pairs), base, head, low, high, limit, exceeded)


def _with_replies(change: FigureChange, replies: Sequence[tuple[Sequence[float], Sequence[float]]]) -> FigureChange:
    if change.figure is not Figure.SECONDS:
        return change
    sides = [sorted(second for pair in replies for second in pair[side]) for side in (0, 1)]
    return replace(
        change,
        median=tuple(_quantile(seconds, 0.5) for seconds in sides),
        p95=tuple(_quantile(seconds, _TAIL) for seconds in sides),
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least so many of all reach (nearest rank, Hyndman and Fan 1996, type 1)."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
