"""A test that starts a process and is not marked fails; git and marked tests may."""

import sys

import pytest

from tests.support.process_guard import MARKER, ProcessGuard, mark


@pytest.fixture
def unmarked(request: pytest.FixtureRequest) -> pytest.Item:
    """A test of this folder, which the guard has not seen."""
    item: pytest.Item = request.node
    return item


def test_a_process_without_the_marker_fails_its_test_and_the_message_names_the_marker(unmarked: pytest.Item) -> None:
    guard = ProcessGuard()
    for event, arguments, shown in (
        ("subprocess.Popen", (sys.executable, [sys.executable, "-c", "pass"], None, None), "-c pass"),
        ("os.fork", (), "fork"),
    ):
        text = rf"'{MARKER}' started a process: .*{shown}"
        with pytest.raises(pytest.fail.Exception, match=text), guard.watching(unmarked):
            guard.note(event, arguments)


def test_git_is_allowed(unmarked: pytest.Item) -> None:
    guard = ProcessGuard()
    with guard.watching(unmarked):
        guard.note("subprocess.Popen", ("/usr/bin/git", ["/usr/bin/git", "--version"], None, None))


@pytest.mark.processes
def test_a_marked_test_may_start_one(request: pytest.FixtureRequest) -> None:
    guard = ProcessGuard()
    with guard.watching(request.node):
        guard.note("os.fork", ())


@pytest.mark.parametrize("fixture", ["forks", "embedded_server_dsn", "image"])
def test_a_fixture_that_starts_processes_brings_the_marker(
    request: pytest.FixtureRequest, fixture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request.node, "fixturenames", [fixture], raising=False)
    mark([request.node])
    assert request.node.get_closest_marker(MARKER)
