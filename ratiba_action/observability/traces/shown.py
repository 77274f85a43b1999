"""An event as a span shows it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ratiba_action.model.event import (
    EvaluationFailed,
    HandedOff,
    Happening,
    JudgeCalled,
    ModelCalled,
    PaymentChanged,
    Place,
    StateTransition,
    ToolCalled,
    TurnEnded,
)
from ratiba_action.observability.traces import attributes
from ratiba_action.observability.traces.model import AttributeValue

_ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class TraceStep:
    """What a span shows.

    Args:
        kind: of observation, as Langfuse names them.
        problem: why it stands out; empty where it does not.
    """

    name: str
    kind: str
    given: Any = None
    made: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, AttributeValue] = field(default_factory=dict)
    problem: str = ""


def step_of(data: Happening, place: Place) -> TraceStep | None:
    """The event as a step; None for one that shows nothing of its own."""
    show = _SHOWN.get(type(data))
    return show(data, place) if show is not None else None


def attributes_of(step: TraceStep) -> dict[str, AttributeValue]:
    """The attributes of its span."""
    found: dict[str, AttributeValue] = {attributes.TYPE: step.kind}
    for name, value in ((attributes.INPUT, step.given), (attributes.OUTPUT, step.made)):
        if value not in (None, "", []):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            found[name] = text[: attributes.LONGEST_TEXT]
    if step.problem:
        found |= {attributes.LEVEL: _ERROR, attributes.STATUS_MESSAGE: step.problem}
    return {**found, **dict(attributes.own(step.metadata)), **step.extra}


def _turn(data: TurnEnded, place: Place) -> TraceStep:
    given = data.user if data.user is not None else {"event": data.event}
    return TraceStep(f"turn {place.turn}", "span", given, data.reply, {"replayed": data.replayed})


def _tool(data: ToolCalled, _: Place) -> TraceStep:
    return TraceStep(data.name or "tool", "tool", metadata={"args_sha256": data.args_sha256})


def _state(data: StateTransition, _: Place) -> TraceStep:
    return TraceStep("state", "event", data.source, data.target)


def _payment(data: PaymentChanged, _: Place) -> TraceStep:
    amount = "" if data.amount is None else f"{data.amount} {data.currency}".strip()
    metadata = {"rail": data.rail, "amount": amount, "receipt": data.receipt}
    return TraceStep("payment", "event", None, data.state, metadata)


def _hand_off(data: HandedOff, _: Place) -> TraceStep:
    return TraceStep("hand-off", "event", None, data.reason)


def _failure(data: EvaluationFailed, _: Place) -> TraceStep:
    metadata = {"kind": data.kind, "expected": data.expected, "got": data.got, "flag": data.flag}
    return TraceStep(f"EVAL_FAIL {data.name}", "event", metadata=metadata, problem=data.reason or data.name)


def _model(data: ModelCalled, _: Place) -> TraceStep:
    return _call("model call", data, {})


def _judge(data: JudgeCalled, _: Place) -> TraceStep:
    metadata = {"metric": data.metric, "version": data.version, "cached": data.cached}
    return _call(f"judge {data.metric}", data, metadata)


def _call(name: str, data: ModelCalled | JudgeCalled, more: Mapping[str, Any]) -> TraceStep:
    usage = {
        "input": data.usage.input_tokens,
        "output": data.usage.output_tokens,
        "cache_read_input_tokens": data.usage.cache_read_tokens,
        "cache_creation_input_tokens": data.usage.cache_write_tokens,
    }
    extra: dict[str, AttributeValue] = {attributes.MODEL: data.model} if data.model else {}
    extra[attributes.USAGE] = json.dumps({kind: tokens for kind, tokens in usage.items() if tokens})
    if data.cost_usd is not None:
        # Where no cost is reported, Langfuse prices the tokens by its own list, those of a replayed call too.
        extra[attributes.COST] = json.dumps({"total": float(data.cost_usd)})
    listed = {} if data.list_price_usd is None else {"list_price_usd": str(data.list_price_usd)}
    metadata = {"party": data.party, "replayed": data.replayed, **listed, **more}
    return TraceStep(name, "generation", metadata=metadata, extra=extra)


_Show = Callable[[Any, Place], TraceStep]

_SHOWN: Mapping[type[Happening], _Show] = {
    TurnEnded: _turn,
    ToolCalled: _tool,
    StateTransition: _state,
    PaymentChanged: _payment,
    HandedOff: _hand_off,
    EvaluationFailed: _failure,
    ModelCalled: _model,
    JudgeCalled: _judge,
}
