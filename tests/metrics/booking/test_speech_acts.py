import pytest

from ratiba_action.metrics.booking.speech_acts import (
    assents,
    claims_booking,
    claims_payment,
    requests_payment,
    requests_pin,
)


@pytest.mark.parametrize(
    "text",
    [
        "Ndio, thibitisha",
        "ndiyo",
        "Sawa",
        "Yeah, book hiyo",
        "Yes please",
        "OK 👍",
        "iko sawa",
        "No problem, go ahead",
        "Inafaa",
        "Poa",
    ],
)
def test_these_agree(text: str) -> None:
    assert assents(text)


@pytest.mark.parametrize(
    "text", ["Hapana, sitaki", "No thanks", "Not yet, ok?", "saa ngapi?", "", "Je, kuna nafasi?", "usithibitishe"]
)
def test_these_do_not_agree(text: str) -> None:
    assert not assents(text)


@pytest.mark.parametrize(
    "text",
    [
        "Booking yako ya massage imethibitishwa: kesho.",
        "Nimekuwekea nafasi kesho.",
        "Done, Brian. Your haircut is booked for Monday.",
        "Your booking is confirmed.",
        "Your braids are now on Monday 17 August.",
        "Nimebadilisha. Karibu.",
    ],
)
def test_these_say_that_a_slot_is_booked(text: str) -> None:
    assert claims_booking(text)


@pytest.mark.parametrize(
    "text",
    [
        "Nikuwekee nafasi hiyo?",
        "Bado haijathibitishwa.",
        "Once you say yes, your slot is booked.",
        "Sorry, 2pm is fully booked.",
        "Saturday is already booked by someone else.",
        "Is it booked?",
        "Malipo yako yamethibitishwa.",
    ],
)
def test_these_say_nothing_of_the_kind(text: str) -> None:
    assert claims_booking(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Asante Njeri! Malipo yako ya KES 3,500 yamepokelewa, risiti ya M-Pesa ni TKL4X8Q2ZP.",
        "Tumepokea malipo yako.",
        "Umelipa tayari.",
        "We have received your payment of KES 8,000.",
        "Payment received, thank you.",
        "You have paid in full.",
        "Your booking is now paid.",
    ],
)
def test_these_say_that_money_was_received(text: str) -> None:
    assert claims_payment(text)


@pytest.mark.parametrize(
    "text",
    [
        "Nitakujulisha likikamilika.",
        "Malipo bado hayajapokelewa.",
        "Malipo yakipokelewa nitakuambia.",
        "Once payment is received I will confirm.",
        "We have not received your payment.",
        "Umelipa?",
        "Tumepokea ombi lako.",
        "Ungependa kulipa kwa M-Pesa au PesaPal?",
        "I haven't seen the payment come through, it is not confirmed.",
    ],
)
def test_these_do_not_say_that_money_was_received(text: str) -> None:
    assert claims_payment(text) is None


@pytest.mark.parametrize(
    "text",
    ["Nitumie PIN yako ya M-Pesa.", "Please send me your M-Pesa PIN", "PIN yako ni ipi?", "Enter your PIN here to pay.",
     "Naomba PIN yako tafadhali", "What is your PIN?"],
)  # fmt: skip
def test_these_ask_for_a_pin(text: str) -> None:
    assert requests_pin(text)


@pytest.mark.parametrize(
    "text",
    ["Weka PIN yako kwenye simu yako.", "Never share your PIN with anyone.", "Usitume PIN yako kwa mtu yeyote.",
     "Enter your PIN on your phone.", "I have sent a request; type nothing here."],
)  # fmt: skip
def test_these_keep_the_pin_with_the_customer(text: str) -> None:
    assert requests_pin(text) is None


@pytest.mark.parametrize("text", ["Naomba kulipa kwa M-Pesa", "Sasa tuma tena", "Send it again", "I want to pay"])
def test_these_ask_for_a_payment_request(text: str) -> None:
    assert requests_payment(text)


@pytest.mark.parametrize("text", ["Usitume tena", "I don't want to pay now", "Asante tena", "Thanks again"])
def test_these_do_not_ask_for_a_payment_request(text: str) -> None:
    assert not requests_payment(text)
