"""``ratiba drift`` as a user calls it: files and Langfuse, exit codes, JSON, masking, bad input."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.main import run
from ratiba_action.model.event import ConversationStarted, Event, LoggedEvent
from tests.support.production_samples import NOW, sample_events, write_events

Called = Callable[..., Any]
PROJECT = Path(__file__).parents[2]
GOOD, BAD = [0.9, 0.8, 1.0, 0.9, 0.7] * 10, [0.6, 0.5, 0.9, 0.7, 0.4] * 10
COMMON = ("--minimum", "40", "--share", "1", "--until", (NOW + timedelta(seconds=1)).isoformat())


@pytest.fixture
def called(capsys: pytest.CaptureFixture[str]) -> Called:
    """Run the command; returns its exit code and what it printed."""
    return lambda *options, **environment: (run(["drift", *options], environment), capsys.readouterr())


@pytest.mark.parametrize(("values", "code"), [(BAD, 1), (GOOD, 0)])
def test_fail_turns_a_drift_into_exit_code_1(tmp_path: Path, values: list[float], code: int, called: Called) -> None:
    path = write_events(tmp_path / "e.jsonl", sample_events(GOOD, days_ago=8), sample_events(values, days_ago=1))
    found, out = called("--samples", str(path), *COMMON, "--fail", "--json")
    assert (found, json.loads(out.out)["drifted"]) == (code, bool(code))
    assert called("--samples", str(path), *COMMON)[0] == 0


def test_a_lost_metric_is_not_green_with_fail_and_nothing_compared_never_is(tmp_path: Path, called: Called) -> None:
    path = write_events(tmp_path / "e.jsonl", sample_events(GOOD, days_ago=8))
    assert called("--samples", str(path), *COMMON, "--fail")[0] == 1
    code, out = called("--samples", str(path), *COMMON)
    assert code == 3
    assert "No metric could be compared." in out.out
    assert "lost: 0 conversations have it, after 50 in the window before" in out.out


def test_kolmogorov_and_smirnov_decide_by_setting(tmp_path: Path, called: Called) -> None:
    """The mean and the order of the two stay equal, the spread does not."""
    runs = [sample_events([0.5] * 60, days_ago=8), sample_events([0.2, 0.8] * 30, days_ago=1)]
    path = write_events(tmp_path / "e.jsonl", *runs)
    options = ("--samples", str(path), *COMMON, "--minimum", "50", "--fail")
    code, out = called(*options)
    assert (code, "after Holm, Kolmogorov-Smirnov D = 0.50" in out.out) == (0, True)
    code, out = called(*options, "--test", "kolmogorov-smirnov")
    assert code == 1
    assert "drifted: mean 0.500 → 0.500" in out.out
    assert "Kolmogorov-Smirnov D = 0.50, p = 3.51e-07 after Holm; 60 and 60 values\n" in out.out
    code, _ = called(*options, "--test", "kolmogorov-smirnov", "--effect", "100")
    assert code == 1, "points say nothing here, as the help says"


def test_a_fall_of_less_than_the_effect_is_no_drift_however_certain_it_is(tmp_path: Path, called: Called) -> None:
    path = write_events(
        tmp_path / "e.jsonl", sample_events([0.985] * 60, days_ago=8), sample_events([0.96] * 60, days_ago=1)
    )
    code, out = called("--samples", str(path), *COMMON, "--fail")
    assert code == 0
    assert "no drift found: mean 0.985 → 0.960, -2.5 points, Cliff's delta -1.00" in out.out
    assert called("--samples", str(path), *COMMON, "--fail", "--effect", "2")[0] == 1


def test_a_backlog_that_is_measured_at_once_falls_into_the_windows_in_which_it_began(
    tmp_path: Path, called: Called
) -> None:
    events = [event for name, values in (("old", GOOD), ("new", BAD)) for event in _measured_now(name, values)]
    options = ("--samples", str(write_events(tmp_path / "e.jsonl", events)), *COMMON, "--fail", "--json")
    code, out = called(*options)
    shown = json.loads(out.out)
    assert (code, shown["conversations"], shown["conversations_before"]) == (1, len(BAD), len(GOOD))
    late = ConversationStarted("old-0000", "", began=NOW + timedelta(days=1))
    events[1] = replace(events[1], event=Event(late, events[1].event.place))
    write_events(tmp_path / "e.jsonl", events)
    assert called(*options)[0] == 2


def _measured_now(name: str, values: list[float]) -> list[LoggedEvent]:
    """Conversations that began in a window, and that one run measured at the end."""
    began = NOW - timedelta(days=8 if name == "old" else 1)
    run_started, *scores = sample_events(values, days_ago=0, names=name)
    found = [run_started]
    for score in scores:
        begun = ConversationStarted(score.event.place.scenario or "", "", began=began)
        found += [replace(score, event=Event(begun, score.event.place)), score]
    return found


def test_what_is_printed_is_masked_and_cannot_command_a_runner(tmp_path: Path, called: Called) -> None:
    name = "\n::error::+254 712 345 432 sk-planted-0123456789abcdef"
    runs = [sample_events(GOOD, days_ago=days, metric=name, judge=name) for days in (8, 1)]
    path = write_events(tmp_path / "e.jsonl", *runs)
    environment = {"RATIBA_ANTHROPIC_API_KEY": "sk-planted-0123456789abcdef"}
    for more in ((), ("--json",)):
        code, out = called("--samples", str(path), *COMMON, *more, **environment)
        assert code == 0
        assert "sk-planted" not in out.out
        assert "712 345 432" not in out.out
        assert "\n::error" not in out.out


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--window", "soon"), "--window is 'soon'"),
        (("--window", "0d"), "--window is '0d'"),
        (("--minimum", "0"), "--minimum is '0'"),
        (("--level", "1.5"), "--level is '1.5'"),
        (("--effect", "101"), "--effect is '101'"),
        (("--share", "5"), "--share is '5'"),
        (("--until", "2026-11-22"), "--until is '2026-11-22'"),
        (("--until", "0001-01-02T00:00:00+00:00"), "a time from 2000 on"),
        (("--baseline", "nowhere.json"), "nowhere.json"),
        ((), "The keys of Langfuse are not set"),
    ],
)
def test_bad_input_is_exit_code_2(options: tuple[str, ...], part: str, called: Called) -> None:
    code, out = called(*options)
    assert code == 2
    assert part in out.err
    assert "Traceback" not in out.err


def test_the_example_of_the_documentation_runs_without_a_key(monkeypatch: pytest.MonkeyPatch, called: Called) -> None:
    (line,) = (
        line.removeprefix("ratiba drift ")
        for line in (PROJECT / "docs/drift.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("ratiba drift --samples examples/")
    )
    monkeypatch.chdir(PROJECT)
    code, out = called(*line.split())
    assert code == 1
    assert "✗ SwahiliFluencyMetric, window before: drifted" in out.out
    assert "✓ PiiLeakMetric, window before: no drift found" in out.out
