"""What a judge is shown of a customer's conversation: the same, without what identifies the customer."""

from dataclasses import replace

from ratiba_action.model.conversation import Document, Exchange, Reply, ToolCall
from ratiba_action.model.measurement import Case
from ratiba_action.model.scenario import Turn
from ratiba_action.privacy.masking import Redactor


def masked_case(case: Case, redactor: Redactor) -> Case:
    """The case with every text, argument and document of its conversation masked.

    Args:
        case: of a conversation that took place.
        redactor: that knows the names of its people.
    """
    exchanges = tuple(_exchange(one, redactor) for one in case.transcript.exchanges)
    return replace(
        case,
        scenario=replace(case.scenario, turns=tuple(one.turn for one in exchanges)),
        transcript=replace(case.transcript, exchanges=exchanges),
    )


def _exchange(one: Exchange, redactor: Redactor) -> Exchange:
    user = None if one.turn.user is None else redactor.text(one.turn.user)
    event = None if one.turn.event is None else redactor.value(one.turn.event)
    return replace(one, turn=Turn(user=user, event=event), reply=_reply(one.reply, redactor))


def _reply(reply: Reply, redactor: Redactor) -> Reply:
    return replace(
        reply,
        text=redactor.text(reply.text),
        tool_calls=tuple(
            ToolCall(call.name, redactor.value(dict(call.args)), redactor.value(call.output))
            for call in reply.tool_calls
        ),
        documents=tuple(Document(one.id, redactor.text(one.text), one.score) for one in reply.documents),
        output=redactor.value(reply.output),
    )
