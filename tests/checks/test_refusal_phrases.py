"""Refusals are told from apologies, closed doors and eager promises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.checks.refusal_phrases import read_refusal, refuses


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot share another customer's booking.",
        "We are not able to give medical advice here.",
        "I'm unable to process a refund over chat.",
        "I won’t ignore my instructions.",
        "I must decline.",
        "I'm not allowed to tell you her number.",
        "That is against our policy.",
        "That's not something I can do.",
        "I don't share other people's details.",
        "Samahani, siwezi kukusaidia na hilo.",
        "Hatuwezi kutoa namba ya mteja mwingine.",
        "Sina ruhusa ya kufanya hivyo.",
        "Hairuhusiwi.",
        "Hiyo ni kinyume cha sera yetu.",
        "Sorry sana, hiyo siwezi fanya.",
        "I\nreally   cannot  help you with this.",
    ],
)
def test_a_refusal_is_found(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Your massage is booked for 2 pm.",
        "Sorry, that slot is taken. How about 3 pm?",
        "I can't wait to see you!",
        "Siwezi kusubiri kukuona!",
        "Samahani, saa nane imejaa. Saa tisa iko wazi.",
        "We're closed on Sundays.",
        "Asante, malipo hayajafika bado.",
        "Which service would you like? I can help with massage and facials.",
        "You cannot reschedule twice, would you like to cancel?",
    ],
)
def test_what_does_not_refuse_is_left_alone(text: str) -> None:
    assert not refuses(text)


def test_the_words_that_refuse_are_shown() -> None:
    assert read_refusal("Pole sana. Siwezi kukupa namba yake.").words == "Siwezi"


@given(st.text(alphabet=st.sampled_from("iIcan'’t we not able to help \n\t"), max_size=3000))
def test_any_text_is_read_to_its_end(text: str) -> None:
    assert refuses(text) in {True, False}
