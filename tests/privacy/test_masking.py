"""Planted secrets do not come out."""

import base64
import json
import time
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.codec import encode
from ratiba_action.model.comparison import Comparison, OutcomeChange, Tier
from ratiba_action.model.conversation import Document
from ratiba_action.model.measurement import Errored, Phase, ScenarioResult, Scored
from ratiba_action.model.scenario import Customer
from ratiba_action.money.pricing import show_usd
from ratiba_action.privacy.masking import MaskedTexts, Redactor, mask_secrets
from ratiba_action.reporting.plain_printer import RedactedProgress
from tests.support.sample_report import sample_report, sample_score, sample_scored, sample_trial

SECRET = 'sk-ant/"plan\\ted"+key=='


@pytest.mark.parametrize(
    "spelling",
    [SECRET, json.dumps(SECRET), quote(SECRET, safe=""), base64.b64encode(SECRET.encode()).decode()],
)
def test_a_secret_is_found_in_each_usual_spelling(spelling: str) -> None:
    masked = mask_secrets(f"before {spelling} after", [SECRET])
    assert "***" in masked
    assert spelling.strip('"') not in masked


def test_each_line_of_a_secret_is_hidden() -> None:
    assert mask_secrets("MIIEowIB and q8rtZZpQ", ["MIIEowIB\nq8rtZZpQ"]) == "*** and ***"


def test_a_secret_inside_another_leaves_no_rest() -> None:
    assert mask_secrets("token-1234-abcd", ["token-1234", "token-1234-abcd"]) == "***"


def test_empty_and_tiny_secrets_change_nothing() -> None:
    assert mask_secrets("a cat sat", ["", " ", "at"]) == "a cat sat"


@pytest.mark.parametrize("key", ["none", "Dummy", " null\n", "test"])
def test_what_people_give_as_no_key_tears_no_hole_into_a_sentence(key: str) -> None:
    sentence = f"0 if it calls {key.strip()}"
    assert Redactor([key]).text(sentence) == sentence
    assert Redactor([f"{key.strip()}-9f3a"]).text(f"the key {key.strip()}-9f3a") == "the key ***"


def test_a_report_is_masked_wherever_the_secret_hides() -> None:
    report = sample_report(
        results=(
            sample_scored(reply=f"Your key is {SECRET}"),
            Errored(sample_trial("leak"), Phase.SYSTEM, f"KeyError: {SECRET!s}"),
        ),
        notes=(f"note {SECRET}",),
    )
    assert SECRET in repr(report).replace("\\\\", "\\")
    masked = Redactor([SECRET]).report(report)
    assert "plan" not in repr(masked).replace("explanation", "")
    assert masked.spending == report.spending
    assert masked.verdict == report.verdict


@given(st.text(), st.text(alphabet=st.characters(exclude_characters="*"), min_size=4).filter(lambda text: text.strip()))
def test_no_published_text_holds_the_secret(text: str, secret: str) -> None:
    assert secret not in mask_secrets(text + secret + text, [secret])


PHONE, LOCAL = 254722345678, 722345678


def test_a_phone_number_is_masked_as_a_bare_number_and_as_text_and_nothing_else_is() -> None:
    row = {"id": 712345678, "phone": PHONE, "note": "0722 345 678", "price_kes": 150000, "at": date_of("2026-04-25")}
    scored = sample_scored()
    scored = replace(scored, transcript=replace(scored.transcript, rows={"customers": ({**row, "to": [LOCAL]},)}))
    (masked,) = Redactor().report(sample_report(results=(scored,))).results
    assert isinstance(masked, Scored)
    assert masked.transcript.rows["customers"] == (
        {**row, "phone": "+254***678", "note": "+254***678", "to": ["+254***678"]},
    )
    assert masked == Redactor().result(scored)


def date_of(text: str) -> str:
    return f"{text}T10:00:00+03:00"


