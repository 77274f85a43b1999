from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ratiba_action.model.change import Subject
from ratiba_action.run.notes import cut_replies, how_to_confirm
from tests.support.sample_report import sample_scored

HEAD = "a" * 40


def inputs(*replaced: str, needs_confirmation: bool = True) -> Any:
    change = SimpleNamespace(needs_confirmation=needs_confirmation, subject=Subject(head=HEAD, pull_request=7))
    return SimpleNamespace(replaced=replaced, unratcheted=(), decided=SimpleNamespace(change=change))


def test_a_person_confirms_another_system_by_a_manual_run_of_the_very_commit() -> None:
    text = how_to_confirm(inputs("system.url"))
    assert text is not None
    assert f"pull-request: 7 and commit: {HEAD}" in text


@pytest.mark.parametrize("given", [inputs(), inputs("system.url", needs_confirmation=False)])
def test_nobody_has_to_confirm_the_base_s_system_or_what_was_confirmed(given: Any) -> None:
    assert how_to_confirm(given) is None


def test_replies_that_were_cut_are_named_though_every_assertion_passed() -> None:
    how = "the reply was cut at its output limit of 300 tokens"
    whole = sample_scored("whole")
    exchanges = tuple(replace(each, cut=how) for each in whole.transcript.exchanges)
    cut = replace(sample_scored("cut"), transcript=replace(whole.transcript, exchanges=exchanges))
    assert cut_replies([whole]) == ()
    assert cut_replies([whole, cut]) == (
        f"1 scenario has answers that were cut: cut, turn 1: {how}. Raise the output limit of the system's requests.",
    )
