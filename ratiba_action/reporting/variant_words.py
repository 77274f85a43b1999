"""How the variants of a system are put into words, the same in every form of the report."""

from collections.abc import Sequence

from ratiba_action.model.verdict import VariantResult

AS_IT_STANDS = "as it stands"
NOT_RUN = "not run"
VERDICT_IS_OF = "The verdict is of the system as it stands; no variant changes it."


def name_of(one: VariantResult) -> str:
    """Its name; that of the system itself has none."""
    return one.name or AS_IT_STANDS


def differences_of(one: VariantResult) -> str:
    """What differs from the system as it stands."""
    return ", ".join(one.differences) or "nothing"


def ended(one: VariantResult) -> str:
    """How its run would have ended on its own."""
    return NOT_RUN if one.problem else one.conclusion


def why(one: VariantResult) -> str:
    """Why it was not run, or why its run would have ended so; empty where it would have passed."""
    return one.problem or one.reason


def passed_of(one: VariantResult) -> str:
    """Conversations that passed, of all; empty for one that was not run."""
    total = one.passed + one.failed + one.errored + one.not_run
    return "" if one.problem else f"{one.passed} of {total}"


def metrics_of(variants: Sequence[VariantResult]) -> tuple[str, ...]:
    """Every metric that measured one of them, in order of name."""
    return tuple(sorted({name for one in variants for name in one.means}))
