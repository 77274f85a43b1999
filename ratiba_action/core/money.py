"""Amounts of US dollars: parsed strictly, added exactly."""

import re
from decimal import ROUND_CEILING, Decimal

from ratiba_action.core.model import Usd
from ratiba_action.errors import ConfigurationError

_PLAIN_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,12})?")
_GRAIN = Decimal("1E-12")
_LIMIT = Decimal("1E+12")


def parse_usd(text: str, name: str) -> Usd:
    """The amount that a setting holds, such as ``20`` or ``0.50``.

    Args:
        text: digits with an optional decimal point; no sign, no currency, no exponent.
        name: the setting, as the user spells it.

    Raises:
        ConfigurationError: anything else, negative amounts, NaN and Infinity included.
    """
    if not _PLAIN_NUMBER.fullmatch(text.strip()):
        raise ConfigurationError(
            f"{name}: {text!r} is not an amount of US dollars.",
            "Give a plain number of at least 0 and below 1000000000, such as 20 or 0.50.",
        )
    return Decimal(text.strip())


def is_exact_usd(amount: Usd) -> bool:
    """Whether sums of such amounts cannot be rounded: finite, 0 to 10**12, a multiple of 10**-12."""
    return amount.is_finite() and 0 <= amount < _LIMIT and amount == amount.quantize(_GRAIN)


def round_up(amount: Usd) -> Usd:
    """The next multiple of 10**-12, so that no rounding ever favours the budget."""
    return amount.quantize(_GRAIN, rounding=ROUND_CEILING).normalize()


def show_usd(amount: Usd) -> str:
    """The amount for a person: ``$0.0123``, without an exponent or trailing zeros beyond cents."""
    digits = f"{amount.normalize():f}"
    whole, _, fraction = digits.partition(".")
    return f"${whole}.{fraction.ljust(2, '0')}"
