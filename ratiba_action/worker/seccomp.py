"""A filter of system calls for untrusted code: what it could do to other processes and files past Landlock.

Landlock has no hook for modes, owners and times of files, nor for limits, priorities and affinity of processes, and a
worker in the action's container has the gate's own user. The filter is classic BPF (``linux/bpf_common.h``), run by the
kernel on the number and the arguments of every call (``struct seccomp_data`` in ``linux/seccomp.h``). It cannot read
memory, so it can refuse a call, allow it, or hand it to the guardian, which does it instead (``call_server.py``).

Numbers of calls are those of ``arch/x86/entry/syscalls/syscall_64.tbl`` and ``asm-generic/unistd.h``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from . import kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ALLOW, NOTIFY, KILL_PROCESS = 0x7FFF0000, 0x7FC00000, 0x80000000
SECCOMP = {"x86_64": 317, "aarch64": 277}
SET_MODE_FILTER = 1
SPECULATION_ALLOWED, NEW_LISTENER, WAIT_KILLABLE = 1 << 2, 1 << 3, 1 << 5
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""``AUDIT_ARCH_X86_64`` and ``AUDIT_ARCH_AARCH64`` of ``linux/audit.h``."""
X32 = 0x40000000
YAMA, ITS_CHILDREN = "/proc/sys/kernel/yama/ptrace_scope", 1

Numbers = tuple["int | None", "int | None"]

MODES_AND_TIMES: dict[str, Numbers] = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    # Landlock cuts no file short before its third version.
    "truncate": (76, 45),
}  # fmt: skip
"""Calls that change a file without writing to it; the guardian does them where the file may be written to."""

ATTRIBUTES: dict[str, Numbers] = {
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}  # fmt: skip
"""Extended attributes: answered as by a file system that has none, which every program expects."""

OF_A_PROCESS: dict[str, Numbers] = {
    "prlimit64": (302, 261), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274),
}  # fmt: skip
"""Calls whose first argument is a process; 0 is the caller."""

PRIORITY: dict[str, Numbers] = {"setpriority": (141, 140), "ioprio_set": (251, 30)}
"""Their first argument says what the second one names: a process, a process group or a user."""
KINDS = {"setpriority": (0, 1), "ioprio_set": (1, 2)}
"""``PRIO_PROCESS`` and ``PRIO_PGRP``; ``IOPRIO_WHO_PROCESS`` and ``IOPRIO_WHO_PGRP``."""

SIGNALS: dict[str, Numbers] = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}  # fmt: skip

REFUSED: dict[str, Numbers] = {
    # Other processes' memory, descriptors, pages and state.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "move_pages": (279, 239), "migrate_pages": (256, 238), "perf_event_open": (298, 241),
    # A ring does file operations that no filter sees.
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    # Namespaces give capabilities, and mounts other paths to a file.
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "open_tree": (428, 428), "open_tree_attr": (467, 467), "move_mount": (429, 429), "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265), "fanotify_init": (300, 262), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    # The kernel itself.
    "bpf": (321, 280), "userfaultfd": (323, 282), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142), "iopl": (172, None),
    "ioperm": (173, None),
}  # fmt: skip

SOCKET: Numbers = (41, 198)
CLONE: Numbers = (56, 220)
CLONE3: Numbers = (435, 435)
NEW_NAMESPACES = 0x7E020000
"""``CLONE_NEWNS``, ``NEWCGROUP``, ``NEWUTS``, ``NEWIPC``, ``NEWUSER``, ``NEWPID``, ``NEWNET`` of ``linux/sched.h``."""
IOCTL: Numbers = (16, 29)
# FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX, TIOCEXCL, TIOCSETD
REFUSED_IOCTLS = (0x8901, 0x8902, 0x5412, 0x541C, 0x540C, 0x5423)
FILE_SYSTEMS = (0x66, 0x76, 0x58, 0x72, 0x94, 0xF5, 0xBC)
"""Second byte of the numbers that ``ioctl`` has for file systems: ``f`` and ``v`` of many, XFS, FAT, Btrfs, F2FS and
bcachefs. Flags, verity, encryption, versions and subvolumes are changed by a descriptor that is open for reading, past
Landlock."""
# FS_IOC_GETFLAGS, FS_IOC32_GETFLAGS, FS_IOC_FSGETXATTR, FS_IOC_GETVERSION and FS_IOC_FIEMAP only read; FICLONE and
# FICLONERANGE need a descriptor that is open for writing.
ALLOWED_IOCTLS = (0x80086601, 0x80046601, 0x801C581F, 0x80087601, 0xC020660B, 0x40049409, 0x4020940D)
FCNTL: Numbers = (72, 25)
REFUSED_FCNTLS = (8, 15, 1024)
"""``F_SETOWN`` and ``F_SETOWN_EX`` have the kernel signal another process, ``F_SETLEASE`` delays who opens a file."""

