"""From one value a turn to a metric's score of the conversation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ratiba_action.errors import NothingToMeasureError
from ratiba_action.model.measurement import Invariant, Score
from ratiba_action.model.values import mean
from ratiba_action.util.installation import page
from ratiba_action.util.text import clip


def score_invariants(metric: str, version: str, threshold: float, findings: Iterable[Invariant]) -> Score:
    """Satisfied invariants over those that applied, each name counted once and failed if any finding of it failed.

    When nothing applied the value is 0 with the failed invariant ``measured_something``: a metric that measured
    nothing never passes.

    Args:
        threshold: least value that passes.
        findings: in any number; those of one name are joined.
    """
    joined = join(findings) or (Invariant("measured_something", satisfied=False, detail="no invariant applied"),)
    failed = [invariant for invariant in joined if not invariant.satisfied]
    reason = "; ".join(f"{invariant.name}: {invariant.detail}" for invariant in failed)
    return Score(
        metric,
        version,
        (len(joined) - len(failed)) / len(joined),
        threshold,
        judged=False,
        reason=reason or f"{len(joined)} of {len(joined)} invariants hold",
        invariants=joined,
    )


def join(findings: Iterable[Invariant]) -> tuple[Invariant, ...]:
    """One invariant a name, in order of first appearance; the first failure's detail speaks for it."""
    by_name: dict[str, list[Invariant]] = {}
    for finding in findings:
        by_name.setdefault(finding.name, []).append(finding)
    return tuple(_worst(group) for group in by_name.values())


def finding(name: str, detail: str, *, satisfied: bool) -> Invariant:
    """An invariant with its detail clipped: it may quote a reply."""
    return Invariant(name, satisfied, clip(detail))


def _worst(group: Sequence[Invariant]) -> Invariant:
    return next((invariant for invariant in group if not invariant.satisfied), group[0])


_NAMED = 3


@dataclass(frozen=True, slots=True)
class TurnValue:
    """What a metric found in one turn.

    Args:
        turn: its number, from 1.
        value: 0 to 1, 1 is best.
        detail: why, in words; may quote a reply.
    """

    turn: int
    value: float
    detail: str = ""


def mean_of_turns(metric: str, version: str, threshold: float, values: Sequence[TurnValue], remedy: str) -> Score:
    """The mean over the turns that could be measured; the reason names the lowest.

    Args:
        threshold: least value that passes.
        values: one for each turn that has something to measure.
        remedy: what to do when there is none; ``{adapters}`` stands for the address of that page.

    Raises:
        NothingToMeasureError: no turn had anything to measure.
    """
    if not values:
        raise NothingToMeasureError(
            f"{metric} found nothing to measure in this conversation.", remedy.format(adapters=page("adapters"))
        )
    lowest = sorted(values, key=lambda turn: turn.value)[:_NAMED]
    lowest_turns = "; ".join(f"turn {turn.turn}: {turn.value:.2f}{_because(turn)}" for turn in lowest)
    more = f"; {len(values) - _NAMED} more turns, none lower" if len(values) > _NAMED else ""
    average = mean([turn.value for turn in values])
    return Score(metric, version, average, threshold, judged=False, reason=lowest_turns + more)


def _because(value: TurnValue) -> str:
    return f", {clip(value.detail)}" if value.detail else ""
