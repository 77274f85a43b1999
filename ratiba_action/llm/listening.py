"""Where the gateway listens: out of everybody's reach, unless the system under test is a service beside the gate."""

import socket
from urllib.parse import urlsplit

from ratiba_action.errors import ConfigurationError

LOOPBACK = "127.0.0.1"
JOB_NETWORK = "job"
"""Value of ``RATIBA_CONTAINER_NETWORK`` in a job with services; only its containers are in that network."""


def listening_host(system_url: str | None, network: str) -> str:
    """The address to bind.

    A service of the job cannot reach the loopback interface of the gate's container, so for one it is the container's
    own address in the job's network. The token of an open scenario is asked for there as everywhere.

    Args:
        system_url: of a system that runs elsewhere; None for one that the gate starts.
        network: value of ``RATIBA_CONTAINER_NETWORK``; empty outside the action.

    Raises:
        ConfigurationError: the system's host is not known in the job's network.
    """
    if system_url is None or network != JOB_NETWORK:
        return LOOPBACK
    try:
        parts = urlsplit(system_url)
        # A datagram's socket sends nothing to be connected; it only says from which address it would.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((parts.hostname or "", parts.port or 80))
            return str(probe.getsockname()[0])
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The system's address {system_url!r} leads nowhere from the job's network: {error}.",
            "Write the service's name under `services:` and the port inside its container, such as "
            "http://booking:8000.",
        ) from error