Instruction = tuple[int, int, int, int]
LOAD, AND, JUMP_EQUAL, JUMP_NOT_BELOW, JUMP_ANY_BIT, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE = 0, 4


class Policy(NamedTuple):
    """What becomes of the calls that another user's worker may make, since the kernel refuses them where they matter.

    Args:
        files: action for ``MODES_AND_TIMES``; ``ATTRIBUTES`` are refused unless it is ``ALLOW``.
        processes: action for a call that names a process by its number.
        signals_scoped: Landlock keeps signals from processes outside.
        protected: process ids that no signal may name.
        sockets: action for a socket of any kind but a pair; one that is there already stays.
    """

    files: int
    processes: int
    signals_scoped: bool
    protected: tuple[int, ...] = ()
    sockets: int = ALLOW


def refuse(number: int = errno.EPERM) -> int:
    """The action that makes a call fail with this error number."""
    return 0x00050000 | number


def program(machine: str, policy: Policy) -> list[Instruction]:
    """The filter for a machine.

    Args:
        machine: as ``os.uname`` names it, one of ``ARCHITECTURES``.
        policy: for the calls that depend on who the worker is.
    """
    made: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        # 32-bit calls, by another instruction or another program, have numbers of their own.
        *_if_not(ARCHITECTURES[machine], KILL_PROCESS),
        (LOAD, 0, 0, NUMBER),
    ]
    if machine == "x86_64":
        made += [(JUMP_NOT_BELOW, 0, 1, X32), _then(refuse(errno.ENOSYS))]
    for numbers, body in _rules(policy):
        number = numbers[list(ARCHITECTURES).index(machine)]
        if number is not None:
            made += [(JUMP_EQUAL, 0, len(body), number), *body]
    return [*made, _then(ALLOW)]


def _rules(policy: Policy) -> Iterable[tuple[Numbers, list[Instruction]]]:
    """Each call that is not simply allowed, with what follows; every way through that ends with an action."""
    for numbers in REFUSED.values():
        yield numbers, [_then(refuse())]
    if policy.sockets != ALLOW:
        yield SOCKET, [_then(policy.sockets)]
    # Its flags are in memory; the C library then calls clone.
    yield CLONE3, [_then(refuse(errno.ENOSYS))]
    yield CLONE, [_argument(0), (JUMP_ANY_BIT, 0, 1, NEW_NAMESPACES), _then(refuse()), _then(ALLOW)]
    known = (*_each(REFUSED_IOCTLS, refuse()), *_each(ALLOWED_IOCTLS, ALLOW))
    of_file_systems = _each((kind << 8 for kind in FILE_SYSTEMS), refuse())
    yield IOCTL, [_argument(1), *known, (AND, 0, 0, 0xFF00), *of_file_systems, _then(ALLOW)]
    yield FCNTL, [_argument(1), *_each(REFUSED_FCNTLS, refuse()), _then(ALLOW)]
    for calls, action in ((MODES_AND_TIMES, policy.files), (ATTRIBUTES, _attributes(policy.files))):
        for numbers in calls.values() if action != ALLOW else ():
            yield numbers, [_then(action)]
    for numbers in OF_A_PROCESS.values():
        yield numbers, [_argument(0), *_each((0,), ALLOW), _then(policy.processes)]
    for name, numbers in PRIORITY.items():
        process, group = KINDS[name]
        of_process = [_argument(1), *_each((0,), ALLOW), _then(policy.processes)]
        of_group = [_argument(1), *_each((0,), ALLOW), _then(refuse())]
        yield (
            numbers,
            [
                *(_argument(0), (JUMP_EQUAL, 0, len(of_process), process), *of_process),
                *((JUMP_EQUAL, 0, len(of_group), group), *of_group),
                _then(refuse()),
            ],
        )
    for numbers in SIGNALS.values():
        yield numbers, [_argument(0), *_each((_ALL, *policy.protected), refuse()), _then(ALLOW)]
    if not policy.signals_scoped:
        yield PIDFD_SEND_SIGNAL, [_then(refuse())]
    # A newer listener would have the last word on what this one refuses.
    listening = [_argument(1), (JUMP_ANY_BIT, 0, 1, NEW_LISTENER), _then(refuse()), _then(ALLOW)]
    yield (SECCOMP["x86_64"], SECCOMP["aarch64"]), listening


