"""The one result that the reports of all shards make together."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import isfinite
from typing import TypeGuard

from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.comparison import CrossCheckStatus, MeasuredRun, ScorePair
from ratiba_action.model.conversation import MergeAttempt, ModelCall
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult, Scored, threshold_of
from ratiba_action.model.note import Note
from ratiba_action.model.plan import BASE, Plan, Trial
from ratiba_action.model.scenario import Expectation, Scenario
from ratiba_action.model.shard import Shard
from ratiba_action.model.verdict import CrossChecking, Refusals, SharedSpending
from ratiba_action.money.budget import share_of_cap
from ratiba_action.money.pricing import is_exact_usd, show_usd
from ratiba_action.run.services import Measured
from ratiba_action.run.shard_folders import FoundShard
from ratiba_action.run.shards import NO_LEDGER
from ratiba_action.util.text import few
from ratiba_action.verdict.agreement import judges_agreement

_NAMED = 5
_SHOWN = 8
_LONGEST = 100
_ALL_AGAIN = "Run all shards again, with the same commit, inputs and version as the merge, then merge again."
_LIKE_SHARDS = "Give the merge the inputs and keys that its shards had, then merge again."
_GIVEN = frozenset({"answers", "budget", "ledger"})
"""Parts of an identity that only inputs and keys decide."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of all shards together.

    Args:
        measured: of the change and of the base, as if one run had measured it.
        open_base: trials of the base that no shard was asked to run.
        calls: every model call of the shards whose results count.
        discarded: those of all other attempts, which cost what they cost.
        cache_hits: scores that were taken from the judge cache.
        breaches: each call that cost more than its reservation, in words.
        interruption: why the shards are no whole run; None where they are. With one the run never passes.
        seconds: of the shard that took longest.
        unknown_usd: the most that attempts of shards without a usable report have spent besides these calls.
        refusals: requests of the system that the shards' gateways refused.
        attempts: how often the shards set money aside for a call.
    """

    measured: Measured
    open_base: Plan
    calls: tuple[ModelCall, ...]
    discarded: tuple[ModelCall, ...]
    cache_hits: int
    breaches: tuple[str, ...]
    interruption: str | None
    notes: tuple[str, ...]
    seconds: float
    unknown_usd: Decimal = Decimal(0)
    refusals: Refusals = field(default_factory=Refusals)
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with the shards, and what ends it.

    Args:
        remedy: what ends it, besides running the shards again.
    """

    problem: str
    remedy: str = ""
    again: tuple[Shard, ...] = ()


def merge_shards(
    found: Sequence[FoundShard], plan: Plan, identity: Mapping[str, str], run_attempt: int | None = None
) -> Merged:
    """Put the reports of shards together; every trial of the change has a result, if only that it was not run.

    Args:
        found: in any order.
        plan: what the whole run asks for, of the change and of the base.
        run_attempt: of it, from 1; None where the platform counts none.
    """
    found = [_not_later(shard, run_attempt) for shard in found]
    used, faults = _usable(found, plan, identity)
    own = _by_place(result for shard in used for result in shard.whole.results)
    of_base = _by_place(result for shard in used for result in shard.of.base_results)
    mine = [trial for trial in plan.trials if trial.arm.name != BASE]
    theirs = [trial for trial in plan.trials if trial.arm.name == BASE]
    lost = sorted({trial.scenario.id for trial in mine if _place(trial) not in own})
    if lost and not faults:
        faults = (Fault(f"No shard ran {few(lost, _NAMED)}.", _ALL_AGAIN),)
    why = _reason(faults)
    results = [_owned(own[_place(trial)], trial) if _place(trial) in own else NotRun(trial, why) for trial in mine]
    results += [_owned(of_base[_place(trial)], trial) for trial in theirs if _place(trial) in of_base]
    base_failed = next((shard.of.base_failed for shard in used if shard.of.base_failed), None)
    open_base = (
        [] if base_failed else [trial for trial in theirs if _place(trial) in own and _place(trial) not in of_base]
    )
    attempts = _attempts(found, identity)
    own_money = [shard for shard in attempts if not _has_gone_on(shard, attempts)]
    unknown = _unknown_usd(found, used, attempts, identity, run_attempt or 1)
    aside = f"{show_usd(unknown)} is set aside of what the merge may spend: attempts without a usable report may have."
    aside = aside if unknown and (identity.get("answers") != Llm.REPLAY.value) else ""
    measured = Measured(
        tuple(results),
        base_failed=base_failed,
        cross_checking=_cross_checking(used),
        shared_spending=_shared_spending(used),
        way_out=_way_out(faults, used),
        reported_calls=sum(shard.of.reported_calls for shard in used),
        altered=next((shard.of.altered for shard in used if shard.of.altered), ""),
        pairs=tuple(pair for shard in used for pair in shard.of.pairs),
    )
    return Merged(
        measured,
        Plan(tuple(open_base)),
        calls=tuple(call for shard in attempts if shard in used for call in shard.of.calls),
        discarded=tuple(call for shard in own_money if shard not in used for call in shard.of.calls),
        cache_hits=sum(shard.of.cache_hits for shard in own_money),
        breaches=tuple(breach for shard in attempts for breach in shard.of.breaches),
        interruption=why or None,
        notes=tuple(dict.fromkeys(_notes(used, attempts, faults, aside))),
        seconds=max((shard.whole.seconds for shard in used), default=0.0),
        unknown_usd=unknown,
        refusals=sum((shard.whole.spending.refused for shard in used), Refusals()),
        attempts=sum(shard.whole.spending.attempts for shard in used),
    )


