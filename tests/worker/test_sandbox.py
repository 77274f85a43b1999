"""What untrusted code of the gate's own user is refused, and what an ordinary system does all the same."""

import os
import resource
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.worker import landlock, limits, seccomp
from tests.support.guarded_program import Guarded

if not landlock.version() or seccomp.missing(same_user=True):
    pytest.skip("needs Linux with Landlock and a filter of system calls", allow_module_level=True)

MODULE = Path(__file__).with_name("attempted_calls.py")
X86 = os.uname().machine == "x86_64"

# What a process can do to others of its user, and to their files, where neither Landlock nor the kernel's own rules
# refuse it.
REFUSED: dict[str, tuple[str, Any]] = {
    "the mode of a folder above": ("os.chmod(os.path.dirname(SECRET), 0o500)", "EPERM"),
    "the mode of the base's folder": ("os.chmod(BASE, 0)", "EPERM"),
    "the mode of a private file": ("os.chmod(SECRET, 0)", "EPERM"),
    "by a link": ("os.chmod('link', 0)", "EPERM"),
    "by a relative path": ("os.chmod('../../secret', 0)", "EPERM"),
    "by a folder's descriptor": ("os.chmod('secret', 0, dir_fd=os.open(os.path.dirname(SECRET), os.O_PATH))", "EPERM"),
    "by /proc": ("os.chmod(f'/proc/self/fd/{os.open(SECRET, os.O_PATH)}', 0)", "EPERM"),
    "by /proc and the current folder": ("os.chmod('/proc/self/cwd/../../secret', 0)", "EPERM"),
    "by a link to /proc": ("(os.symlink('/proc/self/root' + SECRET, 'deep'), os.chmod('deep', 0))", "EPERM"),
    "by a hard link": ("os.link(SECRET, 'hard')", "EXDEV"),
    "by a read-only descriptor": ("os.fchmod(os.open(READ_ONLY + '/file', os.O_RDONLY), 0)", "EPERM"),
    "by fchmodat2": ("call(452, -100, SECRET.encode(), 0, 0)", "EPERM"),
    "by an empty path": ("call(452, os.open(SECRET, os.O_PATH), b'', 0, 0x1000)", "EPERM"),
    "by a shell": ("shell(f'chmod 0 {SECRET} 2>/dev/null')", "1: "),
    "a mode in a read-only folder": ("os.chmod(READ_ONLY + '/file', 0)", "EPERM"),
    "the owner": ("os.chown(SECRET, -1, os.getgid())", "EPERM"),
    "the times": ("os.utime(SECRET, (1, 1))", "EPERM"),
    "the time of a link outside": ("os.utime(BASE, (1, 1), follow_symlinks=False)", "EPERM"),
    "to cut a file short": ("os.truncate(SECRET, 0)", "EPERM"),
    "extended attributes": ("os.setxattr('own', 'user.x', b'1')", "ENOTSUP"),
    "flags of a file": ("controlled(0x40086602, READ_ONLY + '/file')", "EPERM"),
    "a file that can only be read": ("controlled(0x40806685, READ_ONLY + '/file')", "EPERM"),
    "the encryption of a folder": ("controlled(0x800C6613, READ_ONLY)", "EPERM"),
    "the version of a file": ("controlled(0x40087602, READ_ONLY + '/file')", "EPERM"),
    "a subvolume": ("controlled(0x5000940F, READ_ONLY)", "EPERM"),
    "the mode of a pipe": ("os.fchmod(os.pipe()[0], 0)", "EPERM"),
    "the mode of memory by a path": ("os.chmod(f\"/proc/self/fd/{os.memfd_create('m')}\", 0)", "EPERM"),
    "the mode of memory of another process": ("os.chmod(MEMORY, 0)", "EACCES"),
    "a lease": ("leased()", "EPERM"),
    "to list a folder above": ("os.listdir(os.path.dirname(SECRET))", "EACCES"),
    "to list the base's folder": ("os.listdir(BASE)", "EACCES"),
    "the limits of a process": ("resource.prlimit(OUTSIDE, resource.RLIMIT_STACK, (1, 1))", "EPERM"),
    "the limits of its guardian": ("resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (1, 1))", "EPERM"),
    "the limits of the first process": ("resource.prlimit(1, resource.RLIMIT_STACK, (1, 1))", "EPERM"),
    "the affinity of a process": ("os.sched_setaffinity(OUTSIDE, [0])", "EPERM"),
    "the scheduling of a process": ("os.sched_setscheduler(OUTSIDE, os.SCHED_IDLE, os.sched_param(0))", "EPERM"),
    "the priority of a process": ("os.setpriority(os.PRIO_PROCESS, OUTSIDE, 19)", "EPERM"),
    "the priority of a group": ("os.setpriority(os.PRIO_PGRP, os.getpgid(OUTSIDE), 19)", "EPERM"),
    "the priority of its user": ("os.setpriority(os.PRIO_USER, 0, 19)", "EPERM"),
    "the input and output priority": ("call(number(251, 30), 1, OUTSIDE, 3 << 13)", "EPERM"),
    "which process is ended first": ("open(f'/proc/{OUTSIDE}/oom_score_adj', 'w')", "EACCES"),
    "to be ended later": ("open('/proc/self/oom_score_adj', 'w')", "EACCES"),
    "a signal to every process": ("os.kill(-1, 0)", "EPERM"),
    "a signal to its guardian": ("os.kill(os.getppid(), 0)", "EPERM"),
    "a signal to the first process": ("os.kill(1, 0)", "EPERM"),
    "a signal by input": ("fcntl.fcntl(0, fcntl.F_SETOWN, OUTSIDE)", "EPERM"),
    "to trace": ("call(number(101, 117), 16, OUTSIDE, 0, 0)", "EPERM"),
    "to read memory": ("call(number(310, 270), OUTSIDE, 0, 0, 0, 0, 0)", "EPERM"),
    "to write memory": ("call(number(311, 271), OUTSIDE, 0, 0, 0, 0, 0)", "EPERM"),
    "to take a descriptor": ("call(438, os.pidfd_open(OUTSIDE), 0, 0)", "EPERM"),
    "to compare processes": ("call(number(312, 272), OUTSIDE, OUTSIDE, 0, 0, 0)", "EPERM"),
    "to move pages": ("call(number(279, 239), OUTSIDE, 0, 0, 0, 0, 0)", "EPERM"),
    "to measure a process": ("call(number(298, 241), bytes(128), OUTSIDE, -1, -1, 0)", "EPERM"),
    "a ring of calls": ("with_ring()", "EPERM"),
    "a program in the kernel": ("call(number(321, 280), 0, bytes(72), 72)", "EPERM"),
    "to answer page faults": ("call(number(323, 282), 1)", "EPERM"),
    "keys": ("call(number(250, 219), 0, -3, 0)", "EPERM"),
    "a namespace": ("call(number(272, 97), 0x10000000)", "EPERM"),
    "a process in a namespace": ("call(number(56, 220), 0x10000000 | 17, 0, 0, 0, 0)", "EPERM"),
    "a process whose flags are in memory": ("call(435, bytes(88), 88)", "ENOSYS"),
    "to mount": ("call(number(165, 40), b'none', b'home', b'tmpfs', 0, 0)", "EPERM"),
    "to mount in the new way": ("call(430, b'tmpfs', 0)", "EPERM"),
    "to open by a handle": ("call(number(304, 265), -100, bytes(8), 0)", "EPERM"),
    "to watch all files": ("call(number(300, 262), 0, 0)", "EPERM"),
    "to judge calls itself": ("call(number(317, 277), 1, 8, bytes(16))", "EPERM"),
}
if X86:
    REFUSED["a call as 32-bit programs make it"] = ("by_32_bit_entry()", -signal.SIGSYS)
    REFUSED["a call of x32"] = ("call(0x40000000 + 39)", "ENOSYS")