_ALL = 0xFFFFFFFF
"""-1: every process that may be signalled."""
PIDFD_SEND_SIGNAL: Numbers = (424, 424)


def _attributes(files: int) -> int:
    return ALLOW if files == ALLOW else refuse(errno.EOPNOTSUPP)


def _argument(index: int) -> Instruction:
    """Load the lower half of an argument: both machines are little-endian, and each of these arguments is an int."""
    return LOAD, 0, 0, 16 + 8 * index


def _then(action: int) -> Instruction:
    return RETURN, 0, 0, action


def _each(values: Iterable[int], action: int) -> list[Instruction]:
    return [part for value in values for part in ((JUMP_EQUAL, 0, 1, value & 0xFFFFFFFF), _then(action))]


def _if_not(value: int, action: int) -> list[Instruction]:
    return [(JUMP_EQUAL, 1, 0, value), _then(action)]


def machine() -> str:
    """The machine, as ``program`` names it; empty where it has no filter."""
    found = os.uname().machine if sys.platform == "linux" else ""
    return found if found in ARCHITECTURES and sys.maxsize > X32 * 4 else ""


def install(instructions: list[Instruction], *, listen: bool) -> int | None:
    """Put this thread and all that it starts under a filter for good; needs ``no_new_privs``.

    Args:
        instructions: see ``program``.
        listen: make a descriptor on which the calls for ``NOTIFY`` arrive.

    Returns:
        That descriptor, or 0 without ``listen``; None where the kernel refused, and nothing has changed.
    """
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    filtering = struct.pack("@HP", len(instructions), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = NEW_LISTENER if listen else 0
    # Older kernels know fewer flags: the first spares a slower processor, the second a call that a signal repeats.
    for more in (SPECULATION_ALLOWED | (WAIT_KILLABLE if listen else 0), SPECULATION_ALLOWED, 0):
        number = ctypes.c_long(SECCOMP[machine()])
        made = int(libc.syscall(number, ctypes.c_long(SET_MODE_FILTER), ctypes.c_long(wanted | more), filtering))
        if made >= 0 or ctypes.get_errno() != errno.EINVAL:
            break
    return made if made >= 0 else None


class MissingFilter(Enum):
    """Why calls cannot be filtered, or not all of them judged."""

    FILTER = "filter"
    LISTENER = "listener"
    MEMORY = "memory"


def missing(*, same_user: bool) -> MissingFilter | None:
    """What this machine has not of the filter; None where it is whole, and on other systems than Linux.

    It is tried in a thread of its own, as a filter belongs to a thread and ends with it.

    Args:
        same_user: the untrusted code has the gate's own user, so that some of its calls have to be judged.
    """
    if sys.platform != "linux":
        return None
    import threading  # no guardian needs it

    found: list[MissingFilter | None] = [MissingFilter.FILTER]
    thread = threading.Thread(target=lambda: found.append(_try(listen=same_user)))
    if machine():
        thread.start()
        thread.join()
    return found[-1] or (None if not same_user or memory_can_be_read() else MissingFilter.MEMORY)


def _try(*, listen: bool) -> MissingFilter | None:
    kernel.refuse_new_privileges()
    listener = install([_then(ALLOW)], listen=listen)
    if listen and listener is not None:
        os.close(listener)
    if listener is not None:
        return None
    return (
        MissingFilter.LISTENER if listen and install([_then(ALLOW)], listen=False) is not None else MissingFilter.FILTER
    )


def memory_can_be_read() -> bool:
    """Whether a guardian may read the paths that calls point to: Yama may keep it from every other process."""
    try:
        with open(YAMA, encoding="ascii") as file:  # noqa: PTH123 - one small file of /proc
            return int(file.read()) <= ITS_CHILDREN
    except (OSError, ValueError):
        return True


def call_names() -> Mapping[int, str]:
    """Names of the calls that a listener is notified of, by their numbers on this machine."""
    index = list(ARCHITECTURES).index(machine())
    tables = (MODES_AND_TIMES, OF_A_PROCESS, PRIORITY)
    named = ((numbers[index], name) for table in tables for name, numbers in table.items())
    return {number: name for number, name in named if number is not None}
