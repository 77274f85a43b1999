"""Amounts of US dollars: added exactly, rounded up, shown."""

from decimal import ROUND_CEILING, Decimal

from ratiba_action.core.model.values import Usd

_GRAIN = Decimal("1E-12")
_LIMIT = Decimal("1E+12")


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