def _owned(result: ScenarioResult, trial: Trial) -> ScenarioResult:
    """What a shard measured, of the merge's own trial: what is expected of a turn is never read from a report."""
    if isinstance(result, NotRun) or result.transcript is None:
        return replace(result, trial=trial)
    turns, exchanges = trial.scenario.turns, result.transcript.exchanges
    written = [replace(exchange, turn=turn) for exchange, turn in zip(exchanges, turns, strict=False)]
    improvised = [
        replace(exchange, turn=replace(exchange.turn, expect=Expectation())) for exchange in exchanges[len(turns) :]
    ]
    transcript = replace(result.transcript, exchanges=(*written, *improvised))
    return replace(result, trial=trial, transcript=transcript)


def _usable(
    found: Sequence[FoundShard], plan: Plan, identity: Mapping[str, str]
) -> tuple[tuple[FoundShard, ...], tuple[Fault, ...]]:
    """The shards whose results count, by number, and everything that is wrong."""
    faults = [
        Fault(f"The report in {shard.place!r} is not used: {shard.problem}", shard.remedy)
        for shard in found
        if shard.report is None
    ]
    readable = [shard for shard in found if shard.report is not None]
    count = _count(readable)
    faults += [
        Fault(f"The report in {shard.place!r} is of {shard.name}, and others are of {count} shards.", _ALL_AGAIN)
        for shard in readable
        if shard.of.shard.count != count
    ]
    faults += [] if readable else [Fault("There is no report of any shard.", _ALL_AGAIN)]
    used: list[FoundShard] = []
    missing: list[Shard] = []
    given = {tuple(shard.of.identity.get(name) for name in _GIVEN) for shard in readable}
    alike = len(given) == 1 and all(_given_other(identity, shard) for shard in readable)
    of_another = _LIKE_SHARDS if alike else _ALL_AGAIN
    for number in range(1, count + 1):
        shard = Shard(number, count)
        same = [each for each in readable if each.of.shard == shard]
        last = max((each.of.attempt for each in same), default=0)
        same = [each for each in same if each.of.attempt == last]
        refusal = _refusal(shard, same, plan, identity, of_another) if same else None
        missing += [] if same else [shard]
        used += same if refusal is None else []
        interrupted = same[0].of.interruption if same and refusal is None else None
        if interrupted is not None:
            refusal = Fault(f"Shard {shard} did not run to its end: {interrupted}.", again=(shard,))
        faults += [refusal] if refusal is not None else []
    if missing:
        listed = _listed(missing)
        too_large = any(shard.remedy for shard in found)
        again = () if too_large else tuple(missing)
        faults.insert(0, Fault(f"{listed[0].upper()}{listed[1:]} left no report that can be read.", again=again))
    twice = _overlapping(used)
    if twice:
        names = " and ".join(each.name for each in twice)
        faults.append(
            Fault(f"{names} ran the same scenarios: they were planned from different results of the base.", _ALL_AGAIN)
        )
    return tuple(each for each in used if each not in twice), tuple(faults)


