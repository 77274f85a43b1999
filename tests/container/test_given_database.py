"""A PostgreSQL service on the job's network, as the action's users give one."""

import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.container_image import finished
from tests.support.eventually import eventually
from tests.support.prison import Prison, plant

pytestmark = pytest.mark.docker
POSTGRES = "postgres:17"


@dataclass(frozen=True)
class Service:
    """A running service, named ``postgres`` on a network of its own."""

    network: str
    password: str

    def url(self, host: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}:{self.password}@{host}:5432/ratiba"


@pytest.fixture(scope="module")
def service(image: str) -> Iterator[Service]:
    assert image
    if finished(["docker", "image", "inspect", POSTGRES]).returncode:
        pytest.skip(f"needs the image: docker pull {POSTGRES}")
    name, password = f"ratiba-test-{uuid.uuid4().hex[:8]}", plant()
    subprocess.run(["docker", "network", "create", name], capture_output=True, check=True)
    options = ["--network", name, "--network-alias", "postgres", "--tmpfs", "/var/lib/postgresql/data"]
    variables = ["--env", f"POSTGRES_PASSWORD={password}", "--env", "POSTGRES_DB=ratiba"]
    command = ["docker", "run", "--detach", "--rm", "--name", name, *options, *variables, POSTGRES]
    subprocess.run(command, capture_output=True, check=True)
    ready = ["docker", "exec", name, "psql", "--host", "127.0.0.1", "--username", "postgres", "--dbname", "ratiba"]
    try:
        sql = f"CREATE ROLE poor LOGIN PASSWORD '{password}'"
        eventually(lambda: finished([*ready, "--command", sql]).returncode == 0)
        yield Service(name, password)
    finally:
        subprocess.run(["docker", "rm", "--force", "--volumes", name], capture_output=True, check=True)
        subprocess.run(["docker", "network", "rm", name], capture_output=True, check=True)


def test_the_password_of_a_given_database_is_found_nowhere(prison: Prison, service: Service) -> None:
    run = prison.run("look", "rule", network=service.network, variables={"RATIBA_DATABASE_URL": service.url()})
    assert {place: found for place, found in run.findings.items() if found} == {}, run.printed
    assert (run.code, run.outputs["conclusion"]) == (0, "passed"), run.printed
    assert service.password not in run.published


def test_localhost_is_refused_on_the_jobs_network_before_anything_starts(prison: Prison, service: Service) -> None:
    variables = {"RATIBA_DATABASE_URL": service.url("localhost"), "RATIBA_CONTAINER_NETWORK": "job"}
    run = prison.run("look", network=service.network, variables=variables)
    assert run.code == 2, run.printed
    assert "postgresql://…@postgres:5432/…" in run.printed
    assert service.password not in run.published


def test_missing_rights_are_reported_before_a_conversation_begins(prison: Prison, service: Service) -> None:
    run = prison.run("look", network=service.network, variables={"RATIBA_DATABASE_URL": service.url(user="poor")})
    assert (run.code, run.outputs["conclusion"]) == (3, "incomplete"), run.printed
    assert "ALTER ROLE poor CREATEROLE;" in run.printed
    assert "GRANT CREATE ON DATABASE ratiba TO poor;" in run.printed
    assert service.password not in run.published
