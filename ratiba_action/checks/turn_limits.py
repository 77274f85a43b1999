"""What each turn may take: seconds and money.

Seconds count only where no recording or script answered one of the turn's model calls: a replayed answer comes at
once, whatever the model would have taken. Where a limit cannot be measured the check says so; it never passes for one
that held.
"""

from collections.abc import Iterable, Iterator
from decimal import ROUND_CEILING

from ratiba_action.model.conversation import Exchange, Transcript
from ratiba_action.model.measurement import Check, NotRun, ScenarioResult
from ratiba_action.model.scenario import Scenario
from ratiba_action.money.money import show_usd


def check_limits(scenario: Scenario, transcript: Transcript) -> Iterator[Check]:
    """One check for each limit of the scenario and each turn that was reached."""
    seconds, usd = scenario.limits.seconds, scenario.limits.usd
    for number, exchange in enumerate(transcript.exchanges, 1):
        line = exchange.turn.line
        if seconds is not None:
            got, held = _seconds(exchange, seconds)
            yield _check(number, "seconds of the turn", f"at most {seconds:g} s", got, held=held, line=line)
        if usd is not None:
            unknown = "not measured: the answers have no list price"
            got = show_usd(exchange.usd, ROUND_CEILING) if exchange.usd is not None else unknown
            held_usd = exchange.usd <= usd if exchange.usd is not None else None
            yield _check(number, "list price of the turn", f"at most {show_usd(usd)}", got, held=held_usd, line=line)


def limits_not_measured(results: Iterable[ScenarioResult]) -> tuple[str, ...]:
    """One note where limits could not be measured, so that nobody takes them for held; nothing where all were."""
    checks = [check for result in results if not isinstance(result, NotRun) for check in result.checks]
    count = sum(not check.measured and check.kind == "limit" for check in checks)
    what = "limit of a turn was" if count == 1 else "limits of turns were"
    return (f"{count} {what} not measured: recordings or scripts answered.",) if count else ()


def _seconds(exchange: Exchange, most: float) -> tuple[str, bool | None]:
    if exchange.replayed:
        return "not measured: a recording or a script answered", None
    return f"{exchange.seconds:.2f} s", exchange.seconds <= most


def _check(turn: int, what: str, expected: str, got: str, *, held: bool | None, line: int) -> Check:
    return Check("limit", turn, what, expected, got, passed=held is not False, line=line, measured=held is not None)
