"""A job with services has a network of its own: the gate joins it, as on a hosted runner, and finds them by name."""

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.act import Act
from tests.support.consumer_repository import PROMPT, Repositories
from tests.support.hosted_runner import HostedRunner

pytestmark = pytest.mark.docker
PASSWORD, POSTGRES = "password-of-the-service", "postgres:17"


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def network(act: Act) -> Iterator[str]:
    """A network with a PostgreSQL that starts at the same time as the gate."""
    if subprocess.run(["docker", "image", "inspect", POSTGRES], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"needs the image {POSTGRES}")
    name = f"{act.folder.name}-{uuid.uuid4().hex[:8]}"
    docker("network", "create", name)
    server = docker(
        *("run", "--detach", "--network", name, "--network-alias", "postgres", "--tmpfs", "/var/lib/postgresql/data"),
        *("--env", f"POSTGRES_PASSWORD={PASSWORD}", POSTGRES),
    )
    yield name
    docker("rm", "--force", "--volumes", server)
    docker("network", "rm", name)


@pytest.fixture
def runner(act: Act, repositories: Repositories, tmp_path: Path) -> HostedRunner:
    """A job that writes no comment: the token is sent to a server of another machine by TLS alone."""
    repository = repositories.small()
    repository.propose({PROMPT: "Say Bonjour, warmly.\n"})
    inputs = {"image": act.image, "comment": "false"}
    return HostedRunner(act.action, repository, tmp_path, repository.pull_request_event(), inputs)


def evaluated(runner: HostedRunner, network: str, url: str) -> "subprocess.CompletedProcess[str]":
    return runner.gate(RATIBA_JOB_NETWORK=network, RATIBA_DATABASE_URL=url)


def test_the_service_is_found_by_its_name_once_it_is_ready(runner: HostedRunner, network: str) -> None:
    done = evaluated(runner, network, f"postgresql://postgres:{PASSWORD}@postgres:5432/postgres")
    assert done.returncode == 0, done.stdout
    assert "## Passed" in runner.summary
    shown = "".join(line for line in done.stdout.splitlines(keepends=True) if not line.startswith("::add-mask::"))
    assert PASSWORD not in shown + runner.outputs + runner.summary


def test_an_address_of_the_runner_itself_is_refused_with_the_one_that_works(runner: HostedRunner, network: str) -> None:
    done = evaluated(runner, network, f"postgresql://postgres:{PASSWORD}@localhost:5432/postgres")
    assert done.returncode == 2, done.stdout
    assert "'localhost:5432/postgres' cannot be reached" in done.stdout
    assert "postgresql://…@postgres:5432/…" in done.stdout
