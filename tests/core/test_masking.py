"""Planted secrets do not come out."""

import base64
import json
from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.core.masking import Redactor, mask_secrets
from ratiba_action.core.model.measurement import Errored, Phase, ScenarioResult, Scored
from ratiba_action.reporting.redacted_progress import RedactedProgress
from ratiba_action.testing.sample_report import sample_report, sample_scored, sample_trial

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
    assert "plan" not in repr(masked)
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
    told = Redactor([SECRET]).text(f"RuntimeError: {SECRET} of +254-722-345-678, amina@example.com")
    assert told == "RuntimeError: *** of +254***678, a***@***"


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
