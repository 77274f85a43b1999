"""What the variants of a system came to, side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ratiba_action.model.values import Usd


@dataclass(frozen=True, slots=True)
class VariantResult:
    """One variant of the system over the conversations of a run.

    Args:
        name: of the variant; empty for the system as it stands.
        differences: ``name=value`` of each thing that differs from the system as it stands.
        means: of each metric that measured something, by its name.
        list_price: of its model calls, replayed ones too.
        problem: why it was not run; empty when it was.
        conclusion: what its run would have been on its own; empty when it was not run.
        reason: of that conclusion; empty when it passed.
    """

    name: str
    differences: tuple[str, ...] = ()
    passed: int = 0
    failed: int = 0
    errored: int = 0
    not_run: int = 0
    means: Mapping[str, float] = field(default_factory=dict)
    list_price: Usd = field(default_factory=lambda: Usd(0))
    problem: str = ""
    conclusion: str = ""
    reason: str = ""
