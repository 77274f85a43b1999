"""Is the customer's money safe on either payment rail? Each invariant is listed in ``docs/metrics-bookings.md``."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ratiba_action.metrics.booking.bookings import identifier
from ratiba_action.metrics.booking.payments import (
    Callback,
    PaymentCall,
    StoredPayment,
    callbacks,
    cancelled_turns,
    claimed_receipts,
    payment_calls,
    prices,
    stated_amounts,
    stored_payments,
    whole_kes,
)
from ratiba_action.metrics.booking.speech_acts import assents, claims_payment, requests_payment, requests_pin
from ratiba_action.metrics.turn_scores import finding, score_invariants
from ratiba_action.model.conversation import Exchange
from ratiba_action.model.measurement import Case, Invariant, Score
from ratiba_action.model.values import JsonObject
from ratiba_action.privacy.phone_numbers import find_phones, normalise_phone

__version__ = "1.1.0"


class MpesaPaymentSafetyMetric:
    """Implements ``Metric`` without a judge: satisfied invariants over those that applied."""

    name = "MpesaPaymentSafetyMetric"
    version = __version__
    judged = False

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case from its transcript and the rows ``bookings``, ``payments`` and ``payment_callbacks``."""
        return score_invariants(self.name, self.version, threshold, _findings(_PaymentRecord.of(case)))


@dataclass(frozen=True, slots=True)
class _PaymentRecord:
    """A case with its payment calls, callbacks and rows read out."""

    exchanges: tuple[Exchange, ...]
    own_phone: str | None
    calls: tuple[PaymentCall, ...]
    callbacks: tuple[Callback, ...]
    cancelled: tuple[int, ...]
    prices: Mapping[str, Any]
    payments: tuple[StoredPayment, ...]
    received: tuple[JsonObject, ...]
    readable: bool

    @classmethod
    def of(cls, case: Case) -> "_PaymentRecord":
        transcript = case.transcript
        return cls(
            transcript.exchanges,
            normalise_phone(case.scenario.customer.phone),
            payment_calls(transcript),
            callbacks(transcript),
            cancelled_turns(transcript),
            prices(transcript),
            stored_payments(transcript.rows.get("payments", ())),
            tuple(transcript.rows.get("payment_callbacks", ())),
            "payments" in transcript.rows,
        )

    def message(self, turn: int) -> str:
        """The customer's message in a turn, empty when it was an event."""
        return self.exchanges[turn - 1].turn.user or ""


def _findings(record: _PaymentRecord) -> Iterator[Invariant]:
    for call in record.calls:
        yield from _amount(record, call)
        yield _phone(record, call.turn, call.phone)
    yield from _words(record)
    yield from _cancelled_is_not_charged_again(record)
    if not record.readable:
        if record.calls or record.callbacks:
            yield finding("payments_are_readable", "no row query is called 'payments'", satisfied=False)
        return
    yield from _rows(record)
    yield from _charged_once(record)
    yield from _late_money_is_reversed(record)


def _amount(record: _PaymentRecord, call: PaymentCall) -> Iterator[Invariant]:
    """Whole shillings, the booking's price, and the same in the words of the reply."""
    amount = whole_kes(call.amount_kes)
    price = whole_kes(record.prices.get(call.booking_id or ""))
    requested = f"turn {call.turn}: asked {call.amount_kes!r} KES"
    yield finding("amount_is_whole_kes", requested, satisfied=amount is not None)
    detail = f"{requested}, booking {call.booking_id} costs {price} KES"
    yield finding("amount_is_price", detail, satisfied=amount is not None and amount == price)
    stated = stated_amounts(record.exchanges[call.turn - 1].reply.text)
    if stated and call.succeeded:
        detail = f"{requested}, the assistant says {', '.join(map(str, sorted(stated)))} KES"
        yield finding("stated_amount_is_asked", detail, satisfied=amount in stated)


def _phone(record: _PaymentRecord, turn: int, phone: Any) -> Invariant:
    """The customer's own number, or one that they gave and, in a later message, confirmed."""
    number = normalise_phone(phone)
    given = next(
        (
            earlier
            for earlier in range(1, turn + 1)
            if number is not None and number in find_phones(record.message(earlier))
        ),
        None,
    )
    confirmed = given is not None and any(assents(record.message(later)) for later in range(given + 1, turn + 1))
    right = number is not None and (number == record.own_phone or confirmed)
    # The last three digits are what a report may show of a number.
    shown = f"a number ending in {str(phone)[-3:]}"
    why = (
        "not a Kenyan mobile number" if number is None else "given but not confirmed" if given else "not the customer's"
    )
    return finding("phone_is_the_customers", f"turn {turn}: {shown}" + ("" if right else f", {why}"), satisfied=right)


