"""The time as the assistant sees it: always given from outside, always in the business's time zone."""

import calendar
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from zoneinfo import ZoneInfo

TIMEZONE_NAME = "Africa/Nairobi"
TIMEZONE = ZoneInfo(TIMEZONE_NAME)
_MINUTE = "%Y-%m-%dT%H:%M"


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The present moment, in the business's time zone."""
        ...


@dataclass(frozen=True, slots=True)
class FixedClock:
    """A clock that stands still, so that "kesho" means the same day in every run.

    Args:
        moment: any aware time.
    """

    moment: datetime

    def now(self) -> datetime:
        """The fixed moment, in the business's time zone."""
        return self.moment.astimezone(TIMEZONE)


def format_minute(moment: datetime) -> str:
    """Local time as ``YYYY-MM-DDTHH:MM``, the form that tools and prompts use."""
    return moment.astimezone(TIMEZONE).strftime(_MINUTE)


def weekday(moment: datetime) -> str:
    """The local day's English name; a model that must count from a bare date miscounts."""
    return calendar.day_name[moment.astimezone(TIMEZONE).weekday()]


def parse_minute(text: str) -> datetime:
    """Read ``YYYY-MM-DDTHH:MM`` as local time.

    Raises:
        ValueError: the text has another form.
    """
    return datetime.strptime(text, _MINUTE).replace(tzinfo=TIMEZONE)