def _count(readable: Sequence[FoundShard]) -> int:
    """Of the shards, as most reports have it; 0 without a report."""
    counts = Counter(shard.of.shard.count for shard in readable)
    return max(counts, key=lambda each: (counts[each], each), default=0)


def _not_later(shard: FoundShard, run_attempt: int | None) -> FoundShard:
    """The shard, without its report where that is of an attempt that was never made."""
    if shard.report is None or run_attempt is None or shard.of.attempt <= max(1, run_attempt):
        return shard
    return FoundShard(shard.place, None, f"it is of attempt {shard.of.attempt}, and this is attempt {run_attempt}.")


def _unknown_usd(
    found: Sequence[FoundShard],
    used: Sequence[FoundShard],
    attempts: Sequence[FoundShard],
    identity: Mapping[str, str],
    run_attempt: int,
) -> Decimal:
    """The most that attempts have spent whose calls are not known: a share of the budget for each of them."""
    if identity.get("ledger") != NO_LEDGER:
        return Decimal(0)  # The ledger knows what every shard has reserved.
    cap, readable = Decimal(identity["budget"]), [shard for shard in found if shard.report is not None]
    count = _count(readable)
    if not count:
        return cap
    unknown, lost = Decimal(0), 0
    for number in range(1, count + 1):
        shard = Shard(number, count)
        share, same = share_of_cap(cap, shard), [each for each in readable if each.of.shard == shard]
        # A shard that ran its share is not run again; any other one may have been, up to this attempt.
        ended = any(each in used and each.of.measured for each in same)
        last = max((each.of.attempt for each in same), default=0)
        made = last if ended else max(last, run_attempt)
        # What was carried over is known; more may have been spent, since what a kill cuts off, another one can cut off.
        carried = {attempt: each.of.carried for each in same if each in attempts for attempt in each.of.resumed}
        gone_on = carried.keys() - {each.of.attempt for each in same}
        unknown += sum((max(share - carried[attempt], Decimal(0)) for attempt in gone_on), Decimal(0))
        absent = made - len({each.of.attempt for each in same} | gone_on)
        for each in same:
            known = each in attempts
            if not (known and (each in used or each.of.problem or each.of.attempt < last)):
                unknown += max(share - (_cost(each) if known else 0), Decimal(0))
        unknown += share * absent
        lost += absent
    stray = sum(shard.report is None or shard.of.shard.count != count for shard in found)
    return unknown + share_of_cap(cap, Shard(1, count)) * max(0, stray - lost)


def measured_anew(earlier: MeasuredRun, shards: Iterable[FoundShard]) -> MeasuredRun:
    """An earlier attempt of a merge, without results that this one has again: those of a shard that was not run since.

    Those that a later attempt of a shard has taken from a write-ahead journal are the same answers, too.
    """
    made = max((merge.attempt for merge in earlier.merges), default=None)
    again = {
        result.trial.scenario.id
        for shard in shards
        if shard.report is not None and made is not None and shard.of.attempt > made not in shard.of.resumed
        for result in shard.whole.results
    }
    return replace(earlier, results=tuple(each for each in earlier.results if each.trial.scenario.id in again))


def paid_by_merges(earlier: Iterable[MeasuredRun], attempt: int) -> tuple[MergeAttempt, ...]:
    """What the earlier attempts of a merge paid for themselves, each once; a later report has those before it, too.

    Args:
        earlier: earlier attempts of the run, read from reports that somebody else may have written. Of two that differ
            on an attempt, the one counts by which it was dearer.
    """
    known: dict[int, MergeAttempt] = {}
    for each in (each for run in earlier for each in run.merges if 1 <= each.attempt < attempt):
        exact = all(is_exact_usd(call.cost) and is_exact_usd(call.list_price) for call in each.calls)
        before = known.get(each.attempt)
        if exact and (before is None or _sum(each.calls) > _sum(before.calls)):
            known[each.attempt] = each
    return tuple(known[number] for number in sorted(known))


