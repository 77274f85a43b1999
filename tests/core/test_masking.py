"""Planted secrets do not come out."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.core.masking import mask_report, mask_secrets
from ratiba_action.core.model.measurement import Errored, Phase
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
    masked = mask_report(report, [SECRET])
    assert "plan" not in repr(masked)
    assert masked.spending == report.spending
    assert masked.verdict == report.verdict


@given(st.text(), st.text(alphabet=st.characters(exclude_characters="*"), min_size=4).filter(lambda text: text.strip()))
def test_no_published_text_holds_the_secret(text: str, secret: str) -> None:
    assert secret not in mask_secrets(text + secret + text, [secret])