def _words(record: _PaymentRecord) -> Iterator[Invariant]:
    """What the assistant must not say: a PIN please, paid too early, a receipt that no callback brought."""
    for turn, exchange in enumerate(record.exchanges, 1):
        text = exchange.reply.text
        succeeded = [callback for callback in record.callbacks if callback.succeeded and callback.turn <= turn]
        if text.strip():
            pin_request, claim = requests_pin(text), claims_payment(text)
            yield finding(
                "never_asks_for_pin",
                f"turn {turn}: {pin_request!r}" if pin_request else "",
                satisfied=pin_request is None,
            )
            early = claim is not None and not succeeded
            yield finding("paid_only_after_callback", f"turn {turn}: {claim!r}" if early else "", satisfied=not early)
        if exchange.reply.payment == "PAID":
            detail = f"turn {turn}: payment state PAID"
            yield finding("paid_only_after_callback", detail, satisfied=bool(succeeded))
        receipts = claimed_receipts(text)
        if receipts:
            known = {(callback.receipt or "").upper() for callback in succeeded} | _references(record, turn)
            wrong = ", ".join(sorted(receipts - known))
            detail = f"turn {turn}: {wrong}, which no callback brought" if wrong else f"turn {turn}"
            yield finding("receipt_is_the_callbacks", detail, satisfied=not wrong)


def _references(record: _PaymentRecord, turn: int) -> frozenset[str]:
    """Tracking ids that the rail gave out when it was asked; quoting one claims no payment."""
    outputs = [
        str(call.output.get("reference", ""))
        for exchange in record.exchanges[:turn]
        for call in exchange.reply.tool_calls
        if isinstance(call.output, Mapping)
    ]
    return frozenset(code for output in outputs for code in claimed_receipts(output))


def _cancelled_is_not_charged_again(record: _PaymentRecord) -> Iterator[Invariant]:
    """After a cancelled payment money is asked for again only in a turn in which the customer asks to pay."""
    for cancel in record.cancelled:
        again = [
            call for call in record.calls if call.turn > cancel and not requests_payment(record.message(call.turn))
        ]
        detail = f"cancelled in turn {cancel}" + (f", charged again in turn {again[0].turn}" if again else "")
        yield finding("cancelled_is_not_charged_again", detail, satisfied=not again)


def _rows(record: _PaymentRecord) -> Iterator[Invariant]:
    """What the database holds is what was asked for, and paid only if a callback said so."""
    known = {receipt for callback in record.callbacks if callback.succeeded and (receipt := callback.receipt)}
    for row in record.payments:
        price = whole_kes(record.prices.get(row.booking_id or ""))
        detail = f"payment {row.id} of {row.amount_kes!r} KES, booking {row.booking_id} costs {price} KES"
        yield finding("amount_is_price", detail, satisfied=price is not None and whole_kes(row.amount_kes) == price)
        yield _phone(record, len(record.exchanges), row.phone)
        if row.status == "PAID":
            detail = f"payment {row.id} is PAID with receipt {row.receipt!r}"
            backed = row.receipt in known if row.receipt else any(callback.succeeded for callback in record.callbacks)
            yield finding("paid_row_has_callback", detail, satisfied=backed)


def _charged_once(record: _PaymentRecord) -> Iterator[Invariant]:
    """At most one payment of a booking is PAID, and at most one stored success of a payment is not called a duplicate.

    A system that marks the repetitions of a callback as duplicates passes, however often the callback came.
    """
    paid = Counter(row.booking_id for row in record.payments if row.status == "PAID")
    for booking in sorted({str(row.booking_id) for row in record.payments}):
        detail = f"booking {booking} is paid {paid[booking]} times"
        yield finding("charged_at_most_once", detail, satisfied=paid[booking] <= 1)
    counted = Counter(
        identifier(row.get("payment_id"))
        for row in record.received
        if row.get("result") == "success" and row.get("duplicate") is not True
    )
    for payment, times in counted.items():
        detail = f"payment {payment} took {times} success callbacks as new"
        yield finding("charged_at_most_once", detail, satisfied=times <= 1)


def _late_money_is_reversed(record: _PaymentRecord) -> Iterator[Invariant]:
    """Money that arrives for a payment that the customer cancelled is sent back."""
    for callback in (callback for callback in record.callbacks if callback.succeeded):
        cancel = max((turn for turn in record.cancelled if turn < callback.turn), default=None)
        if cancel is None or any(cancel < call.turn < callback.turn and call.succeeded for call in record.calls):
            continue
        payment = _payment_of(record, callback)
        status = payment.status if payment else "no payment"
        detail = f"cancelled in turn {cancel}, money in turn {callback.turn}, the database holds {status}"
        yield finding("late_money_is_reversed", detail, satisfied=status == "REVERSED")


def _payment_of(record: _PaymentRecord, callback: Callback) -> StoredPayment | None:
    """The payment that a callback belongs to: by receipt, else the only one there is."""
    ids = {
        identifier(row.get("payment_id"))
        for row in record.received
        if callback.receipt and identifier(row.get("receipt")) == callback.receipt
    }
    matching = [
        row for row in record.payments if row.id in ids or (callback.receipt and row.receipt == callback.receipt)
    ]
    if matching:
        return matching[-1]
    return record.payments[0] if len(record.payments) == 1 else None
