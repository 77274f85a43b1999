"""A database address that cannot work inside the action's container is told before anything starts."""

from collections.abc import Callable

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.tenancy.reachability import require_reachable

SECRET = "hunter2-very-secret"
LOCAL = ("localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.0.1.1", "[::1]", "0.0.0.0")  # noqa: S104 - refused


def url(host: str) -> str:
    return f"postgresql://admin:{SECRET}@{host}:5432/ratiba"


def nobody_knows(_name: str) -> bool:
    return False


def let_through(database_url: str, network: str, known: Callable[[str], bool] = nobody_knows) -> bool:
    try:
        require_reachable(database_url, network, known)
    except ConfigurationError:
        return False
    return True


def refusal(database_url: str, network: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        require_reachable(database_url, network, nobody_knows)
    assert SECRET not in str(caught.value)
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize("host", LOCAL)
def test_this_machine_is_the_container_itself_on_a_jobs_network(host: str) -> None:
    reported = refusal(url(host), "job")
    assert "postgresql://…@postgres:5432/…" in reported
    assert "services:" in reported


@pytest.mark.parametrize(
    "dsn",
    [
        f"host=localhost password={SECRET} dbname=ratiba",
        f"host=postgres hostaddr=127.0.0.1 password={SECRET}",
        f"postgresql://admin:{SECRET}@/ratiba",
        f"postgresql://admin:{SECRET}@/ratiba?host=/var/run/postgresql",
        f"postgresql://admin:{SECRET}@localhost,127.0.0.1/ratiba",
    ],
)
def test_every_spelling_of_this_machine_is_refused_on_a_jobs_network(dsn: str) -> None:
    assert "postgres:5432" in refusal(dsn, "job")


@pytest.mark.parametrize("host", ["postgres", "10.0.0.7", "db.example.com", "localhost,postgres", "localhosts"])
def test_another_machine_is_let_through_on_a_jobs_network(host: str) -> None:
    assert let_through(url(host), "job")


def test_a_services_name_that_nobody_knows_on_the_runners_network_says_to_map_the_port() -> None:
    reported = refusal(url("postgres"), "host")
    assert "'postgres'" in reported
    assert "ports: [5432:5432]" in reported
    assert "@localhost:5432/" in reported


def test_a_socket_of_the_runner_is_not_in_the_container() -> None:
    assert "localhost:5432" in refusal(f"postgresql://u:{SECRET}@/ratiba?host=/var/run/postgresql", "host")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "db.example.com"])
def test_what_may_answer_is_let_through_on_the_runners_network(host: str) -> None:
    assert let_through(url(host), "host")


def test_a_name_that_the_runner_knows_is_let_through() -> None:
    assert let_through(url("postgres"), "host", lambda name: name == "postgres")
    assert not let_through(url("postgres"), "host", lambda name: name == "redis")


@pytest.mark.parametrize("network", ["", "none"])
def test_outside_the_actions_container_every_address_may_work(network: str) -> None:
    assert let_through(url("localhost"), network)


def test_without_a_database_url_there_is_nothing_to_refuse() -> None:
    assert let_through("", "job")


@pytest.mark.parametrize("network", ["", "job", "host"])
def test_a_url_that_cannot_be_read_is_refused_wherever_the_gate_runs(network: str) -> None:
    assert "postgresql://user:password@host" in refusal(f"mysql://u:{SECRET}@h/d", network)
