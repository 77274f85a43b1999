"""The limits that every untrusted command has, whatever limits the gate has: nothing of them is inherited.

A limit that the gate's own hard limit is below stays at that one, since only root can raise it.
"""

from __future__ import annotations

import contextlib
import resource

MIB, GIB = 1 << 20, 1 << 30
UNLIMITED = resource.RLIM_INFINITY
PROCESSES = 4096
LIMITS = {
    "RLIMIT_CORE": (0, 0),
    "RLIMIT_NOFILE": (65_536, 65_536),
    "RLIMIT_FSIZE": (16 * GIB, 16 * GIB),
    "RLIMIT_STACK": (8 * MIB, GIB),
    "RLIMIT_MEMLOCK": (8 * MIB, 8 * MIB),
    # The kernel counts signals and queues by user: this leaves the gate of the same user its share.
    "RLIMIT_SIGPENDING": (4096, 4096),
    "RLIMIT_MSGQUEUE": (819_200, 819_200),
    "RLIMIT_NICE": (0, 0),
    "RLIMIT_RTPRIO": (0, 0),
    # JavaScript engines, Go and sanitizers reserve far more addresses than memory.
    "RLIMIT_AS": (UNLIMITED, UNLIMITED),
    "RLIMIT_DATA": (UNLIMITED, UNLIMITED),
    "RLIMIT_CPU": (UNLIMITED, UNLIMITED),
}
"""Soft and hard limit, in bytes where it is a size."""


def apply(*, own_processes: bool) -> None:
    """Set all limits that this system has.

    Args:
        own_processes: no other process counts towards the worker's number of processes, as the kernel counts by user.
    """
    wanted = LIMITS | ({"RLIMIT_NPROC": (PROCESSES, PROCESSES)} if own_processes else {})
    for name, (soft, hard) in wanted.items():
        limit = getattr(resource, name, None)
        if limit is not None:
            highest = resource.getrlimit(limit)[1]
            with contextlib.suppress(ValueError, OSError):  # macOS knows names whose values it refuses
                resource.setrlimit(limit, (_within(soft, highest), _within(hard, highest)))


def _within(limit: int, highest: int) -> int:
    if UNLIMITED in (limit, highest):
        return highest if limit == UNLIMITED else limit
    return min(limit, highest)