ALLOWED: dict[str, tuple[str, Any]] = {
    "a mode": ("changed(lambda: os.chmod('own', 0o640))", "0o640"),
    "a mode by a descriptor": ("changed(lambda: os.fchmod(os.open('own', os.O_RDONLY), 0o600))", "0o600"),
    "a mode below a folder": ("changed(lambda: os.chmod('own', 0o644, dir_fd=os.open('.', os.O_RDONLY)))", "0o644"),
    "a mode by fchmodat2": ("changed(lambda: call(452, -100, b'own', 0o610, 0))", "0o610"),
    "a mode by /proc": ("changed(lambda: os.chmod(f'/proc/self/fd/{os.open(\"own\", os.O_RDONLY)}', 0o600))", "0o600"),
    "a mode of no file": ("os.chmod('absent', 0)", "ENOENT"),
    "a mode of no descriptor": ("os.fchmod(999, 0)", "EBADF"),
    "a mode at no address": ("call(number(268, 53), -100, 4096, 0)", "EFAULT"),
    "a path that is too long": ("os.chmod('x' * 5000, 0)", "ENAMETOOLONG"),
    "a mode of a file without a name": ("unnamed()", None),
    "a mode of memory": ("os.fchmod(os.memfd_create('m'), 0o600)", None),
    "flags that are read": ("refused(lambda: controlled(0x80086601))", False),
    "times": ("changed(lambda: os.utime('own', (1, 2)), lambda: os.stat('own').st_mtime)", 2.0),
    "times to the nanosecond": (
        "changed(lambda: os.utime('own', ns=(5, 1_000_000_007)), lambda: os.stat('own').st_mtime_ns)",
        1_000_000_007,
    ),
    "times of now": ("changed(lambda: os.utime('own'), lambda: os.stat('own').st_mtime > 1e9)", True),
    "times by a descriptor": (
        "changed(lambda: os.utime(os.open('own', os.O_RDONLY), (3, 4)), lambda: os.stat('own').st_mtime)",
        4.0,
    ),
    "times of a link": (
        "(os.symlink('own', 'l'), os.utime('l', (5, 6), follow_symlinks=False), os.lstat('l').st_mtime)[2]",
        6.0,
    ),
    "its own group": ("os.chown('own', -1, os.getgid())", None),
    "its own owner, of a link": ("os.lchown('l', os.getuid(), -1)", None),
    "to cut a file short": ("changed(lambda: os.truncate('own', 0), lambda: os.path.getsize('own'))", 0),
    "shutil.copy2": ("shutil.copy2('own', 'copied')", "copied"),
    "shutil.copytree": ("(os.makedirs('d/e'), shutil.copytree('d', 'd2'))[1]", "d2"),
    "tempfile": ("tempfile.TemporaryDirectory().cleanup()", None),
    "sqlite": ("database()", 7),
    "subprocess": ("shell('echo hi')", "hi"),
    "cp, install, touch, mkdir": (
        "shell('cp -p own c && install -m 711 own i && mkdir -m 755 m && touch -d @9 t && stat -c %a i')",
        "711",
    ),
    "tar": ("unpacked()", "604 1000000000"),
    "asyncio": ("by_asyncio()", "hi"),
    "multiprocessing": ("by_pool()", [1, 2]),
    "a lock between processes": ("multiprocessing.Lock().acquire()", True),
    "memory of its own": ("mapped()", 1),
    "a signal to itself": ("signal.raise_signal(signal.SIGCHLD)", None),
    "a signal to a group of its own": ("ended(9)", -9),
    "a process's handle": ("os.pidfd_open(os.getpid()) > 0", True),
    "its own limits": ("resource.setrlimit(resource.RLIMIT_NPROC, resource.getrlimit(resource.RLIMIT_NPROC))", None),
    "its own limits by number": ("len(resource.prlimit(os.getpid(), resource.RLIMIT_CPU))", 2),
    "its own priority": ("os.setpriority(os.PRIO_PROCESS, os.getpid(), 2)", None),
    "a thread's priority": ("as_a_thread()", None),
    "its own affinity": ("os.sched_setaffinity(0, os.sched_getaffinity(0))", None),
    "Alembic": ("migrated()", "True"),
    "pip": ("installed()", "small"),
}
if shutil.which("git"):
    ALLOWED["git"] = ("shell('git init -q r && cd r && echo x >f && git add f && git ls-files')", "f")
