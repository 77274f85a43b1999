"""What stands for money and for JSON."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

Usd = Decimal
"""An amount of US dollars; never a float."""

JsonObject = Mapping[str, Any]
"""A decoded JSON object; treated as read-only."""
