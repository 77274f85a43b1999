"""What keeps untrusted code from the gate on this machine, and what a report says where a layer is missing."""

import ctypes
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.note import MachineNote
from ratiba_action.model.plan import BASE
from ratiba_action.util.installation import page
from ratiba_action.worker import seccomp

ROOMS = Path("/sandbox")
"""Where the action's container has a file system in memory for each arm, of limited size and number of files."""

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
    warning = MachineNote(
        "The system runs as the gate's own user on a kernel without Landlock: the files and processes of an embedded "
        "database, and the repository's own rules and metrics, are not closed to it.",
        "Use Linux 5.19 or newer.",
    )
    return (warning,)


def judging_notes(
    *, same_user: bool, landlock: bool, missing: seccomp.MissingFilter | None, root: bool = False
) -> tuple[MachineNote, ...]:
    """What the reader of a report should know about how far DeepEval is from the rest of the machine.

    Args:
        same_user: whether it runs as the gate's own user.
        landlock: whether the kernel has it.
        missing: what the machine has not of the filter of system calls.
        root: whether the gate is root.
    """
    notes = [_judged_as_root()] if same_user and root else []
    reached = ["files and processes of the gate's user"] if same_user and not landlock else []
    reached += ["the machine's network"] if missing is seccomp.MissingFilter.FILTER or not seccomp.machine() else []
    if reached:
        note = MachineNote(
            "DeepEval runs in a process of its own, which is given no key. This machine lacks a part of its sandbox, "
            f"so that it can reach {' and '.join(reached)}.",
            "Use Linux 5.19 or newer on x86_64 or arm64.",
        )
        notes.append(note)
    return tuple(notes)


def _judged_as_root() -> MachineNote:
    return MachineNote(
        "DeepEval runs in a process of its own, which is given no key, but as the gate's own user, without "
        f"capabilities, since another user cannot run {sys.executable!r}. Files that only root may read are not hidden "
        "from it.",
        "Run the gate as an ordinary user.",
    )


def in_container(environment: Mapping[str, str]) -> bool:
    """Whether the gate runs in its own image."""
    return bool(environment.get("RATIBA_CONTAINER"))


def room(arm: str, scratch: Path, rooms: Path = ROOMS) -> Path:
    """Where an arm's untrusted code works: in the arm's own file system where there is one, else in the run's folder.

    Args:
        arm: its name; a variant has the change's room.
        rooms: folder of the arms' file systems.
    """
    own = rooms / ("base" if arm == BASE else "head")
    return own if own.is_mount() else scratch


def memory_of_container(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Folders of the gate's container that are kept in memory, of which the database and the run's folder need room."""
    if not in_container(environment):
        return ()
    folders = {tempfile.gettempdir(), environment.get("HOME", "")} - {"", "/"}
    return tuple(sorted(str(Path(folder).resolve()) for folder in folders))


def missing_layers(
    environment: Mapping[str, str], folder: Path, missing_filter: seccomp.MissingFilter | None
) -> tuple[str, ...]:
    """What the reader of a report should know about layers of the sandbox that this machine does not have.

    Args:
        folder: that the untrusted code works in.
        missing_filter: what the machine has not of the filter of system calls.
    """
    notes = []
    if missing_filter is not None:
        notes.append(_WITHOUT_FILTER[missing_filter])
    if in_container(environment) and not folder.is_relative_to(ROOMS):
        notes.append(_without_room())
    return tuple(notes)


_CONSEQUENCE = "What it breaks in this way makes the run incomplete, not passed."
_WITHOUT_FILTER = {
    seccomp.MissingFilter.FILTER: MachineNote(
        "The system runs without a filter of system calls, which this machine or kernel does not have: it can change "
        f"modes and times of files and limits of processes that belong to its user. {_CONSEQUENCE}",
        "Use Linux 5.0 or newer on x86_64 or arm64.",
    ),
    seccomp.MissingFilter.LISTENER: MachineNote(
        "The system can change modes and times of files that belong to its user, since another supervisor of system "
        f"calls surrounds the gate. {_CONSEQUENCE}",
        "Run the gate outside it, or start it as root, so that the system gets a user of its own.",
    ),
    seccomp.MissingFilter.MEMORY: MachineNote(
        "The system can change modes and times of files that belong to its user, since 'kernel.yama.ptrace_scope' "
        f"keeps the gate from checking such calls. {_CONSEQUENCE}",
        "Set it to 0 or 1, or start the gate as root, so that the system gets a user of its own.",
    ),
}


def _without_room() -> MachineNote:
    return MachineNote(
        "Gate, database and system share the container's memory file systems: a system that fills them makes the run "
        "incomplete.",
        f"Add the two '--tmpfs /sandbox/…' options to 'docker run', as the action does: {page('container')}",
    )
