"""The workflow whose database starts only when there is something to evaluate; the sub-action that decides is real."""

import pytest

from tests.support.act import ACTION, Act
from tests.support.consumer_repository import Repositories
from tests.support.github_server import GithubState, github_server

pytestmark = pytest.mark.docker
WORKFLOW = ".github/workflows/eval-three-jobs.yml"


def test_a_change_of_documentation_starts_neither_the_job_that_evaluates_nor_its_database(
    act: Act, repositories: Repositories
) -> None:
    released = ACTION.partition("@")[2]
    text = (repositories.project / "examples/workflows/eval-three-jobs.yml").read_text(encoding="utf-8")
    repository = repositories.consumer({WORKFLOW: text.replace("@COMMIT", f"@{released}")})
    repository.propose({"README.md": "# A bakery\n"})
    github = GithubState(heads={7: repository.head})
    with github_server(github) as api:
        run = act.run(repository, "pull_request", repository.pull_request_event(), api, workflow=WORKFLOW)
    assert run.code == 0, run.printed
    assert run.jobs == {"decide": "success", "eval": "success"}
    assert "mode: skip, evaluate: skipped" in run.printed
    assert "image=postgres" not in run.printed
