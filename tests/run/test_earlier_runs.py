"""Which earlier runs a run may look at: the base branch's artifact, and none where it must not ask."""

import io
import json
import os
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ratiba_action.decide.deciding import DecideRequest, decide
from ratiba_action.model.change import Mode, Subject
from ratiba_action.model.comparison import Rules
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.run.earlier_runs import FIRST_RUN, EarlierRuns, find_earlier_runs, measured_commit
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.inputs import RunRequest
from ratiba_action.settings.settings import read_settings
from ratiba_action.util.git import Git
from tests.support.git_repository import GitRepository
from tests.support.github_server import GithubState, github_server
from tests.support.github_state import Artifact, Run
from tests.support.pull_request_events import pull_request_event
from tests.support.sample_report import sample_report, sample_score, sample_scored
from tests.support.small_repository import CONFIGURATION, SCENARIO

MEASURED = datetime(2026, 4, 25, 7, tzinfo=UTC)
REPOSITORY = "ratiba/assistant"


@pytest.fixture
def state() -> GithubState:
    return GithubState()


@pytest.fixture
def address(state: GithubState) -> Iterator[str]:
    with github_server(state) as base:
        yield base


@pytest.fixture
def git(tmp_path: Path) -> GitRepository:
    return GitRepository(tmp_path / "repository")


def artifact(commit: str) -> Artifact:
    subject = Subject(repository=REPOSITORY, head=commit, event="push", run_id=1)
    results = (sample_scored(scores=(sample_score(),)),)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        report = sample_report(subject=subject, results=results, started_at=MEASURED)
        archive.writestr("results.json", render_results(summarise(report)))
    return Artifact(1, "ratiba-baseline", Run(1, commit), written.getvalue())


def find(
    git: GitRepository,
    address: str,
    now: datetime,
    baseline: str = "auto",
    state: GithubState | None = None,
    *,
    started_by: object = None,
    attempt: int = 1,
) -> EarlierRuns:
    turns = "  - user: Hello\n"
    files = {".github/ratiba.yml": CONFIGURATION.format(timeout=20), "adapter.py": ""}
    base = git.commit({**files, "scenarios/asks.yaml": SCENARIO.format(name="asks", turns=turns)})
    head = git.commit({"prompts/unused.md": "Nobody reads this."})
    if state is not None:
        state.kept.append(artifact(base))
    event = git.folder.parent / "event.json"
    event.write_text(json.dumps(pull_request_event(base, head)))
    named = git.folder.parent / "named.json"
    named.write_text(json.dumps(started_by))
    environment = {
        "GITHUB_EVENT_PATH": str(named),
        "PATH": os.environ["PATH"],
        "GITHUB_API_URL": address,
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_RUN_ID": "1001",
        "GITHUB_RUN_ATTEMPT": str(attempt),
        "RATIBA_GITHUB_TOKEN": "ghs_planted",
        "RATIBA_BASELINE": baseline,
    }
    decided = decide(DecideRequest(git.folder, "pull_request", event, floor=Mode.BLOCKING), environment)
    settings = read_settings(environment, {})
    run = read_inputs(RunRequest(settings=settings, decided=decided, repository=git.folder, environment=environment))
    commit = measured_commit(decided.change.git)
    return find_earlier_runs(run, now, Rules(), commit, in_shards=started_by is not None)


def test_the_artifact_of_the_base_is_found_and_its_age_reported(
    git: GitRepository, state: GithubState, address: str
) -> None:
    found = find(git, address, datetime(2026, 5, 5, 7, tzinfo=UTC), state=state)
    assert found.facts is not None, found.notes
    assert (len(found.baseline), found.earlier, found.facts.stale) == (1, (), True)
    assert "10 days old" in found.notes[-1]


SECONDS = int(MEASURED.timestamp())


def changed(at: object) -> object:
    return {"pull_request": {"updated_at": at}, "repository": {"pushed_at": "2026-04-25T06:00:00Z"}}


def grouped(at: str) -> object:
    return {"merge_group": {"head_commit": {"timestamp": at}}, "repository": {"pushed_at": "2026-04-25T06:00:00Z"}}


@pytest.mark.parametrize(
    ("started_by", "count"),
    [
        (changed("2026-04-25T06:59:59Z"), 0),
        (changed("2026-04-25T07:00:00Z"), 1),
        (grouped("2026-04-25T09:59:59+03:00"), 0),
        (grouped("2026-04-25T10:00:00+03:00"), 1),
        ({"repository": {"pushed_at": SECONDS - 1}}, 0),
        ({"repository": {"pushed_at": SECONDS}}, 1),
        ({"repository": {"pushed_at": "2026-04-25T06:00:00Z"}}, 1),
        ({"repository": {"pushed_at": 10**30}}, 1),
        (changed("an hour ago"), 1),
        (changed("2026-04-25T06:00:00"), 1),
        (changed(1_700_000_000), 1),
        ([], 1),
    ],
)
def test_every_shard_sees_the_base_as_it_was_when_the_workflow_run_was_started(
    git: GitRepository, state: GithubState, address: str, started_by: object, count: int
) -> None:
    found = find(git, address, MEASURED, state=state, started_by=started_by)
    assert (len(found.baseline), found.unanswered) == (count, False)


def test_a_first_run_says_that_it_becomes_the_baseline(git: GitRepository, address: str) -> None:
    assert find(git, address, MEASURED) == EarlierRuns(notes=(FIRST_RUN,))


def test_a_baseline_of_none_asks_nobody(git: GitRepository, state: GithubState, address: str) -> None:
    assert find(git, address, MEASURED, "none", state) == EarlierRuns()
    assert state.requests == []


def test_a_github_that_refuses_is_a_note(git: GitRepository, state: GithubState, address: str) -> None:
    state.failure = (403, "Resource not accessible by integration")
    found = find(git, address, MEASURED)
    assert (found.baseline, found.facts) == ((), None)
    assert "actions: read" in found.notes[0]
    assert found.lost is None, "the workflow's own permissions say so"


def test_results_of_the_base_that_github_could_not_be_asked_for_are_lost(
    git: GitRepository, state: GithubState, address: str
) -> None:
    state.failure = (401, "Bad credentials")
    found = find(git, address, MEASURED)
    assert found.baseline == ()
    assert found.lost is not None
    assert found.lost.startswith("the base's results could not be looked for")


def test_earlier_attempts_that_github_could_not_be_asked_for_are_lost(
    git: GitRepository, state: GithubState, address: str
) -> None:
    state.failure = (401, "Bad credentials")
    lost = find(git, address, MEASURED, "none", attempt=2).lost
    assert lost is not None
    assert lost.startswith("Earlier attempts of this run could not be added")


def test_a_work_tree_with_changes_of_its_own_measures_no_commit(git: GitRepository) -> None:
    commit = git.commit({"adapter.py": "before"})
    own = Git(git.folder, {"PATH": os.environ["PATH"]})
    assert measured_commit(own) == commit
    git.write({"adapter.py": "after"})
    assert (measured_commit(own), measured_commit(None)) == ("", "")
