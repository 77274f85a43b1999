"""The history of each scenario's own scores, from the metrics history, and the bounds that follow from it."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from ratiba_action.history.run_history import RunHistory
from ratiba_action.history.store import Series
from ratiba_action.model.history import KeptValue
from ratiba_action.model.own_history import HistoryBound, Statistical, lower_prediction_bound

_MAX = 1_000
"""Runs that are looked at."""


def read_own_values(
    history: RunHistory, series: Series, judge: str, own: str, digests: Sequence[str]
) -> Mapping[str, Sequence[KeptValue]]:
    """The values of scenarios by their digest, the latest first.

    Args:
        series: runs of the branch that were written before the one that is judged by them began.
        own: commit of that run, which is no history of itself; empty where it has none.

    Raises:
        LedgerError: the history cannot be read.
    """
    found: dict[str, list[KeptValue]] = {}
    for value in asyncio.run(history.own_values(replace(series, last=_MAX), judge, own, digests)):
        found.setdefault(value.digest, []).append(value)
    return found


def with_bounds(wanted: Statistical, values: Iterable[KeptValue], branch: str, now: datetime) -> Statistical:
    """The strategy with the bound of each metric and version that its history has values of.

    Args:
        values: of the scenario, the latest first.
        now: when the run that is judged by them began.
    """
    since = None if wanted.days is None else now - timedelta(days=wanted.days)
    groups: dict[tuple[str, str], list[float]] = {}
    for value in values:
        if wanted.applies_to(value.metric) and (since is None or value.started_at >= since):
            groups.setdefault((value.metric, value.version), []).append(value.score)
    bounds = []
    for (metric, version), scores in sorted(groups.items()):
        window = scores[: wanted.values]
        enough = len(window) >= wanted.needed
        low = lower_prediction_bound(window, wanted.confidence_level) if enough else None
        bounds.append(HistoryBound(metric, version, len(window), low))
    return replace(wanted, branch=branch, bounds=tuple(bounds))
