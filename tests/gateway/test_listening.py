import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.gateway.listening import listening_host


@pytest.mark.parametrize("network", ["", "host", "job"])
def test_for_a_system_that_the_gate_starts_it_is_the_loopback_address(network: str) -> None:
    assert listening_host(None, network) == "127.0.0.1"


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
