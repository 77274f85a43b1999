"""A change that hides repositories in its files: no command that their configurations name is ever run."""

import json
import os
from pathlib import Path

import pytest

from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.hostile_git import LAYOUTS, Layout, poison
from tests.support.pull_request_events import pull_request_event
from tests.support.small_repository import SmallRepository

SYSTEM = """\
class Adapter:
    def open(self, context):
        return self

    def send(self, message):
        return {"text": message, "state": "SAID"}
"""
CONFIGURATION = "system: {{adapter: 'adapter:Adapter', root: {root}, database: false}}\n"


@pytest.fixture
def small(tmp_path: Path, forks: GateForks) -> SmallRepository:
    """A committed system in a folder below another, without a database."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "NO_COLOR": "1"}
    small = SmallRepository(tmp_path / "checkout", tmp_path / "report", environment, run=forks.run)
    small.scenario("greets", "habari")
    small.write(".github/ratiba.yml", CONFIGURATION.format(root="a/b"))
    small.write("a/b/adapter.py", SYSTEM)
    small.write("a/b/prompts/greet.md", "Greet.")
    return small


def marker_of(folder: Path) -> tuple[Path, str]:
    """A file that a command would make, and the command."""
    marker = folder / "marker"
    return marker, f"touch {marker}; cat"


def prepare(small: SmallRepository, layout: Layout, command: str) -> tuple[str, str]:
    """Commit a change that brings the layout; base and head."""
    git = GitRepository(small.folder)
    (small.folder / "link").symlink_to("a")
    small.write(".github/ratiba.yml", CONFIGURATION.format(root=layout.root))
    base = git.commit({})
    git.git("checkout", "--quiet", "-b", "feature")
    layout.committed(small.folder, command)
    head = git.commit({"a/b/prompts/greet.md": "Greet warmly."})
    layout.planted(small.folder, command)
    return base, head


def in_a_job(folder: Path, base: str, head: str) -> dict[str, str]:
    """The variables of a pull request's run."""
    event = folder / "event.json"
    event.write_text(json.dumps(pull_request_event(base, head, files=1)))
    return {"GITHUB_EVENT_PATH": str(event), "GITHUB_EVENT_NAME": "pull_request", "GITHUB_ACTIONS": "true"}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("where", ["a job", "a laptop"])
def test_no_command_of_a_hidden_repository_runs(
    small: SmallRepository, tmp_path: Path, layout: Layout, where: str
) -> None:
    marker, command = marker_of(tmp_path)
    base, head = prepare(small, layout, command)
    marker.unlink(missing_ok=True)
    variables = in_a_job(tmp_path, base, head) if where == "a job" else {}
    decided = small.run(["decide", "--json"], small.folder, small.environment | variables)
    assert (decided.returncode, json.loads(decided.stdout)["mode"]) == (0, "blocking"), decided.stdout + decided.stderr
    assert not marker.exists(), "decide ran a command of the change"
    ended = small.gate("--baseline", "none", "--mode", "blocking", **variables)
    assert not marker.exists(), f"the gate ran a command of the change\n{ended.printed}"
    assert (ended.code, ended.outputs["conclusion"]) == (0, "passed"), ended.printed


def test_a_content_that_is_missing_is_not_fetched_by_a_command_of_the_checkout(
    small: SmallRepository, tmp_path: Path
) -> None:
    """A partial clone is completed by whatever its configuration names; it stays as it is, and the run is blocking."""
    marker, command = marker_of(tmp_path)
    git = GitRepository(small.folder)
    lock = 'version = 1\n[[package]]\nname = "a"\nversion = "1.0.{}"\n'
    base = git.commit({"uv.lock": lock.format(0)})
    missing = git.git("rev-parse", "HEAD:uv.lock")
    git.git("checkout", "--quiet", "-b", "feature")
    head = git.commit({"uv.lock": lock.format(1)})
    (small.folder / ".git/objects" / missing[:2] / missing[2:]).unlink()
    poison(small.folder / ".git", command, small.folder / ".git/evil-hooks", str(small.folder))
    variables = in_a_job(tmp_path, base, head)
    decided = small.run(["decide", "--json"], small.folder, small.environment | variables)
    assert not marker.exists()
    printed = json.loads(decided.stdout)
    assert printed["mode"] == "blocking"
    assert "'filter:'" in printed["reasons"][0]["why"], printed