if shutil.which("node"):
    ALLOWED["node"] = ("with_node()", "2000")


@pytest.fixture(scope="module", params=[True, False], ids=["with a namespace", "as in a container"])
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Guarded:
    return Guarded(tmp_path_factory.mktemp("guarded"), namespaces=request.param)


@pytest.fixture(scope="module")
def refused(guarded: Guarded) -> dict[str, Any]:
    return guarded.attempt(MODULE, {name: expression for name, (expression, _) in REFUSED.items()})


@pytest.fixture(scope="module")
def allowed(guarded: Guarded) -> dict[str, Any]:
    return guarded.attempt(MODULE, {name: expression for name, (expression, _) in ALLOWED.items()})


@pytest.mark.parametrize("name", REFUSED)
def test_what_reaches_another_process_or_its_files_is_refused(refused: dict[str, Any], name: str) -> None:
    assert refused[name] == REFUSED[name][1]


@pytest.mark.parametrize("name", ALLOWED)
def test_what_an_ordinary_system_does_works(allowed: dict[str, Any], name: str) -> None:
    assert allowed[name] == ALLOWED[name][1]


def test_a_path_that_changes_meanwhile_changes_no_private_file(guarded: Guarded) -> None:
    guarded.secret.chmod(0o640)
    assert guarded.attempt(MODULE, {"raced": "by_threads()"}) == {"raced": "0o640"}


def test_limits_are_the_guardians_whatever_the_gate_has(guarded: Guarded) -> None:
    """A gate whose limits were changed hands on none of them."""
    found = guarded.attempt(MODULE, {"limits": "limits()"})["limits"]
    for name, soft_and_hard in found.items():
        wanted, highest = limits.LIMITS[f"RLIMIT_{name}"], resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
        lowered = tuple(limit if highest == resource.RLIM_INFINITY else min(limit, highest) for limit in wanted)
        assert tuple(soft_and_hard) == lowered, name
