"""A change that puts another system in place of the one under test is named, and does not pass by itself."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.git_repository import GitRepository
from tests.support.github_server import GithubState, github_server
from tests.support.github_state import Pull
from tests.support.in_process_repository import run_here
from tests.support.pull_request_events import pull_request_event
from tests.support.small_repository import Ended, SmallRepository

REAL = "def answer(message):\n    return {'text': 'real', 'state': 'SAID'}\n"
STUB = "def answer(message):\n    return {'text': 'stub', 'state': 'SAID'}\n"
CONFIG = "system:\n  root: {root}\n  adapter: {adapter}\n  database: false\n"
VARIANT = "  variants:\n    fast:\n      environment: {{MODEL: small, {variables}}}\n"


class Change:
    """A pull request in the small repository, with a stand-in for GitHub."""

    def __init__(self, small: SmallRepository, state: GithubState, api: str, folder: Path) -> None:
        self.small, self.state, self._event = small, state, folder / "event.json"
        small.environment.update(
            GITHUB_API_URL=api, GITHUB_REPOSITORY="salon/assistant", GITHUB_TOKEN="a-token", RATIBA_COMMENT="false"
        )
        small.write("app/bot.py", REAL)
        small.write("app/stub.py", STUB)
        small.write("other/bot.py", STUB)
        small.scenario("hello", "hello")
        self.base = self.configure()
        self.head = self.base

    def configure(self, root: str = "app", adapter: str = "bot:answer", more: str = "") -> str:
        """Write a configuration and commit it."""
        self.small.write(".github/ratiba.yml", CONFIG.format(root=root, adapter=adapter) + more)
        self.head = self.small.commit()
        return self.head

    def run(self, event: str, payload: dict[str, Any]) -> Ended:
        payload.setdefault("repository", {"full_name": "salon/assistant", "default_branch": "main"})
        self._event.write_text(json.dumps(payload))
        return self.small.gate("--event", str(self._event), "--event-name", event)

    def as_pull_request(self) -> Ended:
        return self.run("pull_request", pull_request_event(self.base, self.head))

    def by_hand(self, **inputs: str) -> Ended:
        self.state.pulls[7] = Pull(self.head, base=self.base, files=("x",))
        return self.run("workflow_dispatch", {"inputs": {"pull-request": "7", **inputs}})


@pytest.fixture
def change(tmp_path: Path) -> Iterator[Change]:
    """In a repository whose system has no database."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    small = SmallRepository(tmp_path / "repository", tmp_path / "report", environment | {"NO_COLOR": "1"}, run_here)
    GitRepository(small.folder)
    state = GithubState()
    with github_server(state) as api:
        yield Change(small, state, api, tmp_path)


def conclusion(ended: Ended) -> tuple[int, str]:
    return ended.code, ended.outputs["conclusion"]


NAMED = "This change replaces the system under test: "


def test_a_stub_does_not_turn_a_pull_request_green(change: Change) -> None:
    change.configure(adapter="stub:answer")

    ended = change.as_pull_request()

    assert conclusion(ended) == (3, "incomplete"), ended.printed
    assert ended.outputs["passed"] == 1
    first = ended.comment.split("\n>\n> ")[:2]
    assert "of another system than the base's" in first[0]
    assert first[1].startswith(f"**{NAMED}system.adapter is")
    assert "stub:answer" in first[1]
    assert "bot:answer" in first[1]
    assert f"pull-request: 7 and commit: {change.head}" in ended.results["report"]["verdict"]["action"]
    assert NAMED in (ended.report / "report.html").read_text()


def test_a_manual_run_on_that_head_commit_lifts_it_and_no_other_does(change: Change) -> None:
    earlier = change.configure(adapter="stub:answer")
    change.configure(adapter="stub:answer", more="pass_rate: 0.9\n")

    assert conclusion(change.by_hand())[1] == "incomplete"
    assert conclusion(change.by_hand(commit=earlier))[1] == "incomplete"
    assert conclusion(change.by_hand(commit=change.head[:12]))[1] == "incomplete"
    lifted = change.by_hand(commit=change.head)
    assert conclusion(lifted) == (0, "passed"), lifted.printed
    assert NAMED in lifted.comment


