"""What a person can do about conversations that the caps did not hold."""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from ratiba_action.model.values import Usd
from ratiba_action.money.admission import Limit
from ratiba_action.money.forecast import Forecast
from ratiba_action.money.money import show_usd

_CENT = Decimal("0.01")


def way_out(rest: Forecast) -> str:
    """Which cap to raise, what it is, and about how much the rest would have needed; empty without a rest.

    Args:
        rest: the conversations that were not run to their end for want of money, and what their caps have left.
    """
    count = len(rest.conversations)
    if not count:
        return ""
    # A call is refused by its upper bound, so that the rest may be expected to fit and still did not.
    short = [limit for limit in rest.limits if limit.left < rest.most] or [rest.binding]
    caps = {one.setting: one.cap for one in short}
    raises = [_raise(setting, cap, _enough(setting, short, rest.most)) for setting, cap in caps.items()]
    left = ", ".join(f"{one.name} has {show_usd(one.left.quantize(_CENT, rounding=ROUND_FLOOR))} left" for one in short)
    conversations = "1 conversation" if count == 1 else f"{count} conversations"
    needed = f"need{'s' if count == 1 else ''} about {show_usd(_cents(rest.most))}" if rest.most else "did not fit"
    return f"Raise {' and '.join(raises)}, or select fewer scenarios: {left}, and {conversations} {needed}."


def _enough(setting: str, short: Sequence[Limit], needed: Usd) -> Usd:
    """The cap that would have held everything."""
    return _cents(max(one.cap - one.left + needed for one in short if one.setting == setting))


def _raise(setting: str, cap: Usd, enough: Usd) -> str:
    variable = f"RATIBA_EVAL_{setting.upper().replace('-', '_')}"
    # What was expected did fit, so that no more is known than that a call's upper bound did not.
    return f"{setting} ({variable}) " + (
        f"from {show_usd(cap)} to about {show_usd(enough)}" if enough > cap else f"above {show_usd(cap)}"
    )


def _cents(amount: Usd) -> Usd:
    return amount.quantize(_CENT, rounding=ROUND_CEILING)
