"""Why a run has its mode, whether its failures stop anything, and what it runs; a line each."""

from ratiba_action.model.change import Mode, ModeDecision
from ratiba_action.model.plan import Selection
from ratiba_action.reporting.wording import plural


def mode_line(decision: ModeDecision, *, enforce: bool) -> str:
    """The mode, the file and the rule that decided it, and what a failure then does.

    Args:
        decision: with at least one reason, the strictest first.
        enforce: false in a trial period.
    """
    first, *others = decision.reasons
    why = first.why.rstrip(".")
    because = f"{first.path}: {why}" if first.path else why
    same = len({one.path for one in others if one.mode is decision.mode and one.path} - {first.path})
    more = f", and {plural(same, 'more file')}" if same else ""
    return f"Mode: {decision.mode} ({because}{more}). {_effect(decision.mode, enforce=enforce)}"


def selection_line(selection: Selection) -> str:
    """How many of the suite's conversations run and why not the others; empty where all of them run."""
    chosen = len(selection.scenarios)
    total = chosen + len(selection.left_out)
    if chosen == total:
        return ""
    advisory = selection.decision.mode is Mode.ADVISORY
    why = "advisory, so smoke and touched ones, and the recorded" if advisory else "those that were asked for"
    return f"{chosen} of {plural(total, 'conversation')} run: {why}."


def _effect(mode: Mode, *, enforce: bool) -> str:
    if mode is Mode.SKIP:
        return "Nothing is run."
    if mode is Mode.ADVISORY:
        return "Failures do not block: the exit code stays 0. --mode blocking makes them count."
    return "Failures block." if enforce else "Failures do not block: enforce is false."