def notes_of_merges(earlier: Sequence[MergeAttempt], attempt: int, llm: Llm) -> Iterator[str]:
    """What earlier attempts of a merge cost, and of which of them that is not known.

    Args:
        earlier: as ``paid_by_merges`` has found them.
        llm: where it takes model answers from.
    """
    known = {each.attempt: each for each in earlier}
    for number in range(1, attempt):
        if number in known and (cost := _sum(known[number].calls)):
            yield f"Attempt {number} of the merge itself cost {show_usd(cost)}, which is in the sum."
        elif number not in known and llm != Llm.REPLAY:
            yield f"What attempt {number} of the merge itself cost is not known, and not in the sum."


def _sum(calls: Iterable[ModelCall]) -> Decimal:
    return sum((call.cost for call in calls), Decimal(0))


def _has_gone_on(shard: FoundShard, attempts: Sequence[FoundShard]) -> bool:
    """Whether the money of an attempt is counted by a later one, which went on with all of its write-ahead journal."""
    return any(
        each.of.shard == shard.of.shard and shard.of.attempt in each.of.resumed and each.of.carried >= _cost(shard)
        for each in attempts
    )


def _cost(shard: FoundShard) -> Decimal:
    return _sum(shard.of.calls)


def _refusal(
    shard: Shard, same: Sequence[FoundShard], plan: Plan, identity: Mapping[str, str], of_another: str
) -> Fault | None:
    """Why no result of a shard counts, with a remedy for one of another run; None where its report can be used."""
    if len(same) > 1:
        places = " and ".join(repr(each.place) for each in same)
        return Fault(
            f"There are {len(same)} reports of shard {shard}: {places}.", "Remove all but the right one.", (shard,)
        )
    only = same[0]
    if only.of.problem:
        if only.whole.results and only.of.way_out:
            return Fault(f"Shard {shard} cannot be merged: {only.of.problem}", only.of.way_out)
        return Fault(f"Shard {shard} measured nothing: {only.of.problem}", again=(shard,))
    differing = _differences(only, identity)
    if differing:
        return Fault(f"Shard {shard} is of another run: {'; '.join(differing)}.", of_another)
    impossible = _impossible(only, plan)
    return Fault(f"Shard {shard} is not used: {impossible}.", _ALL_AGAIN) if impossible else None


def _differences(shard: FoundShard, identity: Mapping[str, str]) -> list[str]:
    theirs = shard.of.identity
    return [
        f"its {name[:_LONGEST]} is {theirs.get(name, '')[:_LONGEST]!r}, here it is {identity.get(name, '')!r}"
        for name in sorted({*theirs, *identity})
        if theirs.get(name) != identity.get(name)
    ][:_NAMED]


def _given_other(identity: Mapping[str, str], shard: FoundShard) -> bool:
    """Whether a shard differs from its merge, and only in what a job is given."""
    theirs = shard.of.identity
    differing = {name for name in {*theirs, *identity} if theirs.get(name) != identity.get(name)}
    return bool(differing) and differing <= _GIVEN


def _impossible(shard: FoundShard, plan: Plan) -> str:
    """What no shard of this run can have measured; empty where a report has nothing of that kind."""
    own = {_place(trial): trial.scenario for trial in plan.trials if trial.arm.name != BASE}
    base = {_place(trial): trial.scenario for trial in plan.trials if trial.arm.name == BASE}
    names = {scenario.id for scenario in own.values()}
    for results, planned in ((shard.whole.results, own), (shard.of.base_results, base)):
        seen: set[tuple[str, int]] = set()
        for result in results:
            place, shown = _place(result.trial), f"trial {result.trial.number + 1} of {result.trial.scenario.id!r:.100}"
            if place in seen:
                return f"it has {shown} twice"
            seen.add(place)
            scenario = planned.get(place)
            # The base is only run beside the change where no earlier run of it was found.
            if scenario is None and (planned is own or place[0] not in names):
                return f"it has {shown}, which this run does not plan"
            wrong = (_wrong_turns(result, scenario) or _wrong_scores(result, scenario)) if scenario is not None else ""
            if wrong:
                return f"{shown} {wrong}"
    return ""


