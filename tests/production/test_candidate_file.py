"""The file of a candidate: whatever was said in production, it is refused or it holds exactly that, masked."""

from datetime import UTC, date, datetime

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import SuiteError
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.candidate import Review, candidate_file, make_candidate
from ratiba_action.production.conversation import Observation, read_conversation
from ratiba_action.production.feedback import Feedback
from ratiba_action.production.tenants import TenantFacts

AT = datetime(2026, 11, 20, tzinfo=UTC)
PATH = "scenarios/from_production/a.yaml"
TRACE = "3f9c" * 8
REDACTOR = Redactor(names=["Wanjiku Kamau"])
TEXTS = st.text(max_size=60) | st.sampled_from(
    ["null", "12:30:45", "2026-05-04", "yes", "~", "{a: b}", "- x", "# y", "0x1F"]
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def content_of(given: object) -> bytes:
    """The file that one turn comes to.

    Raises:
        SuiteError: it is refused.
    """
    conversation = read_conversation([Observation(TRACE, "o", "p", "turn 0", AT, given, "Sawa")])
    assert conversation is not None
    if not conversation.turns:
        raise SuiteError([])
    feedback = Feedback("5c" * 16, "trace", TRACE, "thumbs_down", AT)
    review = Review("the reviewers", date(2026, 12, 22))
    candidate = make_candidate(conversation, feedback, TenantFacts("spa"), REDACTOR, review)
    return candidate_file(candidate, PATH)[PATH]


@given(TEXTS)
def test_what_was_said_is_refused_or_stands_there_masked(text: str) -> None:
    try:
        content = content_of({"user": text})
    except SuiteError:
        return
    assert yaml.safe_load(content)["turns"] == [{"user": REDACTOR.text(text.strip())}]


@given(st.dictionaries(TEXTS, PLAIN, max_size=4))
def test_an_event_of_any_shape_is_refused_or_accepted_and_never_an_error(data: dict[str, object]) -> None:
    try:
        content = content_of({"event": {**data, "type": "payment"}})
    except SuiteError:
        return
    assert yaml.safe_load(content)["turns"][0]["event"]["type"] == "payment"


@pytest.mark.parametrize("depth", [300, 100_000])
def test_an_event_that_is_too_deep_is_refused_or_a_text(depth: int) -> None:
    with pytest.raises(SuiteError):
        content_of('{"event": {"type": "x", "a": ' + '{"a": ' * depth + "1" + "}" * depth + "}}")


def test_a_character_that_no_file_can_hold_is_refused() -> None:
    with pytest.raises(SuiteError, match="not valid YAML"):
        content_of("Habari \ud800")
