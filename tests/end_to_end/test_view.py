"""``ratiba view`` beside runs of the gate, and ``ratiba gate --watch --view``, as people start them."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from tests.end_to_end.test_watch import watching
from tests.support.eventually import eventually
from tests.support.served_pages import EventStream
from tests.support.small_repository import SmallRepository

pytestmark = pytest.mark.processes


@pytest.fixture
def spoken(small: SmallRepository) -> SmallRepository:
    small.scenario("one", "say hello")
    small.commit()
    return small


@contextmanager
def viewing(small: SmallRepository, *options: str) -> Iterator[str]:
    """The address of the folder that the pages lie at."""
    command = [sys.executable, "-m", "ratiba_action", "view", "--no-open", "--json", "--report-dir", str(small.report)]
    with subprocess.Popen(
        [*command, *options], cwd=small.folder, env=small.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        yield str(json.loads(process.stdout.readline())["url"]).removesuffix("/index.html")
        process.send_signal(signal.SIGINT)
        assert (process.wait(60), process.stderr.read()) == (0, b"")


def is_served(folder: str) -> bool:
    host = folder.removeprefix("http://").partition("/")[0]
    name, _, port = host.partition(":")
    with socket.socket() as connection:
        return connection.connect_ex((name, int(port))) == 0


def test_a_page_follows_a_run_that_is_started_beside_it(spoken: SmallRepository) -> None:
    with viewing(spoken) as folder:
        stream = EventStream(folder)
        spoken.start("--mode", "blocking").wait()
        news = stream.run_until(conclusion="passed")
        assert (news["run"]["done"], news["run"]["planned"]) == (1, 1)
        assert next(each["edition"] for each in stream if each["edition"] > 1)
        stream.close()
    assert not is_served(folder)


def test_a_browsers_command_line_has_only_the_path_of_a_file_that_nobody_else_can_read(
    spoken: SmallRepository, tmp_path: Path
) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\nprintf %s "$*" > {seen}.new && mv {seen}.new {seen}\n')
    browser.chmod(0o700)
    screen, terminal = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "ratiba_action", "view", "--report-dir", str(spoken.report)],
        cwd=spoken.folder,
        env={**spoken.environment, "BROWSER": f"{browser} %s"},
        stdout=terminal,
        stderr=subprocess.STDOUT,
    ) as process:
        eventually(seen.exists)
        place = Path(url2pathname(urlsplit(seen.read_text()).path))
        assert place.as_uri() == seen.read_text()
        assert [stat.S_IMODE(each.stat().st_mode) for each in (place, place.parent)] == [0o600, 0o700]
        address = re.search(r'url=(http://127\.0\.0\.1:\d+/[\w-]+/index\.html)"', place.read_text())
        assert address is not None
        assert address[1] in os.read(screen, 10_000).decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert not place.parent.exists()
    os.close(screen)
    os.close(terminal)


def test_watch_shows_each_of_its_runs_at_an_address_that_it_prints_and_ends_with_it(spoken: SmallRepository) -> None:
    with watching(spoken, "--view") as watch:
        printed = watch.until("The run is shown at ")
        found = re.search(r"(http://127\.0\.0\.1:\d+/[\w-]+)/live\.html", printed)
        assert found is not None
        stream = EventStream(found[1])
        watch.until(r"1 scenario in .* 1 of 1 pass\.")
        stream.run_until(conclusion="passed")
        scenario = (spoken.folder / "scenarios/one.yaml").read_text()
        spoken.write("scenarios/one.yaml", scenario.replace("SAID", "SILENT"))
        watch.until(r"0 of 1 pass\.")
        assert stream.run_until(conclusion="failed")["run"]["done"] == 1
        stream.close()
        assert watch.end() == 0
    assert not is_served(found[1])


def test_pages_that_cannot_be_served_are_a_warning_and_the_gate_runs_all_the_same(spoken: SmallRepository) -> None:
    spoken.write(".github/ratiba.yml", "colour: red\n")
    with watching(spoken, "--view") as watch:
        assert "warning: The pages are not served: " in watch.until("The pages are not served")
        watch.until("ratiba.yml")
        assert watch.end() == 0


def test_view_needs_watch(spoken: SmallRepository) -> None:
    gate = spoken.start("--view").wait()
    assert gate.returncode == 2
    assert "run beside the gate: ratiba view" in gate.stderr
