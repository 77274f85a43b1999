"""What every tool works with: the tenant's database, the clock, the customer and the payment rails."""

from collections.abc import Mapping
from dataclasses import dataclass

from booking_assistant.clock import Clock
from booking_assistant.database import Connection
from booking_assistant.rails.rail import PaymentRail


@dataclass(frozen=True, slots=True)
class Customer:
    """Who is writing.

    Args:
        phone: in the form ``+254712345678``.
    """

    name: str
    phone: str


@dataclass(frozen=True, slots=True)
class Desk:
    """The tools' surroundings; one per conversation."""

    connection: Connection
    clock: Clock
    customer: Customer
    rails: Mapping[str, PaymentRail]
