"""From single findings to a deterministic metric's score."""

from collections.abc import Iterable, Sequence

from ratiba_action.model.measurement import Invariant, Score
from ratiba_action.util.clipping import clip


def score_invariants(metric: str, version: str, threshold: float, findings: Iterable[Invariant]) -> Score:
    """Satisfied invariants over those that applied, each name counted once and failed if any finding of it failed.

    When nothing applied the value is 0 with the failed invariant ``measured_something``: a metric that measured
    nothing never passes.

    Args:
        metric: the metric's name.
        version: its version.
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
    return next((one for one in group if not one.satisfied), group[0])
