"""What a hostile system does so that *another* party fails. Copied into a repository beside its adapter.

``at`` is called by the adapter at each step of a run. Standard library only. It harms the processes of its own gate and
the folders that it is told of, never the machine: what these functions cannot reach in a run, no sandbox is there for.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import random
import resource
import signal
import socket
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ORDERS = Path(__file__).with_name("misdeeds.json")
"""``step``, ``deeds``, ``seed``, ``places`` to harm, ``maximum`` (a scale), and whether every process is fair game."""
SIGNALS = [signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGXCPU, signal.SIGALRM, signal.SIGIO]
LIMITS = [getattr(resource, f"RLIMIT_{name}") for name in (
    "STACK", "FSIZE", "NOFILE", "AS", "DATA", "NPROC", "CPU", "MEMLOCK", "CORE", "RSS")]  # fmt: skip
SECONDS = 20.0
kept: list[Any] = []
libc = ctypes.CDLL(None, use_errno=True)


def at(step: str) -> None:
    """Do what was ordered for this step of the run."""
    orders = json.loads(ORDERS.read_text()) if ORDERS.exists() else {}
    if orders.get("step") != step:
        return
    if step == "daemon":
        _leave_behind(orders)
    elif step == "later":
        threading.Timer(0.05, do, (orders,)).start()
    else:
        do(orders)


def do(orders: dict[str, Any]) -> None:
    """Every deed of the orders, whatever becomes of the others."""
    for name in orders["deeds"]:
        with contextlib.suppress(Exception):
            DEEDS[name](random.Random(orders["seed"]), orders)


def _leave_behind(orders: dict[str, Any]) -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            ends = time.monotonic() + SECONDS
            while time.monotonic() < ends:
                do(orders)
                kept.clear()
                time.sleep(0.05)
        os._exit(0)


def neighbours(orders: dict[str, Any]) -> list[int]:
    """The gate and all that it started, less this process; in the container every process."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    if "pids" in orders:
        return list(orders["pids"])
    if orders.get("all"):
        return [pid for pid in pids if pid != os.getpid()]
    parents = {pid: _stat(pid) for pid in pids}
    gate = os.getpid()
    while gate > 1:
        parent, group = parents.get(gate, (0, 0))
        if gate == group and b"gate_fork_server" in _read(f"/proc/{gate}/cmdline"):
            return [pid for pid in pids if pid != os.getpid() and _is_below(pid, gate, parents)]
        gate = parent
    return []


def _is_below(pid: int, top: int, parents: dict[int, tuple[int, int]]) -> bool:
    while pid > 1 and pid != top:
        pid = parents.get(pid, (0, 0))[0]
    return pid == top


