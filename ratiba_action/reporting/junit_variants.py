"""The variants of a system as test cases of ``junit.xml``: none of them decides, so none of them fails."""

from collections.abc import Iterable, Sequence

from ratiba_action.model.variant import VariantResult
from ratiba_action.model.verdict import Conclusion
from ratiba_action.reporting.variant_words import NOT_RUN, differences_of, ended, passed_of, why
from ratiba_action.reporting.wording import number


def variant_cases(variants: Iterable[VariantResult]) -> Sequence[tuple[str, str, str]]:
    """Of each variant its name, why its case is skipped (empty where it would have passed), and all its figures.

    The system as it stands has none: the other cases are its own.
    """
    return [(one.name, _skipped(one), _figures(one)) for one in variants if one.name]


def _skipped(one: VariantResult) -> str:
    if one.problem:
        return f"{NOT_RUN}: {why(one)}"
    been = "" if one.conclusion == Conclusion.FAILED.value else "been "
    passed = one.conclusion == Conclusion.PASSED.value
    return "" if passed else f"not the system as it stands: it would have {been}{ended(one)}: {why(one)}"


def _figures(one: VariantResult) -> str:
    lines = [f"differs in: {differences_of(one)}"]
    if not one.problem:
        lines += [f"passed: {passed_of(one)}", f"errors: {one.errored + one.not_run}"]
        lines += [f"{name}: {number(mean)}" for name, mean in sorted(one.means.items())]
        lines += [f"USD at list prices: {one.list_price:.4f}"]
    return "\n".join(lines)
