"""The events that report a conversation of a run: each turn, and what came of the trial."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from ratiba_action.checks.turn_checks import TRANSITION
from ratiba_action.model.canonical import arguments_digest
from ratiba_action.model.conversation import Exchange, Reply
from ratiba_action.model.event import (
    ConversationEnded,
    ConversationStarted,
    Event,
    HandedOff,
    Happening,
    PaymentChanged,
    Place,
    ScoreLogged,
    StateTransition,
    ToolCalled,
    TurnEnded,
    conversation_id,
)
from ratiba_action.model.measurement import Errored, NotRun, ScenarioResult, Score, evaluation_failures
from ratiba_action.model.plan import BASE, HEAD, Tenant, Trial

_REPORTS = frozenset({"payment_state", "payment"})
_AMOUNT = re.compile(r"amount(?:_([a-z]{3}))?")
_NONE = "NONE"


def payment_changes(exchange: Exchange, before: Reply | None) -> Iterator[PaymentChanged]:
    """Every change that a turn's reply reports; of a system that reports none, the difference of its payment states.

    Rail, amount and receipt are looked for in the report, then in the callback that was delivered as the turn, then in
    the arguments of the turn's tool calls.

    Args:
        before: reply of the turn before it, None at the beginning.
    """
    turn, reply = exchange.turn, exchange.reply
    incoming = [turn.event] if turn.event is not None else []
    requested = [call.args for call in reply.tool_calls if "rail" in call.args]
    reported = [event.data for event in reply.events if event.type in _REPORTS]
    for data in reported:
        yield _change(str(data.get("to", data.get("state"))), [data, *incoming, *requested])
    last = (before.payment if before is not None else None) or _NONE
    if not reported and reply.payment is not None and reply.payment != last:
        yield _change(reply.payment, [*incoming, *requested])


def _change(state: str, sources: list[Mapping[str, Any]]) -> PaymentChanged:
    amount, currency = _amount(sources)
    return PaymentChanged(state, _text(sources, "rail"), amount, currency, _text(sources, "receipt"))


def _text(sources: list[Mapping[str, Any]], name: str) -> str:
    return next((str(source[name]) for source in sources if source.get(name) is not None), "")


def _amount(sources: list[Mapping[str, Any]]) -> tuple[Decimal | None, str]:
    for source in sources:
        for name, value in source.items():
            match = _AMOUNT.fullmatch(name)
            amount = _decimal(value) if match else None
            if match and amount is not None:
                return amount, (match[1] or str(source.get("currency", ""))).upper()
    return None, ""


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and abs(amount.adjusted()) < _DIGITS else None


_DIGITS = 15
"""No amount has more; what does is no amount, and would take long to print."""


_HAND_OFFS = frozenset({"handoff", "hand_off"})


def place_of(arm: str, scenario: str, trial: int) -> Place:
    """Where a conversation is; a variant of the system runs instead of the head."""
    if arm in {HEAD, BASE}:
        return Place(arm, scenario, trial)
    return Place(HEAD, scenario, trial, variant=arm)


def place_of_trial(trial: Trial) -> Place:
    """Where a trial's conversation is."""
    return place_of(trial.arm.name, trial.scenario.id, trial.number)


def beginning(  # noqa: PLR0917 - the facts of one event
    run: str,
    trial: Trial,
    tenant: Tenant,
    prompt_versions: tuple[str, ...],
    attempt: int,
    prompt_blobs: tuple[str, ...] = (),
    began: datetime | None = None,
) -> Event:
    """A conversation begins.

    Args:
        run: id of the run in the log.
        attempt: from 1.
        began: when a conversation of production began.
    """
    place, scenario = place_of_trial(trial), trial.scenario
    started = ConversationStarted(
        conversation_id=conversation_id(run, place),
        tenant_id=tenant.id,
        prompt_versions=prompt_versions,
        layer=scenario.layer,
        system_type=scenario.system_type,
        language=scenario.language,
        vertical=scenario.vertical,
        tags=tuple(sorted(scenario.tags)),
        attempt=attempt,
        prompt_blobs=prompt_blobs,
        began=began,
    )
    return Event(started, place)


def turn_events(trial: Trial, number: int, exchange: Exchange, before: Reply | None) -> Iterator[Event]:
    """What happened in a turn: its reply first, then what the reply reports.

    Args:
        number: of the turn, from 1.
        before: reply of the turn before it, None at the beginning.
    """
    place = place_of_trial(trial)
    place = Place(place.arm, place.scenario, place.trial, place.variant, number)
    for happening in happenings(exchange, before):
        yield Event(happening, place)


def happenings(exchange: Exchange, before: Reply | None) -> Iterator[Happening]:
    """The same, wherever it happened."""
    turn, reply = exchange.turn, exchange.reply
    yield TurnEnded(
        reply=reply.text,
        seconds=exchange.seconds,
        user=turn.user,
        event=None if turn.event is None else str(turn.event.get("type")),
        list_price_usd=exchange.usd,
        replayed=exchange.replayed,
    )
    for call in reply.tool_calls:
        yield ToolCalled(call.name, arguments_digest(call.args))
    yield from _transitions(reply, before)
    yield from payment_changes(exchange, before)
    for event in reply.events:
        if event.type in _HAND_OFFS:
            yield HandedOff(str(event.data.get("reason", "")))


def _transitions(reply: Reply, before: Reply | None) -> Iterator[StateTransition]:
    """The moves that the system reports; of one that reports none, the difference of its states."""
    reported = [event.data for event in reply.events if event.type == TRANSITION]
    for data in reported:
        source = data.get("from")
        yield StateTransition(None if source is None else str(source), str(data.get("to")))
    last = before.state if before is not None else None
    if not reported and reply.state is not None and reply.state != last:
        yield StateTransition(last, reply.state)


def result_events(result: ScenarioResult) -> Iterator[Event]:
    """What came of a trial: each score, each failure, and its end."""
    place = place_of_trial(result.trial)
    for score in () if isinstance(result, NotRun) else result.scores:
        yield Event(_scored(score), place)
    for turn, failure in evaluation_failures(result):
        yield Event(failure, Place(place.arm, place.scenario, place.trial, place.variant, turn or None))
    yield Event(_ended(result), place)


def _scored(score: Score) -> ScoreLogged:
    return ScoreLogged(
        metric=score.metric,
        version=score.version,
        score=score.value,
        threshold=score.threshold,
        passed=score.passed,
        judged=score.judged,
        reason=score.reason,
        cached=score.cached,
        votes=score.votes,
    )


def _ended(result: ScenarioResult) -> ConversationEnded:
    match result:
        case NotRun(reason=reason):
            return ConversationEnded("not_run", reason=reason)
        case Errored(phase=phase, message=message):
            return ConversationEnded("errored", None, phase.value, message, result.seconds, result.retried)
        case _:
            return ConversationEnded("scored", result.passed, seconds=result.seconds, retried=result.retried)
