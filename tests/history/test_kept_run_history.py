"""Files of runs as a history: their results are read when a question needs them, and never from anywhere else."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from ratiba_action.errors import InfrastructureError, LedgerError
from ratiba_action.history.run_files import RunFiles, StoredRun
from ratiba_action.history.run_history import KeptRunHistory
from ratiba_action.history.store import Series
from ratiba_action.model.history import TrendPoint
from ratiba_action.reporting.results_json import packed, render_results
from ratiba_action.reporting.summary import summarise
from tests.support.run_history import START, branch_run
from tests.support.sample_report import sample_score, sample_scored

RUNS = 6
SERIES = Series("ratiba/assistant", "ratiba", "main", before=START + timedelta(days=100))


def content_of(number: int, *, damaged: bool = False) -> bytes:
    results = (sample_scored("spa", scores=(sample_score((number + 1) / 10),)),)
    text = render_results(summarise(branch_run(number, results)))
    at = text.rindex('"trial": {')
    return packed((f"{text[:at]}?{text[at:]}" if damaged else text).encode())


def files(damaged: int | None = None, read: list[int] | None = None) -> RunFiles:
    """Six files, of which one may hold a result that cannot be read; ``read`` gets the numbers of those read."""

    def content(number: int) -> bytes:
        if read is not None:
            read.append(number)
        return content_of(number, damaged=number == damaged)

    return RunFiles("the files", {f"{number}.json.gz": StoredRun(partial(content, number)) for number in range(RUNS)})


@contextmanager
def opened(found: RunFiles) -> Iterator[RunFiles]:
    yield found


def judged(points: tuple[TrendPoint, ...]) -> list[float]:
    return [round(point.mean, 6) for point in points if point.judge_model]


@pytest.mark.parametrize("question", ["all", "since"])
def test_results_that_no_question_needs_are_not_read(question: str) -> None:
    history = KeptRunHistory("files", lambda: opened(files(damaged=0)))
    of_two = replace(SERIES, last=2) if question == "all" else replace(SERIES, since=START + timedelta(hours=48))
    assert judged(asyncio.run(history.points(of_two))) == [0.5, 0.6]
    assert not history.broken, "the oldest file was not looked at"
    assert judged(asyncio.run(history.points(SERIES))) == [0.2, 0.3, 0.4, 0.5, 0.6]
    broken = [(file.name, file.problem) for file in history.broken]
    assert [name for name, _ in broken] == ["0.json.gz"]
    assert "results.json could not be read" in broken[0][1]
    assert asyncio.run(history.candidates(SERIES))[-1].commit == branch_run(1).commit, "a broken run is no candidate"
    assert [(file.name, file.problem) for file in history.broken] == broken
    assert [record.commit for record in history.records()] == [branch_run(number).commit for number in (5, 4, 3, 2, 1)]


def test_each_file_is_read_once_however_many_questions_come_and_whoever_begins() -> None:
    read = list[int]()
    history = KeptRunHistory("files", lambda: opened(files(read=read)))
    history.begin()
    assert not history.was_read, "nobody has asked"
    for _ in range(2):
        assert len(asyncio.run(history.points(SERIES))) == RUNS
        assert asyncio.run(history.decline(SERIES)) is None
        assert len(asyncio.run(history.candidates(SERIES))) == RUNS
    assert history.was_read
    assert read == list(range(RUNS))


def test_what_fails_while_nobody_has_asked_is_said_to_who_asks() -> None:
    tried = list[int]()

    @contextmanager
    def gone() -> Iterator[RunFiles]:
        tried.append(1)
        raise InfrastructureError("The server does not answer.")
        yield

    history = KeptRunHistory("files", gone)
    history.begin()
    for _ in range(2):
        with pytest.raises(LedgerError, match="The server does not answer"):
            asyncio.run(history.points(SERIES))
    assert tried == [1], "it is waited for once"
    assert not history.was_read