def _stat(pid: int) -> tuple[int, int]:
    """Parent and process group."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b") ")[2].split()
    return (int(fields[1]), int(fields[2])) if len(fields) > 2 else (0, 0)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _paths(orders: dict[str, Any], maximum: int = 400) -> Iterator[str]:
    """Folders first, then what is in them; no link is followed."""
    places = [place for place in orders["places"] if not os.path.islink(place)]
    yield from places
    for place in places:
        for parent, folders, files in os.walk(place):
            for name in [*folders, *files]:
                path = f"{parent}/{name}"
                if maximum > 0 and not os.path.islink(path):
                    maximum -= 1
                    yield path


def modes(rng: random.Random, orders: dict[str, Any]) -> None:
    mode = rng.choice((0, 0o500, 0o555, 0o400, 0o300, 0o777))
    for path in list(_paths(orders))[:: rng.choice((1, 1, -1))]:
        with contextlib.suppress(OSError):
            os.chmod(path, mode)


def owners_and_times(rng: random.Random, orders: dict[str, Any]) -> None:
    for path in _paths(orders):
        _try(
            partial(os.utime, path, (0, rng.choice((0, 2**33)))),
            partial(os.chown, path, -1, rng.choice((os.getgid(), *os.getgroups()))),
            partial(os.setxattr, path, "user.ratiba", b"x" * rng.choice((1, 60_000))),
            partial(os.setxattr, path, "system.posix_acl_access", _NOBODY_READS),
        )


def _try(*attempts: Callable[[], object]) -> None:
    for attempt in attempts:
        with contextlib.suppress(OSError):
            attempt()


_NOBODY_READS = b"\x02\0\0\0" + b"".join(tag + b"\0\0\0\xff\xff\xff\xff" for tag in (b"\x01\0", b"\x04\0", b"\x20\0"))


def limits(rng: random.Random, orders: dict[str, Any]) -> None:
    chosen, soft_only = rng.sample(LIMITS, rng.choice((1, 1, 3, len(LIMITS)))), rng.random() < 0.5
    value = rng.choice((0, 1, 16, 2_500_000, 50_000_000))
    for pid in neighbours(orders):
        for which in chosen:
            with contextlib.suppress(OSError, ValueError):
                hard = resource.prlimit(pid, which)[1]
                minimum = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.prlimit(pid, which, (minimum, hard if soft_only else minimum))


def own_limits(rng: random.Random, orders: dict[str, Any]) -> None:
    """What the next conversations inherit, should they come from this process."""
    del orders
    which = rng.choice(LIMITS)
    resource.setrlimit(which, (16, resource.getrlimit(which)[1]))


def priorities(rng: random.Random, orders: dict[str, Any]) -> None:
    for pid in neighbours(orders):
        tries: list[Callable[[], object]] = [
            partial(os.setpriority, os.PRIO_PROCESS, pid, 19),
            partial(os.sched_setaffinity, pid, {min(os.sched_getaffinity(0))}),
            partial(os.sched_setscheduler, pid, os.SCHED_IDLE, os.sched_param(0)),
            partial(libc.syscall, 251, 1, pid, 3 << 13),  # ioprio_set of x86-64, idle class
            partial(Path(f"/proc/{pid}/oom_score_adj").write_text, "1000"),
            partial(Path(f"/proc/{pid}/timerslack_ns").write_text, "4000000000"),
            partial(Path(f"/proc/{pid}/coredump_filter").write_text, "ff"),
            partial(Path(f"/proc/{pid}/autogroup").write_text, "19"),
        ]
        _try(*rng.sample(tries, len(tries)))
    if orders.get("all"):
        os.setpriority(os.PRIO_USER, os.getuid(), 19)


def signals(rng: random.Random, orders: dict[str, Any]) -> None:
    number = rng.choice(SIGNALS)
    for pid in neighbours(orders):
        with contextlib.suppress(OSError):
            os.kill(pid, number)
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(os.pidfd_open(pid), number)
    if orders.get("all"):
        os.kill(-1, number)


def signals_by_files(rng: random.Random, orders: dict[str, Any]) -> None:
    """A file that becomes readable sends a signal to its owner, whoever that is said to be."""
    for pid in neighbours(orders):
        with contextlib.suppress(OSError):
            left, right = socket.socketpair()
            fcntl.fcntl(left, fcntl.F_SETOWN, pid)
            fcntl.fcntl(left, 10, rng.choice(SIGNALS))  # F_SETSIG
            fcntl.fcntl(left, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            right.send(b"x")
            kept.append((left, right))


def traces(rng: random.Random, orders: dict[str, Any]) -> None:
    """Stop others as a debugger does, read their descriptors, write to their memories."""
    del rng
    for pid in neighbours(orders):
        libc.ptrace(16, pid, None, None)  # PTRACE_ATTACH
        with contextlib.suppress(OSError):
            kept.append(os.open(f"/proc/{pid}/mem", os.O_RDWR))
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            for number in range(3, 20):
                libc.syscall(438, handle, number, 0)  # pidfd_getfd


def disk(rng: random.Random, orders: dict[str, Any]) -> None:
    block, left = b"x" * (1 << 20), 64 * orders["most"]
    for place in [*orders["places"], os.environ.get("TMPDIR", "/tmp"), ".", "/var/tmp", "/dev/shm"]:
        with contextlib.suppress(OSError):
            path = f"{place}/filler-{rng.random()}"
            number = os.open(path, os.O_CREAT | os.O_WRONLY)
            kept.append(number)
            os.unlink(path)  # what is open keeps its blocks, and leaves no file behind
            while left > 0:
                os.write(number, block)
                left -= 1


def inodes(rng: random.Random, orders: dict[str, Any]) -> None:
    for place in [os.environ.get("TMPDIR", "/tmp"), *orders["places"]]:
        with contextlib.suppress(OSError):
            top = f"{place}/many-{rng.random()}"
            os.mkdir(top)
            for number in range(2_000 * orders["most"]):
                os.close(os.open(f"{top}/{number}", os.O_CREAT))


def memory(rng: random.Random, orders: dict[str, Any]) -> None:
    for _ in range(2 * orders["most"]):
        kept.append(bytearray(rng.randbytes(1024) * (32 << 10)))
    number = os.memfd_create("ratiba")
    kept.append(number)
    os.write(number, b"x" * (16 << 20))


def descriptors(rng: random.Random, orders: dict[str, Any]) -> None:
    del rng, orders
    with contextlib.suppress(OSError):
        while True:
            kept.append(os.open("/dev/null", os.O_RDONLY))


def processes(rng: random.Random, orders: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        for _ in range(rng.choice((20, 60)) * orders["most"]):
            if os.fork() == 0:
                time.sleep(SECONDS)
                os._exit(0)


def processor(rng: random.Random, orders: dict[str, Any]) -> None:
    del orders
    for _ in range(4):
        if os.fork() == 0:
            ends = time.monotonic() + rng.choice((0.5, 2.0))
            while time.monotonic() < ends:
                pass
            os._exit(0)


def hang(rng: random.Random, orders: dict[str, Any]) -> None:
    """Use up the run's time, so that none is left for the base."""
    time.sleep(max(0.0, orders.get("deadline", 1.0) - rng.choice((0.2, 1.0, 3.0))))


