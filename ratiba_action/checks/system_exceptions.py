"""An exception of the system under test: a deterministic assertion that failed, unless the base raises it too."""

from collections.abc import Iterable
from dataclasses import replace

from ratiba_action.model.measurement import Check, Errored, ScenarioResult
from ratiba_action.util.text import clip

KIND = "exception"
"""Of the check of a trial that an exception of the system ended."""

_MAX_MESSAGE = 80


def exception_check(kind: str, place: str, message: str, turn: int) -> Check:
    """The failed assertion that stands for an exception.

    Args:
        kind: type of the exception, with its module where that is not ``builtins``.
        place: ``file:line in function`` of the last frame in a file of the repository.
        turn: number of the turn that it ended, from 1.
    """
    return Check(KIND, turn, f"no exception {kind}", "a reply", clip(f"{place}: {message}"), passed=False)


def exception_of(result: ScenarioResult) -> str:
    """``file:line Type`` of the exception that failed a trial; empty where none did."""
    for check in result.checks if isinstance(result, Errored) else ():
        if check.kind == KIND and not check.passed:
            kind = check.what.removeprefix("no exception ").rpartition(".")[2]
            return f"{check.got.partition(' in ')[0]} {kind}"
    return ""


def raised(result: ScenarioResult) -> bool:
    """Whether the system's own exception ended a trial, be it excused or not."""
    return bool(_exceptions(result))


def message_of(result: ScenarioResult) -> str:
    """What the exception said, after a colon; empty where it said nothing, or there is none."""
    message = next((check.got.partition(": ")[2] for check in _exceptions(result) if not check.passed), "")
    return f": {clip(message, _MAX_MESSAGE)}" if message else ""


def without_those_of_base(
    results: Iterable[ScenarioResult], base: Iterable[ScenarioResult]
) -> tuple[ScenarioResult, ...]:
    """The results, where an exception that the base raises in the same turn counts for nothing: it is not measured.

    Args:
        base: of the base, from every run of it that is known.
    """
    known = {(result.trial.scenario.id, check.turn, check.what) for result in base for check in _exceptions(result)}
    return tuple(_excused(result, known) for result in results)


def _excused(result: ScenarioResult, known: set[tuple[str, int, str]]) -> ScenarioResult:
    again = [check for check in _exceptions(result) if (result.trial.scenario.id, check.turn, check.what) in known]
    if not again or not isinstance(result, Errored):
        return result
    checks = tuple(replace(check, passed=True, measured=False) if check in again else check for check in result.checks)
    return replace(result, checks=checks)


def _exceptions(result: ScenarioResult) -> list[Check]:
    return [check for check in result.checks if check.kind == KIND] if isinstance(result, Errored) else []
