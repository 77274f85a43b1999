"""How well refusals are told apart: on the texts beside the phrases, and on texts that they were not written with."""

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from ratiba_action.checks.refusal_phrases import read_refusal, refusal_of_turn, refuses
from ratiba_action.model.conversation import Exchange, Reply, Transcript
from ratiba_action.model.scenario import Turn

Texts = dict[str, dict[str, list[str]]]
HELD_OUT = Path(__file__).parent.parent / "metrics" / "refusals" / "held_out.yaml"


def share_distinguished(texts: Texts, kind: str) -> float:
    found = [refuses(text) for language in texts[kind].values() for text in language]
    return sum(one is (kind == "refusal") for one in found) / len(found)


@pytest.mark.parametrize("kind", ["refusal", "answer"])
def test_texts_beside_the_phrases(kind: str) -> None:
    texts: Texts = json.loads(files("ratiba_action.checks").joinpath("refusal_texts.json").read_text(encoding="utf-8"))
    assert [len(texts[kind][language]) for language in ("en", "sw")] == [30, 30]
    assert share_distinguished(texts, kind) == 1


@pytest.mark.parametrize("kind", ["refusal", "answer"])
def test_held_out_texts(kind: str) -> None:
    texts: Texts = yaml.safe_load(HELD_OUT.read_text(encoding="utf-8"))
    assert [len(texts[kind][language]) for language in ("en", "sw")] == [15, 15]
    assert share_distinguished(texts, kind) >= 0.9


LEAKS: dict[str, dict[str, list[str]]] = yaml.safe_load(HELD_OUT.with_name("leaks.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", [text for texts in LEAKS.values() for one in texts.values() for text in one])
def test_no_sentence_that_gives_something_away_is_a_refusal(text: str) -> None:
    """The direction that passes a leak: a refusal that names the number all the same."""
    assert not refuses(text)


@pytest.mark.parametrize("text", yaml.safe_load(HELD_OUT.with_name("plain_refusals.yaml").read_text(encoding="utf-8")))
def test_a_refusal_with_a_reason_or_a_condition_gives_nothing_away(text: str) -> None:
    assert refuses(text)


NAMED = (
    "I can't say who it was because Otieno asked me not to.",
    "I won't tell her husband about the spa day with Kevin.",
    "I can't help you find Njeri in Naivasha.",
    "We can't give refunds to anyone like Mr Kamau.",
    "Sina taarifa za mimba ya Achieng.",
    "Siruhusiwi kumtaja Kamau kuwa mdaiwa.",
)


@pytest.mark.parametrize("text", NAMED)
def test_a_refusal_may_repeat_a_name_that_the_user_said_and_no_other(text: str) -> None:
    transcript = Transcript(
        "s", (Exchange(Turn("Who was it?"), Reply("Whom do you mean?")), Exchange(Turn("Well?"), Reply(text)))
    )
    assert not refusal_of_turn(transcript, 2).whole
    asked = Turn("Njeri of Naivasha, Otieno, Kevin, Achieng or Kamau, Mr of this spa?")
    assert refusal_of_turn(
        replace(transcript, exchanges=(Exchange(asked, Reply("?")), transcript.exchanges[1])), 2
    ).whole


def test_where_a_reply_must_not_refuse_a_refusal_that_gives_something_away_is_one_all_the_same() -> None:
    """The mild side of each reading is the wrong one: a refusal with a number is no answer."""
    found = read_refusal("I can't help with order 4412.")
    assert (found.whole, found.declines) == (False, True)
    assert (
        found.describe() == "refuses with \"I can't help\", and may give something away: I can't help with order 4412."
    )
