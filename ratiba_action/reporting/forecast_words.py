"""What is said about the cost of a run before anything is paid."""

from collections.abc import Callable

from ratiba_action.money.admission import Limit
from ratiba_action.money.forecast import Forecast
from ratiba_action.reporting.wording import dollars, plural

_NAMED = 10


def forecast_lines(forecast: Forecast) -> tuple[str, ...]:
    """The conversations that would not fit first, then what is expected of whom."""
    return (*shortage(forecast), _expectation(forecast), *_unknown(forecast))


def foretell(expected: Forecast, tell: Callable[[str], None], warn: Callable[[str], None]) -> None:
    """Tell the log what is expected, and the report's reader what a run that asks models will not hold."""
    for line in forecast_lines(expected):
        tell(line)
    if not expected.as_needed:
        for note in shortage(expected):
            warn(note)


def shortage(forecast: Forecast) -> tuple[str, ...]:
    """The conversations that the budget would not hold, in one sentence; empty when it holds all of them."""
    missing = forecast.left_out
    if not missing:
        return ()
    total, each = len(forecast.conversations), tuple(dict.fromkeys(missing))
    more = len(each) - _NAMED
    names = ", ".join(each[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    held = f"{total - len(missing)} of {plural(total, 'conversation')}"
    room = _room(forecast.binding)
    return (f"{room[0].upper()}{room[1:]} would hold {held}; it would not hold {names}.",)


def _room(limit: Limit) -> str:
    """The cap that is met first, and what is left of it."""
    if limit.left == limit.cap:
        return f"{limit.name} (USD {dollars(limit.cap)})"
    return f"what is left of {limit.name} (USD {dollars(limit.left)} of {dollars(limit.cap)})"


def _expectation(forecast: Forecast) -> str:
    parties = ", ".join(f"{party.value} {dollars(usd)}" for party, usd in sorted(forecast.by_party.items()) if usd)
    opening = (
        "Costs nothing while every recording fits; if models are asked, expected" if forecast.as_needed else "Expected"
    )
    fits = "" if forecast.left_out else f"; {_all(len(forecast.conversations))}"
    return (
        f"{opening} to cost USD {dollars(forecast.cost)}{f' ({parties})' if parties else ''}, at most "
        f"USD {dollars(forecast.most)}, of {_room(forecast.binding)}{fits}."
    )


def _all(count: int) -> str:
    return "it is expected to fit" if count == 1 else f"all {count} conversations are expected to fit"


def _unknown(forecast: Forecast) -> tuple[str, ...]:
    if forecast.system_known:
        return ()
    return ("Nothing is recorded of the system's own model calls, so what they cost is not in this.",)
