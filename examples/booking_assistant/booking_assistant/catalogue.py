"""What the business sells, and when it is open."""

from dataclasses import dataclass
from datetime import time


@dataclass(frozen=True, slots=True)
class Service:
    """One line of the price list.

    Args:
        name: as tools and the database spell it.
        price_kes: whole Kenyan shillings.
        minutes: how long it takes.
    """

    name: str
    price_kes: int
    minutes: int


OPENS = time(8, 0)
CLOSES = time(20, 0)

CATALOGUE = (
    Service("massage", 3500, 60),
    Service("facial", 2500, 45),
    Service("manicure", 1500, 45),
    Service("braids", 4000, 180),
    Service("haircut", 800, 45),
    Service("beard_trim", 500, 30),
    Service("bridal_makeup", 8000, 120),
)
SERVICE_NAMES = tuple(service.name for service in CATALOGUE)
