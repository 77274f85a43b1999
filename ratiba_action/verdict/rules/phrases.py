"""Parts of the sentences that a verdict is told in."""

from collections.abc import Iterable, Sequence

from ratiba_action.verdict.trials import ScenarioOutcome

_NAMED = 3
_LONGEST = 300


def ids_of(outcomes: Iterable[ScenarioOutcome]) -> tuple[str, ...]:
    """Ids of the scenarios, each once."""
    return tuple(dict.fromkeys(outcome.scenario.id for outcome in outcomes))


def names(outcomes: Iterable[ScenarioOutcome]) -> str:
    """The ids of the first few scenarios, and how many more there are."""
    return first_of(ids_of(outcomes))


def first_of(texts: Sequence[str], between: str = ", ") -> str:
    """The first few texts, and how many more there are."""
    shown = between.join(texts[:_NAMED])
    return shown if len(texts) <= _NAMED else f"{shown} and {len(texts) - _NAMED} more"


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def scenarios_counted(outcomes: Sequence[ScenarioOutcome]) -> str:
    """How many scenarios."""
    return count(len(outcomes), "scenario")


def sentence(text: str) -> str:
    """One line of bounded length that ends like a sentence: the system under test may have worded it."""
    text = " ".join(text.split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} …"
    return text if text.endswith((".", "!", "?")) else f"{text}."
