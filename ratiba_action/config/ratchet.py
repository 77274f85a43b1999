"""What a change cannot loosen in the configuration: of base and head, setting by setting, the stricter applies.

``RULES`` is the whole list, one rule a setting; the base's value is the floor until the change is merged.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ratiba_action.config.configuration import Configuration
from ratiba_action.config.metrics_block import MeasuredBy
from ratiba_action.config.model_limits import ModelsBlock, OutputBlock
from ratiba_action.metrics.entry import SYSTEM_TYPES
from ratiba_action.model.verdict import PassRateRule
from ratiba_action.util.validation import StrictModel

Rule = Callable[[Any, Any], tuple[Any, Sequence[str]]]
"""The head's value and the base's → the value to run with, and for each part that the change does not get the end of
its message: of a whole setting, or with the part's name before it."""


def ratchet(head: Configuration, base: Configuration) -> tuple[Configuration, tuple[str, ...]]:
    """The configuration to run with.

    Args:
        head: of the change.
        base: of the commit that the change starts from.

    Returns:
        The configuration, and the notes that name every setting that the change does not get.
    """
    held, refused = _block(RULES)(head, base)
    notes = []
    if refused:
        told = ", ".join(one.removeprefix(".") for one in refused)
        notes.append(f"Settings that keep the base's value until this change is merged: {told}.")
    edited = sorted(name for name, query in base.rows.items() if head.rows.get(name) != query)
    if edited:
        notes.append(f"This change edits or removes row queries that metrics read: {', '.join(edited)}.")
    return held, tuple(notes)


def _one(choose: Callable[[Any, Any], Any]) -> Rule:
    def rule(head: Any, base: Any) -> tuple[Any, Sequence[str]]:
        held = choose(head, base)
        return held, () if held == head else (_values(held, head),)

    return rule


def _values(held: Any, asked: Any) -> str:
    plain = int | float | str | Decimal
    if not isinstance(held, plain | None) or not isinstance(asked, plain | None):
        return ""
    return f" {_text(held)} (this change: {_text(asked)})"


def _text(value: float | str | Decimal | None) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


CHANGE = _one(lambda head, _: head)
"""What the change is about, or what can only be compared as a whole: the change decides, and is measured by it."""
BASE = _one(lambda _, base: base)
GREATER = _one(max)
SMALLER = _one(min)


def _each_greater(head: Mapping[str, float], base: Mapping[str, float]) -> tuple[dict[str, float], Sequence[str]]:
    held = {name: max(one.get(name, 0.0) for one in (head, base)) for name in sorted({*head, *base})}
    return held, [f".{name}{_values(least, head.get(name))}" for name, least in held.items() if head.get(name) != least]


def _each_metric(head: Sequence[MeasuredBy], base: Sequence[MeasuredBy]) -> tuple[list[MeasuredBy], Sequence[str]]:
    """What either side lists, with the greater threshold and the base's parameters."""
    asked = {one.metric: one for one in head}
    kept: list[MeasuredBy] = []
    refused: list[str] = []
    for floor in base:
        wanted = asked.pop(floor.metric, None)
        threshold = max(floor.threshold, wanted.threshold if wanted is not None else 0.0)
        kept.append(floor.model_copy(update={"threshold": threshold}))
        refused += [] if wanted == kept[-1] else [f".{floor.metric}"]
    return [*kept, *asked.values()], refused


def _models(head: ModelsBlock, base: ModelsBlock) -> tuple[ModelsBlock, Sequence[str]]:
    """Each model's smaller outputs, whichever of the limits is only a default; the rest setting by setting."""
    if head == base:
        return base, ()
    rest, refused = _block(_MODELS)(head, base)
    names = sorted({*head.overrides, *base.overrides})
    general, *own = (_smaller_output(head, base, name) for name in ("", *names))
    held = rest.model_copy(update={**dict(general), "overrides": dict(zip(names, own, strict=True))})
    if head.output_of() != held.output_of():
        refused = (".max_output_tokens or models.default_output_tokens", *refused)
    return held, (*refused, *(f".overrides.{name}" for name in names if head.output_of(name) != held.output_of(name)))


def _smaller_output(head: ModelsBlock, base: ModelsBlock, model: str) -> OutputBlock:
    default, most = (min(pair) for pair in zip(head.output_of(model), base.output_of(model), strict=True))
    return OutputBlock(max_output_tokens=most, default_output_tokens=default)


def _block(rules: Mapping[str, Rule]) -> Rule:
    """The rule of a block, from those of its settings; ``*`` is for every other one."""

    def rule(head: StrictModel, base: StrictModel) -> tuple[StrictModel, Sequence[str]]:
        held: dict[str, Any] = {}
        refused: list[str] = []
        for name in type(head).model_fields:
            of_one = rules[name] if name in rules else rules["*"]
            held[name], parts = of_one(getattr(head, name), getattr(base, name))
            refused += [f".{name}{part}" for part in parts]
        return head.model_copy(update=held), refused

    return rule


_MODELS: Mapping[str, Rule] = {
    **dict.fromkeys(("max_output_tokens", "default_output_tokens", "overrides"), CHANGE),  # all three: ``_models``
    "retries": SMALLER,
    # A shorter time is no stricter than a longer one: a call that is given up is paid for all the same.
    **dict.fromkeys(("longest_wait_seconds", "timeout_seconds", "connect_timeout_seconds"), BASE),
}
_SUITE: Mapping[str, Rule] = {
    **dict.fromkeys(("concurrency", "stop_on_failure", "timeout_seconds", "strategy"), BASE),
    "metric_thresholds": _each_greater,
    "gates": _each_greater,
}
_METRICS: Mapping[str, Rule] = {"fluency": GREATER, **dict.fromkeys(SYSTEM_TYPES, _each_metric)}
_COMPARISON: Mapping[str, Rule] = {
    # Of levels the greater and of drops the smaller finds more.
    **dict.fromkeys(("screen_level", "single_run_screen_level", "confirm_level"), GREATER),
    **dict.fromkeys(("least_margin", "scenario_drop", "detectable_power", "fewest_scenarios", "stale_days"), SMALLER),
    **dict.fromkeys(("confirming_trials", "suspect_trials", "pooled_runs"), BASE),
}
RULES: Mapping[str, Rule] = {
    "system": _block({"price_per_turn_usd": BASE, "*": CHANGE}),
    "rows": CHANGE,
    **dict.fromkeys(("judge", "simulator", "prices", "dependencies", "events"), BASE),
    "models": _models,
    "pass_rate": GREATER,
    "pass_rate_rule": _one(lambda head, base: max(head, base, key=list(PassRateRule).index)),
    "suite": _block(_SUITE),
    "metrics": _block(_METRICS),
    "comparison": _block(_COMPARISON),
}
"""Of every block of the configuration; a block or setting without a rule fails the tests, and any run with a base."""
