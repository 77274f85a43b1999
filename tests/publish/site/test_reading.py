"""Reading the runs of a site: each once for all sites of a machine, in several processes, and never more than that."""

import multiprocessing
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.history.run_files import RunFiles, StoredRun, find_runs
from ratiba_action.model.published import Transcripts
from ratiba_action.model.verdict import Report
from ratiba_action.publish.site.pages import History, site_pages
from ratiba_action.publish.site.reading import RunReader
from ratiba_action.publish.site.run_cache import RunCache, open_cache, product_digest
from ratiba_action.publish.site.spread import spread
from ratiba_action.reporting.results_json import packed, render_results
from ratiba_action.reporting.summary import summarise
from tests.support.run_history import branch_run, long_history, write_history

pytestmark = pytest.mark.processes


class Stored:
    """Files of runs, and how often each was read."""

    def __init__(self, *reports: Report) -> None:
        self.texts = {
            f"{at}.json.gz": packed(render_results(summarise(each)).encode()) for at, each in enumerate(reports)
        }
        self.read: list[str] = []

    def files(self) -> RunFiles:
        return RunFiles("a test", {name: StoredRun(self._reader(name), f"id of {name}") for name in self.texts})

    def _reader(self, name: str) -> Callable[[], bytes]:
        def content() -> bytes:
            self.read.append(name)
            return self.texts[name]

        return content


def pages(files: RunFiles, cache: RunCache, secrets: tuple[str, ...] = (), product: str = "1") -> dict[str, bytes]:
    """A whole site with all conversations."""
    reader = RunReader(files, cache, product, secrets, 1)
    lines, broken = reader.read()
    history = History(files.source, lines, "main", reader.facts(lines), broken, Transcripts.ALL)
    return dict(site_pages(history, reader.pages(history)))


def test_a_second_site_is_the_same_and_reads_nothing_but_the_new_run(tmp_path: Path) -> None:
    first, second = Stored(*long_history(5, 6)), Stored(*long_history(6, 6))
    with open_cache(tmp_path) as cache:
        before = pages(first.files(), cache)
    with open_cache(tmp_path) as cache:
        assert pages(first.files(), cache) == before
        after = pages(second.files(), cache)
    assert set(second.read) == {"5.json.gz"}
    assert after == pages(second.files(), RunCache())
    runs = [name for name in before if name.startswith("run/")]
    assert len(runs) == 5
    assert all(after[name] == before[name] for name in runs), "a run's page names no other run"


def test_another_version_of_the_product_reads_everything_again(tmp_path: Path) -> None:
    stored = Stored(branch_run(0))
    with open_cache(tmp_path) as cache:
        pages(stored.files(), cache)
        known = len(stored.read)
        pages(stored.files(), cache, product="2")
    assert len(stored.read) == 2 * known
    (tmp_path / "one.py").write_text("1")
    first = product_digest(tmp_path)
    (tmp_path / "one.py").write_text("2")
    assert product_digest(tmp_path) != first


@pytest.mark.parametrize(
    "damage", [b"", b"{}", b'{"line": {}, "columns": {}}', b'{"run": "../x", "html": "", "talks": []}']
)
def test_what_is_no_entry_counts_for_nothing(damage: bytes) -> None:
    class Damaged(RunCache):
        def get(self, key: str) -> bytes | None:
            return damage if key else None

    stored = Stored(branch_run(0))
    assert pages(stored.files(), Damaged()) == pages(stored.files(), RunCache())


@pytest.mark.parametrize(
    ("written", "forged"), [(b'"id": "2026', b'"id": "../../2026'), (b"actions/runs/1000", b"actions/runs/1?x=evil")]
)
def test_a_forged_entry_names_no_file_and_leads_to_no_other_place(written: bytes, forged: bytes) -> None:
    found: dict[str, bytes] = {}

    class Forged(RunCache):
        def put(self, key: str, content: bytes) -> None:
            found[key] = content.replace(written, forged)

        def get(self, key: str) -> bytes | None:
            return found.get(key) if key.startswith("line") else None

    stored = Stored(branch_run(0))
    good = pages(stored.files(), RunCache())
    pages(stored.files(), Forged())
    assert any(forged in content for content in found.values())
    site = pages(stored.files(), Forged())
    assert set(site) == set(good)
    assert not any(b"?x=evil" in page for page in site.values())


def test_a_page_that_shows_what_has_become_a_secret_is_made_again(tmp_path: Path) -> None:
    stored = Stored(branch_run(0))
    with open_cache(tmp_path) as cache:
        (run,) = [page for name, page in pages(stored.files(), cache).items() if name.startswith("run/")]
        assert b"Nithibitishe" in run
        (again,) = [page for name, page in pages(stored.files(), cache, ("Nithibitishe",)).items() if "run/" in name]
    assert b"Nithibitishe" not in again
    assert b"***" in again


def test_a_cache_that_cannot_be_used_is_no_cache(tmp_path: Path) -> None:
    stored = Stored(branch_run(0))
    whole = pages(stored.files(), RunCache())
    (tmp_path / "runs.sqlite3").write_bytes(b"no database" * 1_000)
    (tmp_path / "file").write_text("")
    for folder in (tmp_path, tmp_path / "file" / "below"):
        with open_cache(folder) as cache:
            assert pages(stored.files(), cache) == whole


def test_a_site_that_is_made_beside_another_one_reads_what_is_known_and_waits_for_nothing(tmp_path: Path) -> None:
    stored, other = Stored(branch_run(0)), Stored(*long_history(2, 1))
    with open_cache(tmp_path) as cache:
        whole = pages(stored.files(), cache)
    with open_cache(tmp_path) as first, open_cache(tmp_path) as second:
        pages(other.files(), first)
        known = len(stored.read)
        assert pages(stored.files(), second) == whole
        assert len(stored.read) == known
        assert pages(other.files(), second) == pages(other.files(), first)


def test_files_that_hold_no_run_are_named_however_many_processes_read(tmp_path: Path) -> None:
    write_history(tmp_path, [replace(each, results=()) for each in long_history(60, 1)])
    (tmp_path / "00007.json.gz").write_bytes(b"{")
    (tmp_path / "00008.json.gz").unlink()
    (tmp_path / "00008.json.gz").symlink_to("/etc/passwd")
    found = [RunReader(find_runs(str(tmp_path), lambda: None), RunCache(), "1", (), many).read() for many in (1, 2)]
    assert found[0] == found[1]
    lines, broken = found[0]
    assert len(lines) == 58
    assert [file.name for file in broken] == ["00007.json.gz", "00008.json.gz"]


def test_a_file_that_vanishes_is_named() -> None:
    def gone() -> bytes:
        raise ConfigurationError("It is gone.")

    lines, broken = RunReader(RunFiles("a test", {"one": StoredRun(gone, "id")}), RunCache(), "1", (), 1).read()
    assert (lines, [file.problem for file in broken]) == ((), ["It is gone."])


def doubled(number: int) -> int:
    """Killed where it runs beside the test."""
    if multiprocessing.parent_process() is not None and number == 5:
        os._exit(1)
    return 2 * number


def test_a_process_that_is_killed_loses_no_part() -> None:
    assert list(spread(doubled, range(12), 2)) == [2 * number for number in range(12)]