def _wrong_turns(result: ScenarioResult, scenario: Scenario) -> str:
    if isinstance(result, NotRun) or result.transcript is None:
        return ""
    count, turns = len(result.transcript.exchanges), len(scenario.turns)
    unended = count < turns and isinstance(result, Scored)
    if unended or (count > turns and scenario.simulated_user is None):
        return f"has {count} turns, and its scenario has {turns}"
    return ""


def _wrong_scores(result: ScenarioResult, scenario: Scenario) -> str:
    if isinstance(result, NotRun):
        return ""
    asked = {assertion.label: assertion for assertion in scenario.assertions}
    given = {score.metric: score for score in result.scores}
    if len(given) != len(result.scores) or not given.keys() <= asked.keys():
        return "has scores that its scenario does not ask for"
    if isinstance(result, Scored) and given.keys() != asked.keys():
        return "lacks scores that its scenario asks for"
    minimum = {name: threshold_of(scenario, asked[name], score.version) for name, score in given.items()}
    if any(not isfinite(score.value) or score.threshold != minimum[name] for name, score in given.items()):
        return "has a score with another threshold than its scenario asks for, or without a value"
    return ""


def _overlapping(used: Sequence[FoundShard]) -> list[FoundShard]:
    """The shards that ran a trial which another one ran too."""
    times = Counter(_place(result.trial) for shard in used for result in shard.whole.results)
    return [shard for shard in used if any(times[_place(result.trial)] > 1 for result in shard.whole.results)]


def _attempts(found: Sequence[FoundShard], identity: Mapping[str, str]) -> tuple[FoundShard, ...]:
    """Every attempt of every shard of this run, once: each has cost what it has cost."""
    known: dict[tuple[int, int, int], FoundShard] = {}
    for shard in found:
        if shard.report is not None and not _differences(shard, identity):
            known.setdefault((shard.of.shard.count, shard.of.shard.number, shard.of.attempt), shard)
    return tuple(known[place] for place in sorted(known))


def _place(trial: Trial) -> tuple[str, int]:
    return trial.scenario.id, trial.number


def _by_place(results: Iterable[ScenarioResult]) -> dict[tuple[str, int], ScenarioResult]:
    return {_place(result.trial): result for result in results}


def _reason(faults: Sequence[Fault]) -> str:
    """Why trials have no result, in words that follow others."""
    if not faults:
        return ""
    more = f" ({len(faults) - 1} more in the notes)" if len(faults) > 1 else ""
    problem = faults[0].problem.removesuffix(".")
    return f"{problem[0].lower()}{problem[1:]}{more}"


def _listed(shards: Sequence[Shard]) -> str:
    if len(shards) > _SHOWN:
        return f"shards {few(list(map(str, shards)), _NAMED)}"
    *others, last = map(str, shards)
    return f"shards {', '.join(others)} and {last}" if others else f"shard {last}"


def _remedies(faults: Sequence[Fault]) -> Iterator[str]:
    """What ends all of them: the shards that are to be run again once, together."""
    yield from dict.fromkeys(fault.remedy for fault in faults if fault.remedy)
    again = dict.fromkeys(shard for fault in faults for shard in fault.again)
    if again and not any(fault.remedy == _ALL_AGAIN for fault in faults):
        yield f"Run {_listed(list(again))} again (on GitHub: Re-run failed jobs), then merge again."
    elif not any(fault.remedy for fault in faults):
        yield "Give only report folders of this run, then merge again."


def _way_out(faults: Sequence[Fault], used: Sequence[FoundShard]) -> str | None:
    remedies = list(_remedies(faults)) if faults else []
    short: dict[str, list[Shard]] = {}
    for shard in used:
        if shard.of.way_out:
            short.setdefault(shard.of.way_out, []).append(shard.of.shard)
    remedies += [f"For {_listed(shards)}: {text}" for text, shards in short.items()]
    return " ".join((*remedies[:_NAMED], *_after_errors(used))) or None


