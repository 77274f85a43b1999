"""What bots propose: the mode comes from the locked versions, and the new ones are installed and run."""

import json
import re

import pytest

from tests.support.act import Act
from tests.support.act_run import ActRun
from tests.support.bots import DEPENDABOT, RENOVATE, bot_event
from tests.support.consumer_repository import WORKFLOW, Repositories
from tests.support.github_server import GithubState, Pull, github_server

pytestmark = pytest.mark.docker
DIRECT, LOCK = "requirements.in", "requirements.txt"


def proposed(
    act: Act, repositories: Repositories, before: dict[str, str], pull: tuple[str, str, str], *, writable: bool
) -> tuple[ActRun, GithubState]:
    """A run for a bot's pull request that brings the example's packages.

    Args:
        before: version of each package that differs in the base, whose packages are never installed: the workflow
            asks for no comparison.
        pull: the bot, its branch and the title.
        writable: whether the run's token may write.
    """
    example = repositories.project / "examples" / "consumer"
    after = {name: (example / name).read_text(encoding="utf-8") for name in (DIRECT, LOCK)}
    workflow = (example / WORKFLOW).read_text(encoding="utf-8")
    config = "          config: .github/ratiba.yml\n"
    older = {**after, WORKFLOW: workflow.replace(config, f"{config}          baseline: none\n", 1)}
    for package, version in before.items():
        older[LOCK] = re.sub(rf"^{package}==[0-9.]+", f"{package}=={version}", older[LOCK], flags=re.MULTILINE)
        if package == "openai" and version.startswith("1."):
            older[DIRECT] = re.sub(r"^openai.*", "openai>=1,<2", older[DIRECT], flags=re.MULTILINE)
    repository = repositories.consumer(older)
    repository.propose(after)
    author, branch, title = pull
    files = tuple(name for name in after if after[name] != older[name])
    known = Pull(repository.head, repository.base, branch, author=author, title=title, files=files)
    github = GithubState(pulls={7: known}, writable=writable)
    with github_server(github) as api:
        run = act.run(repository, "pull_request", bot_event(known), api)
    assert run.code == 0, run.printed
    assert {reason["path"] for reason in json.loads(run.outputs["reasons"])} == set(files)
    return run, github


def test_dependabots_group_with_a_major_blocks_and_is_measured_though_its_run_has_no_secret_and_may_not_write(
    act: Act, repositories: Repositories
) -> None:
    pull = (DEPENDABOT, "dependabot/pip/llm-0e3f1b", "Bump the llm group with 2 updates")
    run, github = proposed(act, repositories, {"openai": "1.109.1", "pydantic": "2.13.0"}, pull, writable=False)
    outputs = run.outputs
    assert (outputs["mode"], outputs["conclusion"], outputs["passed"]) == ("blocking", "passed", "2"), run.printed
    assert github.comments == []
    assert "## Passed" in run.summary
    warnings = " ".join(note.message for note in run.annotations if note.level == "warning")
    assert "pull-requests: write" in warnings
    assert "second workflow" in warnings


def test_renovates_lock_file_maintenance_is_advisory_and_runs_what_is_recorded(
    act: Act, repositories: Repositories
) -> None:
    pull = (RENOVATE, "renovate/lock-file-maintenance", "Lock file maintenance")
    run, github = proposed(act, repositories, {"openai": "2.52.0", "anyio": "4.15.0"}, pull, writable=True)
    outputs = run.outputs
    assert (outputs["mode"], outputs["conclusion"], outputs["passed"]) == ("advisory", "passed", "2"), run.printed
    (comment,) = github.comments
    assert "## Passed" in comment["body"]
    assert "advisory" in comment["body"]
