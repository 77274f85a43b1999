"""What is allowed in a scenario and is probably not meant."""

from collections.abc import Iterator, Sequence
from datetime import date

from ratiba_action.model.scenario import Expectation, Scenario
from ratiba_action.util.gitignore import PatternList
from ratiba_action.verdict.quarantine import ends_soon


def quarantine_advice(scenario: Scenario, today: date) -> Iterator[tuple[int, str]]:
    """A quarantine that is over, or ends within a week.

    Args:
        scenario: with or without one.
        today: the last day of a quarantine still belongs to it.
    """
    if scenario.quarantine is not None and scenario.quarantine.until < today:
        until = scenario.quarantine.until.isoformat()
        yield scenario.line, f"its quarantine ended on {until}, so that it decides again; take it out or renew it"
    elif scenario.quarantine is not None and ends_soon(scenario.quarantine, today):
        yield (
            scenario.line,
            f"its quarantine ends on {scenario.quarantine.until.isoformat()}, and then it decides again",
        )


def measuring_advice(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """A scenario that measures nothing, with the metrics that it does not list itself."""
    exact = (
        scenario.rules or scenario.rows or scenario.replies or any(_is_exact(turn.expect) for turn in scenario.turns)
    )
    limited = scenario.limits.seconds is not None or scenario.limits.usd is not None
    if not (scenario.assertions or exact or limited):
        yield scenario.line, "it asserts nothing: give a turn an `expect`, or write rules or assertions"


def touches_advice(scenario: Scenario, paths: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Patterns of ``touches`` that match no file.

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