def test_a_manual_run_that_names_another_head_than_it_evaluates_lifts_nothing(change: Change) -> None:
    evaluated = change.configure(adapter="stub:answer")
    change.configure(adapter="stub:answer", more="pass_rate: 0.9\n")
    named = change.head
    GitRepository(change.small.folder).git("checkout", "--quiet", evaluated)

    assert conclusion(change.by_hand(commit=named))[1] == "incomplete"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"root": "other"}, "system.root is"),
        ({"more": "  environment: {PYTHONPATH: stubs}\n"}, "system.environment.PYTHONPATH is"),
        ({"more": "  environment: {BACKEND: 'http://127.0.0.1:9'}\n"}, "system.environment.BACKEND is"),
        ({"more": VARIANT.format(variables="BACKEND: 'http://127.0.0.1:9'")}, "system.variants.fast.environment"),
        ({"more": f"  python: {sys.executable}\n"}, "system.python is"),
    ],
)
def test_every_setting_that_names_the_system_counts(change: Change, settings: dict[str, str], named: str) -> None:
    change.configure(**settings)

    ended = change.as_pull_request()

    assert ended.code != 0
    assert ended.outputs["conclusion"] in {"incomplete", "failed"}
    assert ended.results["report"]["replaced"][0].startswith(named), ended.results["report"]["replaced"]


@pytest.mark.parametrize(
    "replaced",
    [
        "replay: {}",
        "url: http://127.0.0.1:9\n  database: false",
        "http: {url: 'http://127.0.0.1:9', reply: {text: text}}",
        "command: [python, stub.py]",
    ],
)
def test_another_kind_of_system_is_named_with_both_kinds(change: Change, replaced: str) -> None:
    change.small.write(".github/ratiba.yml", f"system:\n  root: app\n  {replaced}\n")
    change.head = change.small.commit()

    ended = change.as_pull_request()

    assert ended.code != 0
    text = " ".join(ended.results["report"]["replaced"])
    assert f"system.{replaced.partition(':')[0]} is" in text
    assert "system.adapter is not set (base: 'bot:answer')" in text


@pytest.mark.parametrize("link", ["root", "module"])
def test_a_link_under_the_same_name_to_another_system_is_named(change: Change, link: str) -> None:
    path = change.small.folder / ("app" if link == "root" else "app/bot.py")
    path.rename(change.small.folder / "moved")
    path.symlink_to("other" if link == "root" else "stub.py")
    change.head = change.small.commit()

    ended = change.as_pull_request()

    assert conclusion(ended) == (3, "incomplete"), ended.printed
    assert "leads to" in ended.results["report"]["replaced"][0]


def test_the_adapters_own_code_set_up_and_variants_are_ordinary(change: Change) -> None:
    change.small.write("app/bot.py", REAL + "# warmer\n")
    change.configure(more="  setup: ['true']\n  environment: {MODEL: small}\n" + VARIANT.format(variables="X: '1'"))

    ended = change.as_pull_request()

    assert conclusion(ended) == (0, "passed"), ended.printed
    assert ended.results["report"]["replaced"] == []


def test_what_fails_has_failed_whoever_has_to_confirm(change: Change) -> None:
    change.small.write("app/stub.py", STUB.replace("SAID", "LOST"))
    change.configure(adapter="stub:answer")

    assert conclusion(change.as_pull_request()) == (1, "failed")


def test_the_first_configuration_replaces_nothing(change: Change) -> None:
    change.small.write(".github/old.yml", "1")
    (change.small.folder / ".github/ratiba.yml").unlink()
    change.base = change.small.commit()
    change.configure(adapter="stub:answer")

    assert conclusion(change.as_pull_request()) == (0, "passed")


def test_a_base_whose_configuration_cannot_be_read_is_a_doubt(change: Change) -> None:
    change.small.write(".github/ratiba.yml", "system: nonsense\n")
    change.base = change.small.commit()
    change.configure()

    ended = change.as_pull_request()

    assert conclusion(ended) == (3, "incomplete")
    assert "the base's configuration could not be read" in ended.comment


@pytest.mark.parametrize(
    ("event", "branch", "expected"),
    [("merge_group", "", "passed"), ("push", "main", "passed"), ("push", "feature", "incomplete")],
)
def test_a_merge_queue_and_the_default_branch_take_what_was_confirmed(
    change: Change, event: str, branch: str, expected: str
) -> None:
    change.configure(adapter="stub:answer")
    payload: dict[str, Any] = {"before": change.base, "after": change.head, "ref": f"refs/heads/{branch}"}
    if event == "merge_group":
        payload = {"merge_group": {"base_sha": change.base, "head_sha": change.head}}

    ended = change.run(event, payload)

    assert ended.outputs["conclusion"] == expected, ended.printed
    assert NAMED in ended.comment


def test_a_laptop_names_it_and_keeps_its_conclusion(change: Change) -> None:
    GitRepository(change.small.folder).git("checkout", "--quiet", "-b", "feature")
    change.configure(adapter="stub:answer")

    ended = change.small.gate()

    assert conclusion(ended) == (0, "passed"), ended.printed
    assert NAMED in ended.printed
    assert NAMED in ended.comment
