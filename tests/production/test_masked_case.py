"""No planted identifier reaches a judge, wherever in a conversation it stands."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.codec import encode
from ratiba_action.model.conversation import Document, Exchange, Reply, ToolCall
from ratiba_action.model.scenario import Turn
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.measuring import masked_case
from tests.support.cases import case

PLANTED = "Wanjiku Kamau, +254 712 345 432, wanjiku@example.com"
REDACTOR = Redactor(names=["Wanjiku Kamau"])
NESTED = st.recursive(
    st.just(PLANTED),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.just("note"), inner, min_size=1),
    max_leaves=5,
)


@given(NESTED, st.booleans())
def test_nothing_planted_survives(value: Any, happened: bool) -> None:  # noqa: FBT001 - drawn by Hypothesis
    turn = Turn(event={"type": "note", "data": value}) if happened else Turn(user=PLANTED)
    reply = Reply(
        PLANTED,
        tool_calls=(ToolCall("look", {"who": value}, value),),
        documents=(Document("d", PLANTED),),
        output=value,
    )
    masked = masked_case(case(Exchange(turn, reply)), REDACTOR)
    shown = json.dumps([encode(masked.transcript), encode(masked.scenario.turns)])
    assert "712" not in shown
    assert "Wanjiku" not in shown
    assert "wanjiku@" not in shown


def test_what_identifies_nobody_stays() -> None:
    plain = case(Exchange(Turn(user="Bei gani?"), Reply("Ni KES 3,000.", tool_calls=(ToolCall("look", {"hour": 14}),))))
    assert masked_case(plain, REDACTOR) == replace(
        plain, scenario=replace(plain.scenario, turns=(Turn(user="Bei gani?"),))
    )
