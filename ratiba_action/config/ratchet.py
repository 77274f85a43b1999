"""The ratchet on the configuration: for each setting the stricter of base and head applies.

``RULES`` is the whole list, one rule per setting; the base's value is the floor until the change is merged.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ratiba_action.config.configuration import Configuration, Exceeded
from ratiba_action.config.metrics_block import MeasuredBy
from ratiba_action.config.model_limits import ModelOutputBlock, ModelsBlock
from ratiba_action.model.scenario import SystemType
from ratiba_action.model.verdict import InAdvisory, PassRateRule
from ratiba_action.util.validation import StrictModel

Rule = Callable[[Any, Any], tuple[Any, Sequence[str]]]
"""Takes the values of head and base; gives the value to run with, and the end of a message for each refused part."""


def ratchet(head: Configuration, base: Configuration) -> tuple[Configuration, tuple[str, ...]]:
    """The configuration to run with.

    Returns:
        The configuration, and notes that name every setting that keeps the base's value.
    """
    configuration, refused = _block(RULES)(head, base)
    notes = []
    if refused:
        settings = ", ".join(setting.removeprefix(".") for setting in refused)
        notes.append(f"Settings that keep the base's value until this change is merged: {settings}.")
    edited = sorted(name for name, query in base.rows.items() if head.rows.get(name) != query)
    if edited:
        notes.append(f"This change edits or removes row queries that metrics read: {', '.join(edited)}.")
    if head.timezone != base.timezone and base.timezone is not None:
        notes.append(f"This change sets timezone to {_text(head.timezone)} (base: {base.timezone}).")
    return configuration, tuple(notes)


def _whole_value(choose: Callable[[Any, Any], Any]) -> Rule:
    def rule(head: Any, base: Any) -> tuple[Any, Sequence[str]]:
        value = choose(head, base)
        return value, () if value == head else (_values(value, head),)

    return rule


def _values(value: Any, requested: Any) -> str:
    plain = int | float | str | Decimal
    if not isinstance(value, plain | None) or not isinstance(requested, plain | None):
        return ""
    return f" {_text(value)} (this change: {_text(requested)})"


def _text(value: float | str | Decimal | None) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


CHANGE = _whole_value(lambda head, _: head)
"""The change decides the value: it is what the gate tests, or is compared elsewhere."""
BASE = _whole_value(lambda _, base: base)
GREATER = _whole_value(max)
SMALLER = _whole_value(min)


def _each_greater(head: Mapping[str, float], base: Mapping[str, float]) -> tuple[dict[str, float], Sequence[str]]:
    greater = {name: max(thresholds.get(name, 0.0) for thresholds in (head, base)) for name in sorted({*head, *base})}
    return greater, [
        f".{name}{_values(minimum, head.get(name))}" for name, minimum in greater.items() if head.get(name) != minimum
    ]


def _each_path(head: Sequence[str], base: Sequence[str]) -> tuple[list[str], Sequence[str]]:
    """The paths of both: a change that leaves one out still runs what is there."""
    missing = [path for path in base if path not in head]
    return [*head, *missing], [f" {path}" for path in missing]


def _each_metric(head: Sequence[MeasuredBy], base: Sequence[MeasuredBy]) -> tuple[list[MeasuredBy], Sequence[str]]:
    """The metrics of head and base, with the greater threshold and the base's parameters."""
    requested = {entry.metric: entry for entry in head}
    entries: list[MeasuredBy] = []
    refused: list[str] = []
    for floor in base:
        wanted = requested.pop(floor.metric, None)
        threshold = max(floor.threshold, wanted.threshold if wanted is not None else 0.0)
        entries.append(floor.model_copy(update={"threshold": threshold}))
        refused += [] if wanted == entries[-1] else [f".{floor.metric}"]
    return [*entries, *requested.values()], refused


