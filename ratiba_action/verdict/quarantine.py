"""Scenarios that run, are shown, and do not decide; until the day on which they decide again."""

from datetime import UTC, date, datetime, timedelta

from ratiba_action.model.scenario import Quarantine, Scenario

SOON = timedelta(days=7)
"""A quarantine that ends within this time is reported by ``ratiba validate``."""

PROPOSED = "proposed"
"""Tag of a scenario that nobody has reviewed yet, and ``provenance.source`` of one that a model has written."""


def is_proposal(scenario: Scenario) -> bool:
    """Whether a model wrote the scenario and nobody has reviewed it, as ``ratiba generate --propose`` marks it.

    A review removes the tag and the quarantine.
    """
    marked = PROPOSED in scenario.tags and scenario.provenance.get("source") == PROPOSED
    return marked and scenario.quarantine is not None and not scenario.critical


def day_of(instant: datetime) -> date:
    """The day on which a run takes place, in UTC.

    Args:
        instant: aware of its time zone.
    """
    return instant.astimezone(UTC).date()


def quarantine_in_force(scenario: Scenario, day: date) -> Quarantine | None:
    """The quarantine that keeps a scenario from deciding; its last day is included, and a critical one has none."""
    quarantine = scenario.quarantine
    return None if quarantine is None or scenario.critical or day > quarantine.until else quarantine


def expired_quarantine(scenario: Scenario, day: date) -> Quarantine | None:
    """The quarantine of a scenario that has ended, so that the scenario decides again."""
    quarantine = scenario.quarantine
    return quarantine if quarantine is not None and day > quarantine.until else None


def ends_soon(quarantine: Quarantine, day: date) -> bool:
    """Whether a quarantine that is in force ends within ``SOON``."""
    return timedelta(0) <= quarantine.until - day <= SOON
