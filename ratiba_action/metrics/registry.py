"""The built-in metrics by name. A literal table: what judges a change shows in a diff."""

from collections.abc import Mapping
from importlib import import_module
from typing import cast

from ratiba_action.errors import ConfigurationError
from ratiba_action.ports import Judge, Metric

METRICS: Mapping[str, str] = {
    "SwahiliFluencyMetric": "ratiba_action.metrics.swahili_fluency:SwahiliFluencyMetric",
    "EnglishFluencyMetric": "ratiba_action.metrics.english_fluency:EnglishFluencyMetric",
    "BookingSlotConsistencyMetric": "ratiba_action.metrics.booking_slot_consistency:BookingSlotConsistencyMetric",
    "MpesaPaymentSafetyMetric": "ratiba_action.metrics.mpesa_payment_safety:MpesaPaymentSafetyMetric",
}

JUDGE_CALLS: Mapping[str, int] = {"SwahiliFluencyMetric": 1, "EnglishFluencyMetric": 1}
"""Judge calls a case of each judged metric; metrics that are not listed ask no judge."""


def metric_names() -> tuple[str, ...]:
    """Names that a scenario may list, sorted."""
    return tuple(sorted(METRICS))


def is_judged(name: str) -> bool:
    """Whether a model gives the metric's score.

    Raises:
        ConfigurationError: no metric has that name.
    """
    _address(name)
    return name in JUDGE_CALLS


def judge_calls(name: str) -> int:
    """Judge calls that one case of the metric makes, for the estimate before a run.

    Raises:
        ConfigurationError: no metric has that name.
    """
    _address(name)
    return JUDGE_CALLS.get(name, 0)


def load_metric(name: str, judge: Judge | None = None) -> Metric:
    """A fresh instance of a metric; make one for each case.

    Args:
        name: one of ``metric_names``.
        judge: needed by judged metrics only.

    Raises:
        ConfigurationError: no metric has that name, or it is judged and there is no judge.
    """
    module, _, attribute = _address(name).partition(":")
    kind = getattr(import_module(module), attribute)
    if not is_judged(name):
        return cast("Metric", kind())
    if judge is None:
        raise ConfigurationError(f"The metric {name!r} needs a judge and none is configured.", "Configure `judge`.")
    return cast("Metric", kind(judge))


def _address(name: str) -> str:
    try:
        return METRICS[name]
    except KeyError:
        raise ConfigurationError(f"No metric is called {name!r}.", f"Use one of {', '.join(metric_names())}.") from None
