"""What a change may not relax of a scenario's strategy, and no quarantine of its own making."""

from dataclasses import replace

from ratiba_action.model.scenario import Quarantine, Scenario, Strategy
from ratiba_action.verdict.trials import most_failures


def hold_strategy(scenario: Scenario, before: Scenario) -> tuple[Strategy, tuple[str, ...]]:
    """The strategy to run a scenario with, and a note for each thing that the change tried to relax.

    Args:
        scenario: of the change.
        before: the same at its base.
    """
    held, notes = scenario.strategy, []
    earlier = before.strategy
    if most_failures(scenario) > most_failures(before) or _least_passes(scenario) < _least_passes(before):
        held = replace(held, trials=earlier.trials, passes=earlier.passes)
        notes.append(f"{_passes(earlier)} must pass, as before; this change asks for {_passes(scenario.strategy)}")
    least = _least_mean(scenario, before)
    if least != held.least_mean:
        held = replace(held, least_mean=least)
        notes.append("its scores are held to what they were held to before" + _mean_words(least))
    seconds = _shorter(held.timeout_seconds, earlier.timeout_seconds)
    if seconds != held.timeout_seconds:
        held = replace(held, timeout_seconds=seconds)
        notes.append(f"a trial may still take {seconds:g} s, though this change allows more")
    if held.retries > earlier.retries:
        notes.append(f"retries stay {earlier.retries}; this change asks for {held.retries}")
        held = replace(held, retries=earlier.retries)
    return held, tuple(f"{note}." for note in notes)


def hold_quarantine(scenario: Scenario, before: Scenario | None) -> tuple[Quarantine | None, tuple[str, ...]]:
    """The quarantine that the base grants, as far as the change still wants it; see ``hold_strategy``.

    Args:
        scenario: of the change.
        before: the same at its base; None for a scenario that the change adds.
    """
    wanted = scenario.quarantine
    if wanted is None:
        return None, ()
    granted = None if before is None or before.critical else before.quarantine
    if granted is None:
        return None, (
            f"this change adds a quarantine until {wanted.until}, which does not hold in this change itself.",
        )
    if wanted.until <= granted.until:
        return wanted, ()
    note = f"the quarantine ends on {granted.until}; this change asks for {wanted.until}."
    return replace(wanted, until=granted.until), (note,)


def _least_passes(scenario: Scenario) -> int:
    return scenario.strategy.trials - most_failures(scenario)


def _least_mean(scenario: Scenario, before: Scenario) -> float | None:
    """A mean and thresholds of each score are not comparable, so the base's kind holds, and of means the greater."""
    wanted, earlier = scenario.strategy.least_mean, before.strategy.least_mean
    return earlier if wanted is None or earlier is None else max(wanted, earlier)


def _mean_words(least: float | None) -> str:
    return ", each to its threshold" if least is None else f", a mean of {least:g}"


def _shorter(seconds: float | None, before: float | None) -> float | None:
    return min((each for each in (seconds, before) if each is not None), default=None)


def _passes(strategy: Strategy) -> str:
    passes = strategy.trials if strategy.passes is None else strategy.passes
    return f"{passes} of {strategy.trials} {'trial' if strategy.trials == 1 else 'trials'}"
