"""What a type of promptfoo's assertions becomes here."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ratiba_action.authoring.imports import ImportedCase, ImportOutcome
from ratiba_action.authoring.promptfoo.assertion_values import Assert
from ratiba_action.authoring.promptfoo.written_checks import CHECKS


@dataclass(frozen=True, slots=True)
class Rule:
    """What a type of assertion becomes.

    Args:
        becomes: in words, for report and documentation.
        outcome: whether it means the same here.
        apply: adds it to a case, and returns what else differs; None if a person must do it.
        is_code: its value is code, or names a file of code, which stays where it is.
    """

    becomes: str
    outcome: ImportOutcome = ImportOutcome.MAPPED
    apply: Callable[[ImportedCase, Assert], str | None] | None = None
    is_code: bool = False


WRITTEN = f"a metric of `{CHECKS}.py`, which the import writes"
JUDGE = "a judge of the configuration scores it"
ONE_BEST = (
    "promptfoo fails every output of a test but the best; here each prompt with each provider is a scenario of its own"
)
near = partial(Rule, outcome=ImportOutcome.APPROXIMATED)
by_a_person = partial(Rule, outcome=ImportOutcome.MANUAL)