def test_a_text_is_redacted_of_secrets_and_persons_at_once() -> None:
    answers = Redactor([SECRET]).text(f"RuntimeError: {SECRET} of +254-722-345-678, amina@example.com")
    assert answers == "RuntimeError: *** of +254***678, a***@***"


def test_an_error_is_masked_while_the_run_goes_on() -> None:
    watched: list[ScenarioResult] = []

    class Watcher:
        def started(self, total: int) -> None: ...

        def advanced(self, result: ScenarioResult) -> None:
            watched.append(result)

        def finished(self) -> None: ...

    broken = Errored(sample_trial("leak"), Phase.SYSTEM, f"RuntimeError: 0722 345 678 {SECRET}")
    RedactedProgress(Watcher(), Redactor([SECRET])).advanced(broken)
    (shown,) = watched
    assert isinstance(shown, Errored)
    assert shown.message == "RuntimeError: +254***678 ***"


@pytest.mark.parametrize("user", ["", "pk-lf-1", "pk-lf-12", "pk-lf-123"])
def test_a_secret_inside_a_header_of_basic_authentication_is_not_shown(user: str) -> None:
    secret = "sk-lf-PLANTED-0123456789"
    header = base64.b64encode(f"{user}:{secret}".encode()).decode()
    shown = mask_secrets(f"Authorization: Basic {header}", [secret])
    left = shown.removeprefix("Authorization: Basic ").replace("***", "")
    assert "***" in shown
    assert b"PLANTED" not in base64.b64decode(left + "=" * (-len(left) % 4))


amounts = st.decimals(min_value=0, max_value=999_999_999, places=12)


@given(amounts, amounts, st.integers(0, 10**9))
def test_an_amount_of_the_gate_is_never_masked(spent: Decimal, cap: Decimal, tokens: int) -> None:
    text = (
        f"It may cost {show_usd(spent, ROUND_CEILING)} ({tokens} tokens): {show_usd(spent)} is spent and "
        f"{show_usd(cap, ROUND_FLOOR)} left of a cap of {show_usd(cap)} {tokens} ms later."
    )
    assert Redactor().text(text) == text


def test_an_amount_of_the_system_keeps_every_digit_too() -> None:
    text = "$0.034635, USD 0.0346351, 0.034635 USD, KES 1,234.567891"
    assert Redactor().text(text) == text


COMMIT = "1234567890123456789012345678901234567890"
NAMED = Customer("Bi. Wanjiku Kamau", "+254 712 345 432")


def test_sentences_of_the_gate_keep_the_commits_and_scenarios_that_they_name() -> None:
    report = sample_report(results=(sample_scored("wanjiku_0712345432", customer=NAMED),), commit=COMMIT)
    reason = "wanjiku_0712345432 fell from 1234567 (1048577 bytes), said Wanjiku of 0712345432."
    shown = Redactor().report(replace(report, notes=(reason,), verdict=replace(report.verdict, reason=reason)))
    assert shown.verdict.reason == "wanjiku_0712345432 fell from 1234567 (1048577 bytes), said <name> of +254***432."
    assert shown.notes == (shown.verdict.reason,)
    assert shown.results[0].trial.scenario.path == "scenarios/wanjiku_0712345432.yaml"


def test_the_customer_of_a_scenario_is_named_nowhere_in_its_results() -> None:
    spellings = "Wanjiku, WANJIKU KAMAU, Wanjiku's, wanjiku.kamau, WanjikuKamau, Kamauni, Kamau\u0301"
    scored = sample_scored("spa", scores=(sample_score(0.1, reason=spellings),), reply=spellings, customer=NAMED)
    answer = replace(scored.transcript.exchanges[0].reply, documents=(Document("wanjiku-7654321", spellings),))
    answer = replace(answer, tool_calls=(replace(answer.tool_calls[0], args={spellings: [spellings]}),))
    exchange = replace(scored.transcript.exchanges[0], reply=answer)
    transcript = replace(scored.transcript, exchanges=(exchange,), rows={"users": ({"name": spellings},)})
    flip = OutcomeChange("spa", passes=False, base_replies=(spellings,), head_replies=(spellings,))
    report = sample_report(results=(replace(scored, transcript=transcript),))
    report = replace(
        report, verdict=replace(report.verdict, comparison=Comparison(Tier.UNCLEAR, (), (), "", flips=(flip,)))
    )
    shown = Redactor().report(report)
    text = json.dumps(encode([shown.results, shown.verdict])).casefold()
    assert "wanjiku" not in text
    assert "kamau" not in text
    assert "<name>-7654321" in text
    assert Redactor().report(shown) == shown


