"""Identifiers that the gate writes itself are never masked where it wrote them; numbers of persons are."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.event import (
    CanaryLooked,
    ConversationStarted,
    Event,
    JudgeCalled,
    Place,
    RunStarted,
    ScoreLogged,
)
from ratiba_action.observability.event_masking import EventMask
from ratiba_action.privacy.masking import Redactor
from ratiba_action.privacy.own_names import KeepingRedactor
from ratiba_action.production.conversation import GroupMark

COMMITS = st.integers(7, 40).flatmap(
    lambda size: (
        st.text("0123456789", min_size=size, max_size=size) | st.text("0123456789abcdef", min_size=size, max_size=size)
    )
)
PROMPTS = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)
VERSIONS = st.builds("{}@{}{}".format, PROMPTS, COMMITS, st.sampled_from(["", "-dirty"]))
METRIC_VERSIONS = st.from_regex(
    r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}(\+deepeval\.[0-9]{1,2}\.[0-9]{1,3}\.[0-9]{1,2})?", fullmatch=True
)
MODELS = st.sampled_from(["claude-opus-4-20250514", "gpt-4o-2024-08-06", "gpt-4-0125-preview", "mistral/large:2411"])
RUNS = st.integers(1, 2**53).map(lambda number: f"{number}.1")
SHA1, SHA256 = st.text("0123456789abcdef", min_size=40, max_size=40), st.text("0123456789", min_size=64, max_size=64)
SCENARIOS = st.from_regex(r"[a-z]{2,10}_[0-9]{0,10}", fullmatch=True)
# A customer with the name of a prompt: names of persons hide no version either.
MASK = EventMask({}, Redactor((), ["Booking Orchestrator", "Bo Lee"]))


@given(st.data())
def test_no_identifier_of_an_event_is_masked(data: st.DataObject) -> None:
    draw = data.draw
    version, commit, digest = draw(VERSIONS), draw(SHA1), draw(SHA256)
    tags = (GroupMark.PROMPT_VERSION.tag(version), GroupMark.MODEL.tag(draw(MODELS)), "ratiba:failed")
    metric = draw(METRIC_VERSIONS)
    place = Place("head", draw(SCENARIOS), 0)
    for happening in (
        RunStarted(
            "gate-1234567", "blocking", commit, f"{commit}-dirty", "acme/bo-1234567", 1, draw(RUNS), "live", digest
        ),
        RunStarted("main", "sample", judge=draw(MODELS), prompt_versions=(version,)),
        ConversationStarted(digest[:32], "7fd466fb-974d-46dd-a737-f07123454320", (version,), tags=tags),
        ConversationStarted(digest[:32], "", prompt_blobs=(f"bo@{commit}",), began=datetime(2026, 4, 20, tzinfo=UTC)),
        ScoreLogged("CoherenceMetric", metric, 0.5, 0.8, passed=False),
        JudgeCalled("CoherenceMetric", metric, draw(MODELS)),
        CanaryLooked("wait", version, draw(VERSIONS), "none", 3, 1.0),
    ):
        event = Event(happening, place)
        assert MASK.event(event) == event


@pytest.mark.parametrize("number", ["0712345432", "254712345432", "+254 712 345 432", "wanjiku@example.co.ke"])
def test_a_number_of_a_person_in_the_same_places_is_masked(number: str) -> None:
    tags = (f"caller {number}", number, GroupMark.PROMPT_VERSION.tag(number), GroupMark.MODEL.tag(number))
    masked = MASK.event(Event(ConversationStarted("a", "", tags=tags))).data
    assert isinstance(masked, ConversationStarted)
    assert not any(number in tag for tag in masked.tags)


@given(VERSIONS, VERSIONS)
def test_a_sentence_keeps_the_versions_that_it_is_about_and_nothing_else(stable: str, canary: str) -> None:
    keeping = KeepingRedactor(["sk-planted-1234"], (stable, canary, "0712 345 432"))
    sentence = f"no conversation has the prompt_version {canary!r} or {stable!r}; sk-planted-1234, 0712 345 432"
    shown = keeping.text(sentence)
    assert shown.startswith(f"no conversation has the prompt_version {canary!r} or {stable!r}; ***, ")
    assert "345 432" not in shown
