"""How far the system under test can be kept from the gate's own processes and files."""

import ctypes
import sys

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.note import Note

_LANDLOCK_CREATE_RULESET, _QUERY_VERSION, _NEEDED_VERSION = 444, 1, 2


def has_landlock() -> bool:
    """Whether the kernel can close files and processes to a worker of the gate's own user; Linux 5.19 and newer."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(
        ctypes.c_long(_LANDLOCK_CREATE_RULESET), None, ctypes.c_long(0), ctypes.c_long(_QUERY_VERSION)
    )
    return bool(version >= _NEEDED_VERSION)


def separation_warnings(*, same_user: bool, landlock: bool, secrets: bool) -> tuple[str, ...]:
    """What the reader of a report should know about how far the worker is from the gate.

    Args:
        same_user: whether the worker runs as the gate's own user.
        landlock: whether the kernel has it.
        secrets: whether the gate holds any, or its checkout does.

    Raises:
        ConfigurationError: nothing but the process boundary would part the worker from secrets.
    """
    if not same_user or landlock:
        return ()
    if secrets:
        raise ConfigurationError(
            "The gate was given keys or tokens, and the system under test would run as the gate's own user on a kernel "
            "without Landlock, so nothing was run: the system could reach the gate's files and processes.",
            "Use Linux 5.19 or newer with 'landlock' in /sys/kernel/security/lsm, or start the gate as root outside "
            "the action's container, so that the system gets a user of its own. To replay recordings without secrets, "
            "give no key, no database-url or ledger-url, an empty github-token and no proxy with a password, and check "
            "out with 'persist-credentials: false'.",
        )
    warning = Note(
        "The system runs as the gate's own user on a kernel without Landlock: the files and processes of an embedded "
        "database, and the repository's own rules and metrics, are not closed to it.",
        "Use Linux 5.19 or newer.",
    )
    return (warning,)
