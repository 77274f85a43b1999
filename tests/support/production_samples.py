"""Events as ``ratiba sample`` writes them, with scores that a test chooses."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ratiba_action.model.event import ConversationStarted, Event, LoggedEvent, Place, RunStarted, ScoreLogged
from ratiba_action.observability.event_lines import event_line

NOW = datetime(2026, 11, 22, 6, tzinfo=UTC)


def sample_events(
    values: Sequence[float],
    *,
    days_ago: float,
    metric: str = "SwahiliFluencyMetric",
    version: str = "1.0.0",
    judge: str = "claude-opus-5-5",
    mode: str = "sample",
    names: str = "",
) -> list[LoggedEvent]:
    """One run that scored one conversation for each value.

    Args:
        days_ago: when, before ``NOW``.
        judge: its model; empty for a metric without one.
        names: how the conversations are called, before their number; else by the time.
    """
    at, run = NOW - timedelta(days=days_ago), f"{names}{metric}{version}{judge}{days_ago}"
    started = RunStarted(gate="main", mode=mode, judge=judge, llm="live", scenarios=len(values))
    events = [LoggedEvent(run, 1, at, Event(started))]
    for number, value in enumerate(values):
        scored = ScoreLogged(metric, version, value, 0.8, value >= 0.8, judged=bool(judge))
        place = Place(scenario=f"{names or days_ago}-{number:04}", trial=0)
        events.append(LoggedEvent(run, number + 2, at, Event(scored, place)))
    return events


def write_events(path: Path, *runs: Iterable[LoggedEvent]) -> Path:
    """Write runs one after the other."""
    path.write_text("".join(event_line(event) + "\n" for run in runs for event in run), encoding="ascii")
    return path


def canary_events(
    values: Mapping[str, Sequence[float]],
    *,
    hours_ago: float,
    metric: str = "SwahiliFluencyMetric",
    judge: str = "claude-opus-5-5",
    marks: Mapping[str, Sequence[str]] | None = None,
) -> list[LoggedEvent]:
    """One run of ``ratiba sample`` that scored conversations of several prompt versions, one after the other.

    Args:
        values: a conversation for each, by its prompt version.
        marks: further tags of a conversation, by its name, such as ``booking@8d0b7e4-0003``.
    """
    at, run = NOW - timedelta(hours=hours_ago), f"canary {metric} {judge} {hours_ago}"
    started = RunStarted(gate="main", mode="sample", judge=judge, llm="live", scenarios=sum(map(len, values.values())))
    events = [LoggedEvent(run, 1, at, Event(started))]
    for version, scores in values.items():
        for number, value in enumerate(scores):
            name = f"{version}-{hours_ago:g}-{number:04}"
            tags = ("production", f"ratiba:prompt_version={version}", *(marks or {}).get(name, ()))
            begun = ConversationStarted(name, "", layer="production", tags=tags)
            scored = ScoreLogged(metric, "1.0.0", value, 0.8, value >= 0.8, judged=bool(judge))
            for data in (begun, scored):
                events.append(LoggedEvent(run, len(events) + 1, at, Event(data, Place(scenario=name, trial=0))))
    return events
