"""Where what the system reads is not what the recordings of the base say."""

from types import SimpleNamespace
from typing import Any

import pytest

from ratiba_action.decide.observed_files import ObservedFiles
from ratiba_action.model.measurement import Phase
from ratiba_action.model.reads import FileReaders, ReadMap, Reads
from ratiba_action.run.reads import notes_of_reads, read_map
from ratiba_action.run.services import Measured
from ratiba_action.settings.settings import read_settings
from ratiba_action.util.links import Links, TreeListing
from tests.support.recorder import FakeRecorder

BASE = Reads(("agent.py", "knowledge/", "prompts/old.md"), {"prompts/old.md": "turn 1"})


def notes(now: Reads, *, before: Reads = BASE, broken: bool = False) -> tuple[str, ...]:
    scenario: Any = SimpleNamespace(id="returns")
    inputs: Any = SimpleNamespace(
        decided=SimpleNamespace(observed=ObservedFiles({"returns": before, "not_run": BASE})),
        selection=SimpleNamespace(scenarios=[scenario]),
        trials=1,
    )
    recorder = FakeRecorder(broken={"returns": "it raised"} if broken else {}, reads={"returns": now})
    outcome = recorder(inputs, SimpleNamespace())  # type: ignore[arg-type]
    results = outcome.report.results
    assert not broken or results[0].phase is Phase.SYSTEM  # type: ignore[union-attr]
    return notes_of_reads(inputs, Measured(results, reads=outcome.reads))


def test_one_note_names_each_file_that_differs() -> None:
    now = Reads(("agent.py", "knowledge/a.md", "prompts/new.md"), {"prompts/new.md": "turn 2"})
    (note,) = notes(now)
    assert note == (
        "Unlike the recordings of the base say, the system reads prompts/new.md; no longer reads prompts/old.md; now "
        "sends a model text of prompts/new.md; no longer sends a model text of prompts/old.md. If that is right, run "
        "without any cost: ratiba record --reads"
    )


@pytest.mark.parametrize("sent", ["turn 1", "turn 2", "start"])
def test_nothing_is_noted_where_the_same_is_read_and_sent(sent: str) -> None:
    assert notes(Reads(BASE.files, {"prompts/old.md": sent})) == ()


def test_a_scenario_that_did_not_end_says_nothing() -> None:
    assert notes(Reads(("agent.py",)), broken=True) == ()


def test_many_files_are_counted() -> None:
    (note,) = notes(Reads((*BASE.files, *(f"more/{number}.md" for number in range(9))), BASE.sent))
    assert "reads more/0.md, more/1.md, more/2.md, more/3.md, more/4.md and 4 more." in note


def test_the_map_says_what_is_read_and_what_of_the_repository_nothing_reads() -> None:
    more = {f"scenario_{number}": Reads(("agent.py",)) for number in range(9)}
    paths = ["agent.py", "knowledge/a.md", "prompts/old.md", "web/a.js", "web/b/c.js", "prompts/unused.md"]
    own = [".github/ratiba.yml", "scenarios/returns.yaml"]
    inputs: Any = SimpleNamespace(
        decided=SimpleNamespace(
            observed=ObservedFiles({"returns": BASE, **more}), links=Links([TreeListing((*paths, *own), {})])
        ),
        settings=read_settings({}, {}),
    )
    assert read_map(inputs) == ReadMap(
        (
            FileReaders("agent.py", sent=False, scenarios=("returns", *sorted(more)[:7]), more=2),
            FileReaders("knowledge/", sent=False, scenarios=("returns",)),
            FileReaders("prompts/old.md", sent=True, scenarios=("returns",)),
        ),
        unread=("prompts/unused.md", "web/"),
    )