def clock(rng: random.Random, orders: dict[str, Any]) -> None:
    del orders
    with contextlib.suppress(OSError):
        time.clock_settime(time.CLOCK_REALTIME, 0.0)
    os.environ.update({"TZ": "Pacific/Kiritimati", "FAKETIME": "-20y", "LD_PRELOAD": "libfaketime.so.1"})
    time.tzset()
    for name in ("time", "monotonic", "perf_counter"):
        setattr(time, name, lambda: rng.choice((0.0, 1e12)))


def sockets(rng: random.Random, orders: dict[str, Any]) -> None:
    for _ in range(50 * orders["most"]):
        with contextlib.suppress(OSError):
            listener = socket.create_server(("127.0.0.1", 0))
            kept.append(listener)
    address = os.environ.get("OPENAI_BASE_URL", "").partition("//")[2].partition("/")[0].rpartition(":")
    for _ in range(100):
        with contextlib.suppress(OSError, ValueError):
            link = socket.create_connection((address[0], int(address[2])), timeout=0.2)
            link.send(rng.choice((b"", b"POST ", b"\0" * 1000)))
            kept.append(link)
    for line in _read("/proc/net/unix").splitlines()[1:]:
        name = line.split()[-1]
        if b"ratiba" in name and b"ratiba-forks" not in name:  # the campaign's own
            with contextlib.suppress(OSError):
                client = socket.socket(socket.AF_UNIX)
                client.settimeout(0.2)
                client.connect(b"\0" + name[1:] if name.startswith(b"@") else name)
                kept.append(client)


def shared_memory(rng: random.Random, orders: dict[str, Any]) -> None:
    """Segments of System V that processes of the gate have made; in the container those of PostgreSQL too."""
    del rng
    pids = {*neighbours(orders)}
    for line in _read("/proc/sysvipc/shm").splitlines()[1:]:
        fields = [int(field) for field in line.split()]
        if orders.get("all") or fields[4] in pids:
            libc.shmctl(fields[1], 0, None)  # IPC_RMID
    for name in os.listdir("/dev/shm") if orders.get("all") else ():
        if name.startswith("PostgreSQL."):
            with contextlib.suppress(OSError), open(f"/dev/shm/{name}", "r+b", buffering=0) as file:
                file.write(b"\xff" * 4096)


def locks(rng: random.Random, orders: dict[str, Any]) -> None:
    """Locks and leases on every file that can be opened."""
    for path in _paths(orders):
        with contextlib.suppress(OSError):
            number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            kept.append(number)
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.fcntl(number, 1024, rng.choice((fcntl.F_RDLCK, fcntl.F_WRLCK)))  # F_SETLEASE


def watches(rng: random.Random, orders: dict[str, Any]) -> None:
    """Every inotify instance that the user may have."""
    del rng, orders
    while (number := libc.inotify_init()) >= 0:
        kept.append(number)


def database(rng: random.Random, orders: dict[str, Any]) -> None:
    """Connections, locks and other sessions of the server, with the tenant's own role."""
    import psycopg

    statements = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
        "SELECT pg_advisory_lock(n) FROM generate_series(1, 20000) AS n", "SELECT pg_sleep(20)",
        "LOCK TABLE pg_catalog.pg_class IN ACCESS EXCLUSIVE MODE", "ALTER ROLE CURRENT_USER SET statement_timeout = 1",
        "ALTER ROLE CURRENT_USER CONNECTION LIMIT 0", "CREATE TABLE big AS SELECT repeat('x', 1000) FROM generate_series(1, 20000)",
        "ALTER DATABASE postgres SET default_transaction_read_only = on", "SELECT pg_switch_wal()",
    )  # fmt: skip
    url = orders.get("database") or os.environ.get("DATABASE_URL", "")
    for _ in range(40 * orders["most"]):
        with contextlib.suppress(psycopg.Error):
            connection = psycopg.connect(url, autocommit=True, connect_timeout=2)
            kept.append(connection)
            connection.execute("SET statement_timeout = 500")
            connection.execute(rng.choice(statements))


DEEDS: dict[str, Callable[[random.Random, dict[str, Any]], None]] = {
    function.__name__: function
    for function in (
        modes, owners_and_times, limits, own_limits, priorities, signals, signals_by_files, traces, disk, inodes, memory,
        descriptors, processes, processor, hang, clock, sockets, shared_memory, locks, watches, database,
    )
}  # fmt: skip

if __name__ == "__main__":
    at(sys.argv[1])
