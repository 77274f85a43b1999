"""Assertions show at most 200 characters of a reply, and are masked later: no half of a key or number may stay."""

import re

import pytest

from ratiba_action.checks.checks import check_transcript
from ratiba_action.checks.failure_rules import check_rule
from ratiba_action.checks.turn_checks import check_turn
from ratiba_action.model.conversation import Exchange, Reply, ToolCall, Transcript
from ratiba_action.model.measurement import Check, Scored
from ratiba_action.model.scenario import Expectation, ExpectedReply, FailureRule, Turn
from ratiba_action.privacy.masking import Redactor
from ratiba_action.util.instants import LocalTime
from ratiba_action.util.text import clip
from tests.support.cases import NOW
from tests.support.sample_report import sample_scored

KEY, PHONE, MAIL = "sk-live-0123456789abcdef", "+254 712 345 678", "wanjiku.kamau@example.co.ke"
PASSWORD = 'pa,ss "word" (of) many; parts'


def masked(*checks: Check) -> str:
    found = Redactor([KEY, PASSWORD]).result(sample_scored(checks=tuple(checks)))
    assert isinstance(found, Scored)
    return "\n".join(f"{check.expected}\n{check.got}" for check in found.checks)


def halves(text: str) -> list[str]:
    """Parts of what must not be seen."""
    return [part for part in ("sk-l", "712", "345 6", "wanj", "kamau", "pa,ss") if part in text]


@pytest.mark.parametrize("secret", [KEY, PHONE, MAIL, PASSWORD, f"{KEY} {PHONE}"])
@pytest.mark.parametrize("filler", ["x", "na "])
def test_no_half_stays_at_any_edge(secret: str, filler: str) -> None:
    for before in range(60, 230, 7):
        text = f"{(filler * 230)[:before]} {secret} {'ya ' * 60}"
        reply = Reply(text, state=text, tool_calls=(ToolCall("book", {"note": text}),))
        expect = Expectation(
            state="BOOKED", tools=(), reply=ExpectedReply(contains=("Karibu",), not_contains=("ya ya",))
        )
        turn = Turn(user="Habari", expect=expect)
        transcript = Transcript("spa", (Exchange(turn, reply),))
        rules = (
            FailureRule("must_not_contain", "ya ya"),
            FailureRule("must_contain", "na"),
            FailureRule("must_not_call_tool", "book"),
            FailureRule("must_refuse", None),
        )
        checks = [
            *check_turn(1, turn, reply, LocalTime(NOW)),
            *(check for rule in rules for check in check_rule(rule, transcript)),
        ]
        assert halves(masked(*checks)) == []
        assert all(len(check.got) <= 200 for check in checks)


def test_a_captured_reply_that_differs_near_a_number_shows_no_half_of_it() -> None:
    for before in range(60):
        start = f"{('na ' * 60)[:before]} {PHONE} {KEY} "
        scored = sample_scored(replies=(f"{start}moja",), reply=f"{start}mbili")
        checks = check_transcript(scored.trial.scenario, scored.transcript)
        assert any(check.what == "the captured reply" and not check.passed for check in checks)
        assert halves(masked(*checks)) == []


@pytest.mark.parametrize(
    "number",
    [
        "0712;345;678",
        "0712 – 345 – 678",
        "0712 - 345 - 678",
        "(0712)345678",
        "zero seven one two three four five six seven eight",
        "sifuri saba moja mbili tatu nne tano sita saba nane",
    ],
)
def test_of_a_number_in_any_spelling_that_is_masked_whole_no_three_parts_stay_at_an_edge(number: str) -> None:
    parts = re.findall(r"[a-z]+|\d{3,4}", number)
    for limit in range(4, len(number) + 12):
        shown = Redactor().text(clip(f"namba yangu: {number} basi", limit))
        assert sum(part in shown.split("namba yangu", 1)[-1] for part in set(parts)) <= (2 if parts[0].isalpha() else 0)


def test_the_scheme_of_a_secret_address_is_no_secret() -> None:
    redactor = Redactor(["postgresql://gate:s3cret-word@db:5432/app"])
    assert redactor.text("use postgresql://…@postgres:5432/…") == "use postgresql://…@postgres:5432/…"
    assert redactor.text("use postgresql://gate:s3cret…") == "use ***…"