def _after_errors(used: Sequence[FoundShard]) -> Iterator[str]:
    """Which shards to run again where trials errored, such as without their database: on GitHub no job of them failed.

    Errors with a remedy of their own, and those for want of money, are left to the verdict.
    """
    errored = [(shard.of.shard, result) for shard in used for result in shard.whole.results if _is_error(result)]
    if errored and not any(result.remedy for _, result in errored):
        shards, first = list(dict.fromkeys(shard for shard, _ in errored)), errored[0][1]
        jobs = "its job, which" if len(shards) == 1 else "their jobs, which"
        fix = f"Fix the {first.phase.value} error of {first.trial.scenario.id}"
        yield f"{fix}, then run {_listed(shards)} again (on GitHub: re-run {jobs} did not fail), then merge again."


def _is_error(result: ScenarioResult) -> TypeGuard[Errored]:
    return isinstance(result, Errored) and result.phase is not Phase.BUDGET


def _cross_checking(used: Sequence[FoundShard]) -> CrossChecking | None:
    parts = [part for shard in used if (part := shard.whole.cross_checking) is not None]
    return combined_cross_checking(parts, [pair for shard in used for pair in shard.of.pairs])


def combined_cross_checking(parts: Sequence[CrossChecking], pairs: Sequence[ScorePair]) -> CrossChecking | None:
    """The cross-checks of the parts of a run as one; None where there is none."""
    if not parts:
        return None
    status = CrossCheckStatus(
        share=max(part.status.share for part in parts),
        sampled=sum(part.status.sampled for part in parts),
        compared=sum(part.status.compared for part in parts),
        stopped=next((part.status.stopped for part in parts if part.status.stopped), ""),
        cached=sum(part.status.cached for part in parts),
    )
    model = next((part.model for part in parts if part.model), "")
    return CrossChecking(model, status, judges_agreement(pairs), "" if model else parts[0].off)


def with_shards(measured: Measured, of_shards: Measured) -> Measured:
    """What a merge measured itself after its shards, with what those say besides their results.

    Args:
        measured: of the merge; its results are those of the shards and its own.
    """
    pairs = (*of_shards.pairs, *measured.pairs)
    parts = [part for part in (of_shards.cross_checking, measured.cross_checking) if part is not None]
    return replace(
        measured,
        cross_checking=combined_cross_checking(parts, pairs),
        pairs=pairs,
        reported_calls=of_shards.reported_calls + measured.reported_calls,
        altered=of_shards.altered or measured.altered,
        way_out=of_shards.way_out or measured.way_out,
        shared_spending=measured.shared_spending or of_shards.shared_spending,
    )


def _shared_spending(used: Sequence[FoundShard]) -> tuple[SharedSpending, ...]:
    """Each account as the last shard saw it: what is spent of one never falls."""
    accounts: dict[str, SharedSpending] = {}
    for account in (account for shard in used for account in shard.whole.shared_spending):
        known = accounts.get(account.name)
        accounts[account.name] = account if known is None or account.spent > known.spent else known
    return tuple(accounts.values())


def _notes(
    used: Sequence[FoundShard], attempts: Sequence[FoundShard], faults: Sequence[Fault], aside: str
) -> Iterator[str]:
    """What each shard noted, what is wrong with them, and how their budget, what is set aside and attempts add up."""
    if len(faults) > 1:  # A single one is the reason of the verdict.
        yield from (Note(fault.problem, " ".join(_remedies([fault]))) for fault in faults)
    for shard in used:
        yield from shard.whole.notes
    if any(not call.replayed for shard in attempts for call in shard.of.calls):
        named = attempts[0].of.identity
        if named.get("ledger") == NO_LEDGER:
            count, budget = attempts[0].of.shard.count, show_usd(Decimal(named["budget"]))
            share = f"Each of {count} shards had its share of the budget of {budget}"
            yield f"{share}: they share one only in a pull request with ledger-url."
    yield from (aside,) if aside else ()
    for shard in attempts:
        if shard not in used or shard.of.attempt > 1:
            cost = show_usd(_cost(shard))
            state = "its results count" if shard in used else "its results do not count"
            if _has_gone_on(shard, attempts):
                state += "; a later attempt went on with it, and its cost includes this one"
            yield f"Attempt {shard.of.attempt} of {shard.name} cost {cost}; {state}."
