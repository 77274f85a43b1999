"""Warnings about scenarios that are valid but probably unintended."""

from collections.abc import Iterator, Sequence
from datetime import date

from ratiba_action.model.scenario import Expectation, Scenario
from ratiba_action.util.gitignore import PatternList
from ratiba_action.verdict.quarantine import ends_soon


def quarantine_advice(scenario: Scenario, today: date) -> Iterator[tuple[int, str]]:
    """Warns of a quarantine that has expired or ends within a week.

    Args:
        scenario: with or without one.
        today: a quarantine includes its last day.
    """
    if scenario.quarantine is not None and scenario.quarantine.until < today:
        until = scenario.quarantine.until.isoformat()
        yield scenario.line, f"its quarantine ended on {until}, so it counts again; remove or renew the quarantine"
    elif scenario.quarantine is not None and ends_soon(scenario.quarantine, today):
        yield (
            scenario.line,
            f"its quarantine ends on {scenario.quarantine.until.isoformat()}; then it counts again",
        )


def measuring_advice(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Warns of a scenario without any assertion, counting metrics that apply without being listed."""
    exact = (
        scenario.rules or scenario.rows or scenario.replies or any(_is_exact(turn.expect) for turn in scenario.turns)
    )
    limited = scenario.limits.seconds is not None or scenario.limits.usd is not None
    if not (scenario.assertions or exact or limited):
        yield scenario.line, "it asserts nothing: add `expect` to a turn, or add rules or assertions"


def touches_advice(scenario: Scenario, paths: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Warns of ``touches`` patterns that match no file.

    Args:
        scenario: with its patterns.
        paths: every file of the repository.
    """
    for text in scenario.touches:
        try:
            pattern = PatternList([text.removeprefix("!")])
        except ValueError as error:
            yield scenario.line, f"touches: {text!r} can never match: {error}"
            continue
        if not any(pattern.match(path) for path in paths):
            yield scenario.line, f"touches: no file matches {text!r}"


def _is_exact(expect: Expectation) -> bool:
    blank = Expectation()
    names = ("state", "payment", "tools", "events", "transitions", "output", "language", "rows")
    return any(getattr(expect, name) != getattr(blank, name) for name in names)
