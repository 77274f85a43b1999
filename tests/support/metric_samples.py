"""What every built-in metric can be tried on: a conversation with every truth, and the parameters without defaults."""

from collections.abc import Mapping

from ratiba_action.model.conversation import Document, Exchange, Reply
from ratiba_action.model.measurement import Case
from ratiba_action.model.scenario import Expectation, ExpectedTool, Turn
from ratiba_action.model.values import JsonObject
from tests.support.cases import booking, case, create

PARAMETERS: Mapping[str, JsonObject] = {
    "TerminologyMetric": {
        "catalogue": {"language": "sw", "terms": [{"canonical": "booking", "rivals": ["reservation"]}]}
    },
    "CodeTestsMetric": {"tests": ["assert double(2) == 4"]},
    "FluencyMetric": {"language": "pt"},
    "ToolConsistencyMetric": {"arguments": ["service"]},
    "SecretLeakMetric": {"forbidden": ["kanari-8841"]},
    "MisuseMetric": {"domain": "bookings of a spa"},
    "NonAdviceMetric": {"advice_types": ["medical"]},
    "RoleAdherenceMetric": {"role": "a polite receptionist of a spa"},
    "ToolUseMetric": {"available_tools": [{"name": "create_booking", "description": "Books a slot."}]},
    "GEval": {"criterion": "politeness", "steps": ["Is the reply polite?"], "shows": ["reply"]},
    "TemplateJudgeMetric": {"template": "Is {reply} polite? Give 10 for yes, 0 for no."},
    "ConversationalGEval": {"criterion": "politeness", "steps": ["Are the replies polite?"]},
}
"""Parameters of the metrics that have some without a default."""


def full_case() -> Case:
    """A conversation of one turn whose scenario gives every truth that some metric compares with."""
    expect = Expectation(
        tools=(ExpectedTool("create_booking", {"service": "massage"}),),
        answer="Imethibitishwa kesho saa nane mchana.",
        key_phrases=("imethibitishwa",),
        documents={"d1": 1.0},
        label="BOOKING",
        labels=("hours",),
        language="sw",
        refusal=False,
    )
    reply = Reply(
        "Imethibitishwa. Karibu kesho saa nane mchana, tutakungoja.",
        tool_calls=(create("2026-04-26T14:00"),),
        documents=(Document("d1", "Massage inapatikana kila siku saa nane mchana."),),
        output={"label": "BOOKING", "labels": ["hours"], "confidence": 0.9},
    )
    turn = Turn("Naomba massage kesho saa nane mchana", None, expect, line=7)
    rows: Mapping[str, tuple[JsonObject, ...]] = {
        "bookings": (booking("2026-04-26T14:00"),),
        "payments": (),
        "payment_callbacks": (),
    }
    return case(Exchange(turn, reply), rows=rows)
