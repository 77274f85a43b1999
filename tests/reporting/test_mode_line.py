"""One line that says why a run has its mode and what a failure does."""

import pytest

from ratiba_action.model.change import Mode, ModeDecision, Reason
from ratiba_action.model.plan import Selection
from ratiba_action.reporting.wording import mode_line, selection_line
from tests.support.sample_report import sample_scenario

PROMPT = Reason("prompts/a.md", "prompts/**", Mode.BLOCKING, "matches the rule 'blocking prompts/**'")
CODE = Reason("shop.py", "**/*.py", Mode.ADVISORY, "matches the rule 'advisory **/*.py'")
ASKED = Reason("", "mode", Mode.BLOCKING, "the mode input asks for at least blocking")
TRIAL = "Failures do not block: enforce is false."
SOFT = "Failures do not block, but for new ones of critical scenarios. To block by all, use --mode blocking."


@pytest.mark.parametrize(
    ("mode", "reasons", "enforce", "line"),
    [
        (
            Mode.BLOCKING,
            (PROMPT, CODE),
            True,
            "Mode: blocking (prompts/a.md: matches the rule 'blocking prompts/**'). Failures block.",
        ),
        (
            Mode.BLOCKING,
            (ASKED, PROMPT, CODE),
            False,
            "Mode: blocking (the mode input asks for at least blocking, and 1 more file). " + TRIAL,
        ),
        (
            Mode.ADVISORY,
            (CODE, CODE),
            True,
            "Mode: advisory (shop.py: matches the rule 'advisory **/*.py'). " + SOFT,
        ),
        (Mode.ADVISORY, (CODE,), False, "Mode: advisory (shop.py: matches the rule 'advisory **/*.py'). " + TRIAL),
    ],
)
def test_the_line_names_mode_file_and_rule_and_says_what_a_failure_does(
    mode: Mode, reasons: tuple[Reason, ...], enforce: object, line: str
) -> None:
    assert mode_line(ModeDecision(mode, reasons), enforce=bool(enforce)) == line


@pytest.mark.parametrize(
    ("mode", "left_out", "line"),
    [
        (Mode.BLOCKING, (), ""),
        (Mode.BLOCKING, ("other",), "1 of 2 scenarios run: those selected."),
        (
            Mode.ADVISORY,
            ("b", "c", "d"),
            "1 of 4 scenarios run: advisory mode runs smoke scenarios, touched ones and fully recorded ones.",
        ),
    ],
)
def test_a_run_of_some_conversations_says_how_many_of_how_many_and_why(
    mode: Mode, left_out: tuple[str, ...], line: str
) -> None:
    assert selection_line(Selection(ModeDecision(mode, (CODE,)), (sample_scenario(),), left_out)) == line


def test_critical_scenarios_that_run_because_nothing_covers_the_change_are_explained() -> None:
    selection = Selection(ModeDecision(Mode.ADVISORY, (CODE,)), (sample_scenario(),), ("b",), covered=False)
    assert selection_line(selection).endswith("; none covers this change, so critical ones run too.")
