"""Amounts of US dollars: added exactly, rounded up, shown."""

from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal

from ratiba_action.model.values import Usd

_GRAIN = Decimal("1E-12")
_LIMIT = Decimal("1E+12")
_SHOWN = Decimal("0.0001")
_CENT = Decimal("0.01")


def is_exact_usd(amount: Usd) -> bool:
    """Whether sums of such amounts cannot be rounded: finite, 0 to 10**12, a multiple of 10**-12."""
    return amount.is_finite() and 0 <= amount < _LIMIT and amount == amount.quantize(_GRAIN)


def round_up(amount: Usd) -> Usd:
    """The next multiple of 10**-12, so that no rounding ever favours the budget."""
    return amount.quantize(_GRAIN, rounding=ROUND_CEILING).normalize()


def to_cents(amount: Usd) -> Usd:
    """The next whole cent: what a person sets a cap to."""
    return amount.quantize(_CENT, rounding=ROUND_CEILING)


def show_usd(amount: Usd, rounding: str = ROUND_HALF_EVEN) -> str:
    """The amount for a person: ``$0.0123``, with two to four decimals; less than can be shown is ``under $0.0001``.

    Args:
        amount: exact.
        rounding: of ``decimal``: ``ROUND_CEILING`` for what is too much and ``ROUND_FLOOR`` for what is left, so that
            neither reads as if it fitted.
    """
    rounded = amount.quantize(_SHOWN, rounding=rounding)
    if amount > 0 and not rounded:
        return f"under ${_SHOWN}"
    digits = f"{rounded.normalize():f}"
    whole, _, fraction = digits.partition(".")
    return f"${whole}.{fraction.ljust(2, '0')}"