def _models(head: ModelsBlock, base: ModelsBlock) -> tuple[ModelsBlock, Sequence[str]]:
    """The smaller output limits of each model, defaults included; the rest setting by setting."""
    if head == base:
        return base, ()
    rest, refused = _block(_MODELS)(head, base)
    names = sorted({*head.overrides, *base.overrides})
    general, *own = (_smaller_output(head, base, name) for name in ("", *names))
    models = rest.model_copy(update={**dict(general), "overrides": dict(zip(names, own, strict=True))})
    if head.output_of() != models.output_of():
        refused = (".max_output_tokens or models.default_output_tokens", *refused)
    return models, (
        *refused,
        *(f".overrides.{name}" for name in names if head.output_of(name) != models.output_of(name)),
    )


def _smaller_output(head: ModelsBlock, base: ModelsBlock, model: str) -> ModelOutputBlock:
    default, maximum = (min(pair) for pair in zip(head.output_of(model), base.output_of(model), strict=True))
    return ModelOutputBlock(max_output_tokens=maximum, default_output_tokens=default)


def _block(rules: Mapping[str, Rule]) -> Rule:
    """The rule of a section, from those of its settings; ``*`` is for all others."""

    def rule(head: StrictModel, base: StrictModel) -> tuple[StrictModel, Sequence[str]]:
        values: dict[str, Any] = {}
        refused: list[str] = []
        for name, field in type(head).model_fields.items():
            rule_of_field = rules[name] if name in rules else rules["*"]
            values[name], parts = rule_of_field(getattr(head, name), getattr(base, name))
            refused += [f".{field.alias or name}{part}" for part in parts]
        return head.model_copy(update=values), refused

    return rule


_MODELS: Mapping[str, Rule] = {
    **dict.fromkeys(("max_output_tokens", "default_output_tokens", "overrides"), CHANGE),  # all three: ``_models``
    "retries": SMALLER,
    # A shorter timeout is not stricter than a longer one: an abandoned call is paid for too.
    **dict.fromkeys(("longest_wait_seconds", "timeout_seconds", "connect_timeout_seconds"), BASE),
}
_SUITE: Mapping[str, Rule] = {
    **dict.fromkeys(("concurrency", "stop_on_failure", "timeout_seconds", "pass_", "strategy"), BASE),
    "metric_thresholds": _each_greater,
    "gates": _each_greater,
}
_METRICS: Mapping[str, Rule] = {
    # The audience is a part of the judge's instructions, which a change does not write.
    "fluency": _block({"enabled": GREATER, "audience": BASE}),
    **dict.fromkeys(SystemType, _each_metric),
}
_COMPARISON: Mapping[str, Rule] = {
    # A greater level and a smaller drop both detect more.
    **dict.fromkeys(("screen_level", "single_run_screen_level", "confirm_level"), GREATER),
    **dict.fromkeys(("min_margin", "scenario_drop", "detectable_power", "min_scenarios", "stale_days"), SMALLER),
    **dict.fromkeys(("confirming_trials", "suspect_trials", "pooled_runs"), BASE),
    "decline": _block({"anchor": BASE, "weeks": BASE, "level": GREATER, "block": GREATER}),
}
_SMALLER_LIMIT = _whole_value(lambda head, base: min({head, base} - {None}, default=None))
RULES: Mapping[str, Rule] = {
    "system": _block({"price_per_turn_usd": BASE, "*": CHANGE}),
    **dict.fromkeys(("rows", "timezone"), CHANGE),
    "tests": _each_path,
    **dict.fromkeys(("judge", "simulator", "providers", "prices", "dependencies"), BASE),
    **dict.fromkeys(("events", "notifications", "site", "history"), BASE),
    "attribution": _block({"*": BASE}),
    "models": _models,
    "pass_rate": GREATER,
    "pass_rate_rule": _whole_value(lambda head, base: max(head, base, key=list(PassRateRule).index)),
    "suite": _block(_SUITE),
    "metrics": _block(_METRICS),
    "comparison": _block(_COMPARISON),
    "critical": _block({"advisory": _whole_value(lambda head, base: max(head, base, key=list(InAdvisory).index))}),
    "limits": _block(
        {
            **dict.fromkeys(("cost_increase", "calls_increase", "latency_increase"), _SMALLER_LIMIT),
            "exceeded": _whole_value(lambda head, base: max(head, base, key=list(Exceeded).index)),
        }
    ),
}
"""Rules of every section; a section or setting without a rule fails the tests, and any run with a base."""
