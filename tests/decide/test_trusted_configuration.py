"""Whose configuration may spend and send: the whole table, which the threat model shows too."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.decide.trusted_configuration import (
    EVENTS,
    Base,
    Known,
    Whose,
    runs_in_ci,
    whose_configuration,
)

THREAT_MODEL = Path(__file__).parents[2] / "docs/threat-model.md"
OF_A_REQUEST = ("pull_request", "pull_request_review", "merge_group", "workflow_dispatch")
OF_A_COMMIT = ("push", "schedule", "")
REFUSED = (
    "pull_request_target",
    "issue_comment",
    "workflow_run",
    "repository_dispatch",
    "Push",
    "PULL_REQUEST",
    "push ",
)

ROWS = [
    *((event, Base.NAMED, False, Whose.BASE) for event in OF_A_REQUEST),
    *((event, Base.NAMED, False, Whose.NOBODY) for event in OF_A_COMMIT),
    *((event, Base.NAMED, True, Whose.MERGED) for event in OF_A_COMMIT),
    *((event, Base.MERGED, merged, Whose.BASE) for event in EVENTS for merged in (False, True)),
    *((event, base, False, Whose.NOBODY) for event in EVENTS for base in (Base.CLAIMED, Base.UNKNOWN)),
    *((event, base, True, Whose.MERGED) for event in EVENTS for base in (Base.CLAIMED, Base.UNKNOWN)),
    *((event, base, merged, Whose.NOBODY) for event in REFUSED for base in Base for merged in (False, True)),
]


@pytest.mark.parametrize(("event", "base", "merged", "whose"), ROWS)
def test_whose_configuration_decides_in_ci(event: str, base: Base, merged: bool, whose: Whose) -> None:  # noqa: FBT001 - a row
    known = Known(event=event, base=base, merged=merged)
    assert whose_configuration(known) is whose
    assert whose_configuration(replace(known, in_ci=False)) is Whose.PERSON
    unconfigured = whose_configuration(replace(known, configured=False))
    assert unconfigured is (Whose.MERGED if event in EVENTS and merged else Whose.NOBODY)


def test_the_table_has_every_event_with_everything_that_can_be_known() -> None:
    known = {(event, base, merged) for event, base, merged, _ in ROWS}
    rows = {(event, base, merged) for event, base, merged in itertools.product(EVENTS, Base, (False, True))}
    # A request is named by what it is merged into, and what is checked out for it is never merged already.
    assert rows - known == {(event, Base.NAMED, True) for event in OF_A_REQUEST}


def test_the_threat_model_shows_the_same_events() -> None:
    text = THREAT_MODEL.read_text().partition("<!-- events -->")[2].partition("<!-- /events -->")[0]
    shown = {
        name for line in text.splitlines() for name in re.findall(r"`(\w+)`", line.partition("|")[2].partition("|")[0])
    }
    assert shown == set(EVENTS) - {""}


@given(
    st.builds(
        Known,
        in_ci=st.just(value=True),
        event=st.one_of(st.sampled_from([*EVENTS, *REFUSED]), st.text()),
        base=st.sampled_from([Base.UNKNOWN, Base.CLAIMED]),
        configured=st.booleans(),
        merged=st.just(value=False),
    )
)
def test_what_nobody_but_the_change_says_is_never_enough(known: Known) -> None:
    assert whose_configuration(known) is Whose.NOBODY


def test_as_long_as_nothing_is_known_nobody_decides() -> None:
    assert whose_configuration(Known()) is Whose.NOBODY


@pytest.mark.parametrize(
    ("environment", "in_ci"),
    [
        ({}, False),
        ({"CI": "false"}, False),
        ({"GITHUB_TOKEN": "t", "GITHUB_REPOSITORY": "a/b"}, False),  # as in a codespace
        ({"GITHUB_ACTIONS": "true"}, True),
        ({"GITHUB_RUN_ID": "1", "GITHUB_ACTIONS": ""}, True),
        ({"GITHUB_EVENT_NAME": "push"}, True),
        ({"GITLAB_CI": "true"}, True),
        ({"CI": "1"}, True),
        ({"JENKINS_URL": "https://ci.example"}, True),
    ],
)
def test_any_sign_of_a_ci_system_makes_it_no_laptop(environment: dict[str, str], in_ci: bool) -> None:  # noqa: FBT001 - a row
    assert runs_in_ci(environment) is in_ci
