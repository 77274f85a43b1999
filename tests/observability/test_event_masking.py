"""No secret and nobody's name, number or address stands in an event that is written down."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.event import ConversationStarted, Event, LoggedEvent, PaymentChanged, Place, TurnEnded
from ratiba_action.observability.event_lines import event_line
from ratiba_action.observability.event_masking import EventMask
from ratiba_action.privacy.masking import Redactor
from tests.support.event_samples import SAMPLE_PLACE, sample_events

KEY = "sk-ant-a9-PLANTED"
PHONES = ("+254 712 345 432", "0712345432", "254712345432", "0712-345-432")
NAME = "Wanjiku Njoroge"
EMAIL = "wanjiku@example.co.ke"
DIGEST = "ab0712345432" * 5 + "abcd"
MASK = EventMask({"spa_booking": Redactor([KEY]).knowing([NAME])}, Redactor([KEY]))

around = st.text(max_size=12).map(lambda text: f"{text} ")
planted = st.sampled_from([KEY, *PHONES, NAME, NAME.upper(), "wanjiku", EMAIL])


def written(event: Event) -> str:
    return event_line(LoggedEvent("a-run", 1, datetime(2026, 11, 22, tzinfo=UTC), MASK.event(event)))


@given(around, st.lists(planted, min_size=1, max_size=3), around)
def test_what_is_planted_in_every_field_of_every_type_is_not_in_the_line(
    before: str, plants: list[str], after: str
) -> None:
    for event in sample_events(f"{before}{' '.join(plants)} {after}".rstrip()):
        line = json.dumps(json.loads(written(event)), ensure_ascii=False).casefold()
        for plant in (KEY, *PHONES, *NAME.split(), EMAIL):
            assert plant.casefold() not in line, event.type


def test_a_secret_is_hidden_in_the_names_of_what_was_run_too() -> None:
    line = written(Event(TurnEnded("hi", 0.1), Place("head", f"of_{KEY}", 0, variant=KEY)))
    assert KEY not in line
    assert json.loads(line)["scenario"] == "of_***"


def test_names_are_masked_where_their_scenario_is_and_stay_elsewhere() -> None:
    text = TurnEnded("Karibu Wanjiku, wanjiku wa Njoroge", 0.1)
    assert MASK.event(Event(text, SAMPLE_PLACE)).data == TurnEnded("Karibu <name>, <name> wa <name>", 0.1)
    assert MASK.event(Event(text, Place("head", "other", 0))).data == text


def test_a_part_of_a_word_is_no_name() -> None:
    mask = EventMask({"a": Redactor().knowing(["Ali"])}, Redactor())
    assert mask.event(Event(TurnEnded("Alisema Ali", 0.1), Place("head", "a", 0))).data == TurnEnded(
        "Alisema <name>", 0.1
    )


def test_what_was_paid_stays_as_it_is() -> None:
    for receipt in ("TKL4X8Q2ZP", "12345678", "b945af32-4b0a-4cf3-9bd0-c8ee6e2f5d6c"):
        paid = PaymentChanged("PAID", "mpesa", None, "KES", receipt)
        assert MASK.event(Event(paid, SAMPLE_PLACE)).data == paid


def test_a_phone_number_is_no_receipt() -> None:
    masked = MASK.event(Event(PaymentChanged("PAID", receipt="0712345432"), SAMPLE_PLACE)).data
    assert masked == PaymentChanged("PAID", receipt="+254***432")


def test_ids_and_checksums_stay_though_they_hold_ten_digits_in_a_row() -> None:
    for tenant in ("7fd466fb-974d-46dd-a737-f07123454320", "7fd466fb-974d-46dd-a737-254712345432"):
        begun = ConversationStarted(DIGEST[:32], tenant)
        assert MASK.event(Event(begun, SAMPLE_PLACE)).data == begun