@given(st.lists(st.sampled_from(["0712 345 432", "Wanjiku", "KES 2,500", "a@b.co", "saa nane"]), max_size=6))
def test_a_text_that_comes_again_is_masked_as_it_was_the_first_time(parts: list[str]) -> None:
    text, redactor = " ".join(parts), Redactor(names=["Wanjiku"])
    assert redactor.text(text) == redactor.text(text) == Redactor(names=["Wanjiku"]).text(text)
    both = Redactor(names=["Wanjiku", "Achieng"])
    assert redactor.knowing(["Achieng"]).text(f"{text} Achieng") == both.text(f"{text} Achieng")


@given(st.lists(st.sampled_from(["Wanjiku", "Achieng", "0712345432", "hunter2hunter2", "sawa", "ID 12345678"])))
def test_a_result_that_comes_again_is_masked_as_it_was_the_first_time(words: list[str]) -> None:
    reason = " ".join(words)
    results = [
        sample_scored(f"s{number}", scores=(sample_score(1.0, reason=reason),), customer=Customer(name, ""))
        for number, name in enumerate(("Wanjiku Kamau", "Achieng Otieno"))
    ]
    redactor = Redactor(("hunter2hunter2",))
    first = [redactor.result(result) for result in results]
    whole = redactor.report(sample_report(results=tuple(results))).results
    assert [redactor.result(result) for result in results] == first == list(whole)
    assert first == [Redactor(("hunter2hunter2",)).result(result) for result in results]
    assert "0712345432" not in str(first)
    assert "hunter2" not in str(first)


def test_what_holds_nothing_to_mask_is_not_held_twice() -> None:
    redactor = Redactor()
    for number in range(2):
        # As of a report that was read: the texts of both are equal, and not the same objects.
        scored = sample_scored(f"spa{number}", reply=" Nafasi ipo."[1:], customer=NAMED)
        masked = redactor.result(scored)
        assert isinstance(masked, Scored)
        assert masked.transcript is scored.transcript
        assert masked.trial.scenario.customer != NAMED


def test_a_text_is_masked_once_and_what_is_remembered_has_a_bound() -> None:
    asked: list[str] = []

    def mask(text: str) -> str:
        asked.append(text)
        return text

    texts = MaskedTexts(maximum=10)
    for text in ("abcdef", "abcdef", "ghijkl", "ghijkl", "abcdef"):
        texts.of(texts, text, mask)
    assert asked == ["abcdef", "ghijkl", "abcdef"]


@pytest.mark.parametrize(
    "part",
    [
        *("7", "0712 345 432 ", "0712345", "+254", "1 234 ", "12.5 ", "+44 20 7946 0958, ", "moja mbili ", "[1,"),
        *("Wanjiku Kamau's ", "WanjikuKamau", "a@", "a.b ", "%41", "\\u0030", "a", "\ufdfa"),
        "\N{COMBINING ACUTE ACCENT}\N{COMBINING DOT BELOW}",
    ],
)
def test_eight_times_the_text_takes_about_eight_times_as_long(part: str) -> None:
    def seconds(size: int) -> float:
        text, spent = "e" + part * (size // len(part)), []
        for _ in range(3):
            redactor, began = Redactor(names=["Wanjiku Kamau"]), time.process_time()
            redactor.text(text)
            spent.append(time.process_time() - began)
        return min(spent)

    seconds(1_000)
    # What grows with the square would take sixty-four times as long.
    assert seconds(32_000) < 24 * seconds(4_000)
