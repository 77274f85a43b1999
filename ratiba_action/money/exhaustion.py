"""What a person can do about conversations that the caps did not hold."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Decimal

from ratiba_action.model.values import Usd
from ratiba_action.money.admission import Limit
from ratiba_action.money.forecast import Forecast
from ratiba_action.money.money import show_usd, to_cents

_CENT = Decimal("0.01")


def way_out(rest: Forecast) -> str:
    """Which cap to raise, what it is, and about how much the rest would have needed; empty without a rest.

    Args:
        rest: the conversations that were not run to their end for want of money, and what their caps have left.
    """
    count = len(rest.conversations)
    if not rest.most:
        return ""
    # What was reserved for other calls then may be free by now: room for both is enough in any case.
    short = [limit for limit in rest.limits if limit.left < rest.most]
    short = short or [replace(rest.binding, spent=rest.binding.cap)]
    caps = {one.setting: one.cap for one in short}
    raises = [_raise(setting, cap, _enough(setting, short, rest.most)) for setting, cap in caps.items()]
    named = [next(limit for limit in rest.limits if limit.name == one.name) for one in short]
    left = ", ".join(f"{one.name} has {show_usd(one.left.quantize(_CENT, rounding=ROUND_FLOOR))} left" for one in named)
    conversations = "1 conversation" if count == 1 else f"{count} conversations"
    needed = f"need{'s' if count == 1 else ''} about {show_usd(to_cents(rest.most))}"
    return f"Raise {' and '.join(raises)}, or select fewer scenarios: {left}, and {conversations} {needed}."


def _enough(setting: str, short: Sequence[Limit], needed: Usd) -> Usd:
    """The cap that would have held everything."""
    return to_cents(max(one.cap - one.left + needed for one in short if one.setting == setting))


def _raise(setting: str, cap: Usd, enough: Usd) -> str:
    variable = f"RATIBA_EVAL_{setting.upper().replace('-', '_')}"
    return f"{setting} ({variable}) from {show_usd(cap)} to about {show_usd(enough)}"
