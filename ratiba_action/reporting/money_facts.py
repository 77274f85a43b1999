"""What a run did with its money, in plain words that every form of the report shows."""

from collections.abc import Mapping
from dataclasses import dataclass

from ratiba_action.model.values import Usd
from ratiba_action.model.verdict import Report, Spending
from ratiba_action.reporting.wording import bar, dollars

NOT_TRACKED = "The month is not tracked: no ledger-url."
NOT_READ = "What all runs spent together this month is not known: the shared ledger was not read."


@dataclass(frozen=True, slots=True)
class Fact:
    """One row.

    Args:
        what: is told about.
        told: about it; with a bar, what stands before the bar.
        bar: see ``wording.bar``; empty for none.
        after: the bar.
    """

    what: str
    told: str
    bar: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One name's part of an amount.

    Args:
        share: of the whole, 0 to 1.
    """

    name: str
    usd: Usd
    share: float


def has_paid(report: Report) -> bool:
    """Whether a model was asked for money; a replayed run is told about in fewer words."""
    return report.spending.live_calls > 0


def money_facts(report: Report) -> tuple[Fact, ...]:
    """Spent of the cap, list prices of what was replayed, calls, and what runs spent together.

    Empty for a run that asked no model and replayed none.
    """
    spending = report.spending
    if not spending.live_calls and not spending.replayed_calls:
        return ()
    facts = [_of_cap("spent", spending.spent, spending.cap), *_at_list_prices(spending)]
    facts.append(Fact("model calls", f"{spending.live_calls} live, {spending.replayed_calls} replayed"))
    if spending.cache_hits:
        facts.append(Fact("judge answers from the cache", str(spending.cache_hits)))
    facts += [_of_cap(_account(shared.name), shared.spent, shared.cap) for shared in report.shared_spending]
    return tuple(facts)


def month_note(report: Report) -> str:
    """Says why nothing is told of what other runs spent, for a run that paid; empty where it is told."""
    if not has_paid(report) or report.shared_spending:
        return ""
    return NOT_READ if report.shared_ledger else NOT_TRACKED


def parts(amounts: Mapping[str, Usd]) -> tuple[Part, ...]:
    """Who or what was paid, the dearest first; what cost nothing is left out."""
    whole = sum(amounts.values(), Usd(0))
    paid = sorted(((name, usd) for name, usd in amounts.items() if usd > 0), key=lambda item: (-item[1], item[0]))
    return tuple(Part(name, usd, float(usd / whole)) for name, usd in paid)


def _at_list_prices(spending: Spending) -> list[Fact]:
    """What replaying saved."""
    if not spending.live_calls:
        return [Fact("the same run live, at list prices", f"USD {dollars(spending.list_price)}")]
    if not spending.replayed_calls:
        return []
    return [Fact("the replayed calls live, at list prices", f"USD {dollars(spending.list_price - spending.spent)}")]


def _account(name: str) -> str:
    return f"{name.removeprefix('the budget of ')}, all runs"


def _of_cap(what: str, spent: Usd, cap: Usd) -> Fact:
    return Fact(what, f"USD {dollars(spent)}", bar(spent, cap), f"of {dollars(cap)}")
