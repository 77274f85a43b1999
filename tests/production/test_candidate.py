"""What a candidate holds, and what it never does."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.candidate import Candidate, Review, make_candidate
from ratiba_action.production.conversation import ProductionConversation, ProductionTurn
from ratiba_action.production.feedback import Feedback
from ratiba_action.production.tenants import TenantFacts

AT = datetime(2026, 11, 20, 22, 30, tzinfo=UTC)
REVIEW = Review("@booking-team", date(2026, 12, 22))
PLANTED = ("Wanjiku", "Kamau", "712345678", "712 345 678", "wanjiku@example.com", "12345678", "sk-ant-planted")


def candidate(*turns: ProductionTurn, comment: str = "", facts: TenantFacts | None = None, **fields: Any) -> Candidate:
    reported: dict[str, Any] = {
        "trace_ids": ("3f9c" * 8,),
        "turns": turns or (ProductionTurn("Habari"),),
        "started": AT,
        "tenant": "a",
    }
    conversation = ProductionConversation(**(reported | fields))
    feedback = Feedback("5c" * 16, "trace", "3f9c" * 8, "thumbs_down", AT, comment)
    redactor = Redactor(["sk-ant-planted"], ["Wanjiku Kamau"])
    return make_candidate(conversation, feedback, facts or TenantFacts("spa"), redactor, REVIEW)


def test_it_decides_nothing_until_somebody_has_read_it() -> None:
    data = candidate().data
    assert data["layer"] == "production"
    assert data["quarantine"] == {
        "reason": "Promoted from production; nobody has reviewed it or added assertions yet.",
        "owner": "@booking-team",
        "until": "2026-12-22",
    }
    assert "proposed" in data["tags"]
    assert not {"rules", "assertions", "critical"} & data.keys()
    assert all("expect" not in turn for turn in data["turns"])


def test_its_provenance_leads_back_to_the_trace() -> None:
    reported = candidate(ProductionTurn("Habari", reply="Karibu"), prompt_version="booking@3f9c", language="sw").data[
        "provenance"
    ]
    assert reported == {
        "source": "langfuse",
        "trace": "3f9c" * 8,
        "score": "5c" * 16,
        "feedback": "thumbs_down",
        "feedback_at": "2026-11-21T01:30:00+03:00",
        "prompt_version": "booking@3f9c",
        "replies": ["Karibu"],
    }


def test_no_identifier_survives_wherever_it_stands() -> None:
    secret = "Mimi ni Wanjiku Kamau, 0712 345 678, wanjiku@example.com, kitambulisho 12345678, sk-ant-planted"
    event = {"type": "payment", "payer": {"name": "Wanjiku Kamau", "phone": "254712345678"}, "note": [secret]}
    made = candidate(
        ProductionTurn(secret, reply=secret),
        ProductionTurn(None, event, secret),
        comment=secret,
        prompt_version=secret,
        trace_ids=("conversation with 254712345678",),
    )
    assert [one for one in PLANTED if one in repr(made)] == []


def test_money_stays_since_diagnoses_need_it() -> None:
    event = {"type": "payment", "amount": 1500, "receipt": "QWE12RT5YU"}
    turns = candidate(ProductionTurn("Nililipa KES 1,500, risiti QWE12RT5YU"), ProductionTurn(None, event)).data[
        "turns"
    ]
    assert turns == [{"user": "Nililipa KES 1,500, risiti QWE12RT5YU"}, {"event": event}]


def test_the_same_words_are_the_same_candidate_whoever_said_them() -> None:
    one = candidate(ProductionTurn("Mimi ni Wanjiku, 0712 345 678", reply="a"))
    other = candidate(ProductionTurn("mimi ni  Kamau, 0722 111 678", reply="b"), trace_ids=("5d" * 16,))
    assert (one.id, one.fingerprint) == (other.id, other.fingerprint)
    assert candidate(ProductionTurn("Kwaheri")).id != one.id


def test_its_id_has_no_digits_that_might_look_like_a_number_of_a_person() -> None:
    name = candidate().id.removeprefix("production_")
    assert (name.isalpha(), len(name)) == (True, 12)


@pytest.mark.parametrize(
    ("message", "facts", "language"),
    [("sw", "en", "sw"), ("sw-KE", "", "sw"), ("", "sw", "sw"), ("Kiswahili!", "", "und"), ("", "", "und")],
)
def test_the_language_is_that_of_the_trace_else_of_the_tenant_else_not_determined(
    message: str, facts: str, language: str
) -> None:
    assert candidate(language=message, facts=TenantFacts("spa", language=facts)).data["language"] == language


def test_a_kind_of_system_that_nobody_knows_is_left_out() -> None:
    assert candidate(system_type="agent").data["system_type"] == "agent"
    assert "system_type" not in candidate(system_type="oracle").data
