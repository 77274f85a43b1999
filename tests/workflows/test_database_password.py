"""The step of the examples that gives a service's database a new password, against a real server."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.workflow_files import run_block

pytestmark = pytest.mark.docker
PROJECT = Path(__file__).parents[2]
IMAGE = "postgres:17"
WRITTEN_IN_THE_FILE = "replaced-below"
EXAMPLES = ["eval-with-postgres.yml", "eval-three-jobs.yml"]


def docker(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=check)


@pytest.fixture
def service() -> Iterator[str]:
    """A container as the runner starts it, once it answers over the network."""
    try:
        docker("image", "inspect", IMAGE)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"Docker, or its image {IMAGE}, is not here")
    container = docker(
        "run", "--detach", "--rm", "--env", f"POSTGRES_PASSWORD={WRITTEN_IN_THE_FILE}", IMAGE
    ).stdout.strip()
    try:
        ends = time.monotonic() + 60
        while docker("exec", container, "pg_isready", "--host", "127.0.0.1", check=False).returncode:
            assert time.monotonic() < ends, docker("logs", container, check=False).stderr
        yield container
    finally:
        docker("rm", "--force", container)


def lets_in(container: str, password: str) -> bool:
    """Whether the server answers over its own address, where it asks for the password."""
    address = docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", container)
    query = ("psql", "--host", address.stdout.strip(), "--username", "postgres", "--command", "SELECT 1")
    return docker("exec", "--env", f"PGPASSWORD={password}", container, *query, check=False).returncode == 0


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_password_of_the_file_no_longer_opens_the_database_and_the_new_one_is_masked(
    service: str, tmp_path: Path, example: str
) -> None:
    output = tmp_path / "output"
    text = (PROJECT / "examples" / "workflows" / example).read_text("utf-8")
    script = run_block(text, "Give the database a password that nobody knows")
    assert f"POSTGRES_PASSWORD: {WRITTEN_IN_THE_FILE}" in text
    assert lets_in(service, WRITTEN_IN_THE_FILE)
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        env=os.environ | {"SERVICE": service, "GITHUB_OUTPUT": str(output)},
        capture_output=True,
        text=True,
        check=True,
    )
    password = output.read_text().removeprefix("url=postgresql://postgres:").partition("@")[0]
    assert output.read_text() == f"url=postgresql://postgres:{password}@postgres:5432/postgres\n"
    assert done.stdout.splitlines()[0] == f"::add-mask::{password}"
    assert not lets_in(service, WRITTEN_IN_THE_FILE)
    assert lets_in(service, password)
