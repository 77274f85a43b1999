"""Where the tenants are: in the job's service, and everywhere else in these tests in the server that is started."""

import socket

import pytest

from tests.support.act import Act
from tests.support.consumer_repository import Repositories
from tests.support.github_server import GithubState, github_server
from tests.support.workflow_for_act import Adjustments

pytestmark = pytest.mark.docker


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def test_a_service_of_the_job_holds_the_tenants_and_its_password_is_told_to_nobody(
    act: Act, repositories: Repositories
) -> None:
    repository = repositories.small(message="say Bonjour")
    repository.propose({"prompts/greeting.md": "Say Bonjour, warmly.\n"})
    port, password = free_port(), "password-of-the-service"
    service = {
        "image": "postgres:17",
        "env": {"POSTGRES_PASSWORD": password},
        "ports": [f"{port}:5432"],
        # The data in memory leaves no volume behind.
        "options": "--health-cmd pg_isready --health-interval 1s --health-timeout 5s --health-retries 30 "
        "--tmpfs /var/lib/postgresql/data",
    }
    url = f"postgresql://postgres:{password}@localhost:{port}/postgres"
    github = GithubState(heads={7: repository.head})
    with github_server(github) as api:
        adjustments = Adjustments({"database-url": url}, {"postgres": service})
        run = act.run(repository, "pull_request", repository.pull_request_event(), api, adjustments=adjustments)
    assert run.code == 0, run.printed
    assert run.outputs["conclusion"] == "passed"
    (comment,) = github.comments
    results = run.files()["ratiba-report/results.json"].decode()
    assert password not in comment["body"] + results + run.summary
