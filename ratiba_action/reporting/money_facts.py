"""What a run spent, and how far its judges agree, as text for every report format."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ratiba_action.model.comparison import Agreement, CrossCheckStatus
from ratiba_action.model.measurement import NotRun, Score
from ratiba_action.model.values import Usd
from ratiba_action.model.verdict import CrossChecking, Refusals, Report, Spending
from ratiba_action.money.budget import Limit
from ratiba_action.money.forecast import Forecast
from ratiba_action.reporting.wording import bar, dollars, label, number
from ratiba_action.util.text import clip, few, plural

_NAMED = 10
_LONGEST_REASON = 120


def forecast_lines(forecast: Forecast) -> tuple[str, ...]:
    """First the scenarios that exceed the budget, then the expected cost by party."""
    return (*shortage(forecast), _expectation(forecast), *_unknown(forecast))


def log_forecast(expected: Forecast, log: Callable[[str], None], warn: Callable[[str], None]) -> None:
    """Log the forecast, and warn about scenarios that a run with model calls may leave out."""
    for line in forecast_lines(expected):
        log(line)
    if not expected.as_needed:
        for note in shortage(expected):
            warn(note)


def shortage(forecast: Forecast) -> tuple[str, ...]:
    """The scenarios that exceed the budget, in one sentence; empty if all fit."""
    missing = forecast.left_out
    if not missing:
        return ()
    total, each = len(forecast.conversations), tuple(dict.fromkeys(missing))
    more = len(each) - _NAMED
    names = ", ".join(each[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    fitting = f"{total - len(missing)} of {plural(total, 'scenario')}"
    budget = _what_is_left(forecast.binding)
    return (f"{budget[0].upper()}{budget[1:]} should cover {fitting}; it may not cover {names}.",)


def _what_is_left(limit: Limit) -> str:
    """The cap that binds first, and what is left of it."""
    if limit.left == limit.cap:
        return f"{limit.name} (USD {dollars(limit.cap)})"
    return f"what is left of {limit.name} (USD {dollars(limit.left)} of {dollars(limit.cap)})"


def _expectation(forecast: Forecast) -> str:
    parties = ", ".join(f"{party.value} {dollars(usd)}" for party, usd in sorted(forecast.by_party.items()) if usd)
    opening = "Expected"
    if forecast.as_needed:
        opening = "Costs nothing while every recording fits; if models are called, expected"
    if forecast.as_needed and forecast.edited_prompts:
        edited = ", ".join(forecast.edited_prompts[:_NAMED])
        opening = f"The change edits {edited}: where no recording fits any more, models are called. Expected"
    fits = "" if forecast.left_out else f"; {_all(len(forecast.conversations))}"
    return (
        f"{opening} to cost USD {dollars(forecast.cost)}{f' ({parties})' if parties else ''}, at most "
        f"USD {dollars(forecast.maximum)}, of {_what_is_left(forecast.binding)}{fits}."
    )


def _all(count: int) -> str:
    return "it is expected to fit" if count == 1 else f"all {count} scenarios are expected to fit"


def _unknown(forecast: Forecast) -> tuple[str, ...]:
    if forecast.system_known:
        return ()
    return ("No recording says yet which models the system calls, so the cost of its own calls is not included.",)


NOT_TRACKED = "The spending of this month is not tracked: ledger-url is not set."
NOT_READ = "The spending of all runs this month is unknown: the shared ledger was not read."


@dataclass(frozen=True, slots=True)
class Fact:
    """One row.

    Args:
        text: about it; with a bar, what stands before the bar.
        bar: see ``wording.bar``; empty for none.
    """

    what: str
    text: str
    bar: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class AmountPart:
    """The part of an amount that one party or model has.

    Args:
        share: of the whole, 0 to 1.
    """

    name: str
    usd: Usd
    share: float


def called_models(spending: Spending) -> bool:
    """Whether there was a model call through the gateway, live or replayed."""
    return bool(spending.live_calls or spending.replayed_calls or spending.cache_hits or spending.spent)


def refused_phrase(refused: Refusals) -> str:
    """How many requests of the system the gateway refused, and why the first one."""
    first = clip(refused.first.rstrip("."), _LONGEST_REASON)
    count = "1 request was" if refused.count == 1 else f"{refused.count} requests were"
    return f"{count} refused: {first}"


def money_phrase(spending: Spending) -> str:
    """Spent and cap, and the estimated cost of replayed calls, in one phrase; or why no model call was answered."""
    if not called_models(spending):
        if spending.refused.count:
            return refused_phrase(spending.refused)
        if spending.attempts:
            return f"no model answered in {plural(spending.attempts, 'attempt')}"
        return "the gateway saw no model call"
    spent = f"USD {dollars(spending.spent)} of {dollars(spending.cap)}"
    if spending.live_calls and not spending.replayed_calls:
        return spent
    live = "if all were live" if spending.live_calls else "live"
    return f"{spent} (estimated cost {live}: USD {dollars(spending.list_price)})"


def money_facts(report: Report) -> tuple[Fact, ...]:
    """Spent of the cap, estimated cost of replayed calls, number of calls, and what runs spent together.

    Empty for a run without model calls, live or replayed.
    """
    spending = report.spending
    if not spending.live_calls and not spending.replayed_calls:
        return ()
    facts = [_of_cap("spent", spending.spent, spending.cap), *_estimated_cost(spending)]
    facts.append(Fact("model calls", f"{spending.live_calls} live, {spending.replayed_calls} replayed"))
    if spending.cache_hits:
        facts.append(Fact("judge answers from the cache", str(spending.cache_hits)))
    facts += [_of_cap(_account(shared.name), shared.spent, shared.cap) for shared in report.shared_spending]
    return tuple(facts)


def month_note(report: Report) -> str:
    """Why the spending of other runs is unknown, for a run with paid calls; empty if it is known."""
    if not report.spending.live_calls or report.shared_spending:
        return ""
    return NOT_READ if report.shared_ledger else NOT_TRACKED


def parts(amounts: Mapping[str, Usd]) -> tuple[AmountPart, ...]:
    """Parties or models by cost, the largest first; those without cost are left out."""
    whole = sum(amounts.values(), Usd(0))
    paid = sorted(((name, usd) for name, usd in amounts.items() if usd > 0), key=lambda item: (-item[1], item[0]))
    return tuple(AmountPart(name, usd, float(usd / whole)) for name, usd in paid)


def _estimated_cost(spending: Spending) -> list[Fact]:
    """The estimated cost of replayed calls, had they been live."""
    if not spending.live_calls:
        return [Fact("estimated cost of the same run live", f"USD {dollars(spending.list_price)}")]
    if not spending.replayed_calls:
        return []
    return [Fact("estimated cost of the replayed calls live", f"USD {dollars(spending.list_price - spending.spent)}")]


def _account(name: str) -> str:
    return f"{name.removeprefix('the budget of ')}, all runs"


def _of_cap(what: str, spent: Usd, cap: Usd) -> Fact:
    return Fact(what, f"USD {dollars(spent)}", bar(spent, cap), f"of {dollars(cap)}")


_VOTED = 5


def judge_facts(report: Report) -> tuple[Fact, ...]:
    """Judge, cross-check, agreement and votes of a run with paid calls and judged scores; empty for any other."""
    judged = [(name, score) for name, score in _scores(report) if score.judged]
    if not report.spending.live_calls or not judged:
        return ()
    facts = [Fact("judge", report.judge_model)] if report.judge_model else []
    if report.cross_checking is not None:
        facts += _cross_check(report.cross_checking)
    return (*facts, _votes(judged))


def _cross_check(checking: CrossChecking) -> list[Fact]:
    if not checking.model:
        return [Fact("cross-check", f"off: {checking.off}" if checking.off else "off")]
    facts = [Fact("cross-check", f"{checking.model}, {_status(checking.status)}")]
    agreement = checking.agreement
    return [*facts, Fact("agreement", _agreement(agreement))] if agreement.pairs else facts


def _status(status: CrossCheckStatus) -> str:
    """The share cross-checked, and why it was reduced."""
    cached = f", {status.cached} by a score from the cache" if status.cached else ""
    compared = f"{status.compared} of {status.sampled} compared{cached}"
    if status.stopped:
        return f"reduced from {status.share:.0%} to 0% because {_clause(status.stopped)}; {compared}"
    sampled = compared if status.sampled else "none fell into the sample"
    return f"{status.share:.0%} of the scores: {sampled}"


def _agreement(agreement: Agreement) -> str:
    """The number compared, the share on the same side of the threshold, both kappas (words: Landis and Koch 1977)."""
    kappas = f"kappa {_kappa(agreement.unweighted)}, quadratic {_kappa(agreement.quadratic)}"
    same = "" if agreement.same_side is None else f"{agreement.same_side:.0%} on the same side; "
    return f"n = {agreement.pairs}: {same}{kappas}"


def _kappa(value: float | None) -> str:
    from ratiba_action.verdict.agreement import interpret_kappa

    word = interpret_kappa(value)
    return word if value is None else f"{value + 0:.2f} ({word})"


def _votes(judged: list[tuple[str, Score]]) -> Fact:
    voted = [(name, score) for name, score in judged if len(score.votes) > 1]
    if not voted:
        return Fact("votes", f"none of {plural(len(judged), 'judged score')} was measured again near its threshold")
    shown = [
        f"{name} {score.metric} {number(score.value)} ({', '.join(map(number, score.votes))})" for name, score in voted
    ]
    return Fact("votes", f"{len(voted)} of {plural(len(judged), 'judged score')}: {few(shown, _VOTED, '; ')}")


def _scores(report: Report) -> Iterator[tuple[str, Score]]:
    for result in report.results:
        if not isinstance(result, NotRun):
            yield from ((label(result), score) for score in result.scores)


def _clause(sentence: str) -> str:
    """A sentence without its full stop, for use within another one."""
    return sentence.rstrip(" .")
