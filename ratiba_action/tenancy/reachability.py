"""Whether a database URL can lead anywhere from inside the action's container; asked before anything starts."""

import ipaddress
import socket
from collections.abc import Callable

from ratiba_action.errors import ConfigurationError
from ratiba_action.tenancy.connections import address, parameters

JOB_NETWORK, HOST_NETWORK = "job", "host"
"""Values of ``RATIBA_CONTAINER_NETWORK``."""


def resolves(name: str) -> bool:
    """Whether this machine knows an address of that name."""
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True


def require_reachable(database_url: str, network: str, known: Callable[[str], bool] = resolves) -> None:
    """Refuse an address that cannot work where the gate runs.

    Args:
        database_url: of a server that runs already, empty for none.
        network: that the container is in: ``job`` for the one of the job's services, ``host`` for the runner's own;
            anything else is no container, and every address may work.
        known: whether a name can be resolved.

    Raises:
        ConfigurationError: it cannot be read, or says what to write instead; the password is never part of it.
    """
    if not database_url:
        return
    hosts = _hosts(database_url)
    if network not in {JOB_NETWORK, HOST_NETWORK}:
        return
    if network == JOB_NETWORK and all(_is_local(host) for host in hosts):
        raise ConfigurationError(
            f"The database at {address(database_url)!r} cannot be reached: the gate runs in a container on the job's "
            "network, where that address is the container itself.",
            "Write the service's name under `services:` and the port inside its container, such as "
            "postgresql://…@postgres:5432/….",
        )
    if all(host.startswith("/") for host in hosts):
        raise ConfigurationError(
            f"The database at {address(database_url)!r} cannot be reached: no runner's socket is in the container.",
            "Name a host and a port, such as postgresql://…@localhost:5432/….",
        )
    # A name with a dot is somebody's DNS, which may answer in a moment.
    labels = [host for host in hosts if "." not in host and not _is_local(host)]
    if network == HOST_NETWORK and len(labels) == len(hosts) and not any(known(host) for host in labels):
        raise ConfigurationError(
            f"The database's host {', '.join(labels)!r} is not known: this job has no network of its own, so that the "
            "gate runs on the runner's, where services have no names.",
            "Map the service's port (`ports: [5432:5432]`) and write postgresql://…@localhost:5432/….",
        )


def _hosts(database_url: str) -> list[str]:
    """What the connection goes to, of each alternative; no host at all means this machine."""
    parts = parameters(database_url)
    named = parts.get("hostaddr") or parts.get("host") or "localhost"
    return [host.strip().lower() or "localhost" for host in named.split(",")]


def _is_local(host: str) -> bool:
    if host.startswith(("/", "@")) or host.rstrip(".") == "localhost" or host.endswith(".localhost"):
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return found.is_loopback or found.is_unspecified
