import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.llm.access import listening_host
from tests.support.container_image import BASE, why_not

PROJECT = Path(__file__).parents[2]


@pytest.mark.processes
@pytest.mark.parametrize("network", ["", "host", "job"])
def test_for_a_system_that_the_gate_starts_it_is_the_loopback_address(network: str) -> None:
    assert listening_host(None, network) == "127.0.0.1"


@pytest.mark.processes
@pytest.mark.parametrize("network", ["", "host", "JOB"])
def test_outside_a_jobs_network_no_address_of_the_configuration_opens_it_to_others(network: str) -> None:
    assert listening_host("http://booking:8000", network) == "127.0.0.1"


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost"])
def test_in_a_jobs_network_it_is_the_address_from_which_the_system_is_reached(url: str) -> None:
    assert listening_host(url, "job") == "127.0.0.1"


@pytest.mark.parametrize("url", ["http://no-such-service.invalid:8000", "http://booking:99999", "http://[::bad"])
def test_a_system_that_is_not_in_the_jobs_network_is_named_before_anything_runs(url: str) -> None:
    with pytest.raises(ConfigurationError, match="leads nowhere from the job's network") as refused:
        listening_host(url, "job")
    assert "services" in refused.value.remedy


@pytest.fixture
def network() -> Iterator[str]:
    """A network as a job with services has it, with a service named ``booking``."""
    if reason := why_not():
        pytest.skip(reason)
    name = f"ratiba-listening-{uuid.uuid4().hex[:8]}"
    docker("network", "create", name)
    service = docker("run", "--detach", "--network", name, "--network-alias", "booking", BASE, "sleep", "300")
    yield name
    docker("rm", "--force", service)
    docker("network", "rm", name)


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.processes
@pytest.mark.docker
def test_beside_a_service_it_is_the_containers_own_address_in_their_network(network: str) -> None:
    script = (
        "import socket, sys; sys.path.insert(0, '/')\n"
        "from ratiba_action.llm.access import listening_host\n"
        "print(listening_host('http://booking:8000', 'job'), socket.gethostbyname(socket.gethostname()))"
    )
    container = docker("create", "--network", network, BASE, "python3", "-c", script)
    try:
        docker("cp", str(PROJECT / "ratiba_action"), f"{container}:/")
        found, own = docker("start", "--attach", container).split()
    finally:
        docker("rm", "--force", container)
    assert found == own
    assert not found.startswith("127.")
