"""Imports the frameworks once and forks a process for each conversation; runs under the user's interpreter.

It never imports a module of the repository under test. ``main`` is given the number of its control socket and, as
JSON, the modules to preload and the adapter, whose source is read for libraries to import; where it judges, also the
checkout that its folder is a copy of. On the socket it says that
it is ready (one JSON line, with the files and folders whose change would have it import something else); then each
byte that arrives carries three descriptors, of one conversation: its channel, its output and its leash.
"""

from __future__ import annotations

import array  # noqa: F401 - ``socket.recv_fds`` imports it at its first call
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys

from . import imports, isolation, kernel, landlock, processes, supervisor
from .reads import OpenedPaths

DESCRIPTORS = 3
MAX_REPORTED_CHARACTERS = 16_384
_MANY = 12
"""Conversations after which large pages pay: making them takes as long as 15 conversations save."""


def main(arguments: list[str]) -> None:
    """Serve until the control socket ends."""
    control = socket.socket(fileno=int(arguments[0]))
    control.set_inheritable(False)
    if not landlock.version():  # it keeps conversations from this process's memory, and the guardian must read theirs
        kernel.hide_memory()
    kernel.adopt_orphans()
    isolation.enter("".join(arguments[3:4]))
    collecting = gc.get_threshold()
    gc.set_threshold(0)  # nearly all that an import makes stays: looking for garbage takes a fifth of its time
    root = os.getcwd()  # noqa: PTH109 - pathlib costs start-up time
    reads = OpenedPaths()
    reads.install()
    warnings = [*isolation.warnings(root), *preload(json.loads(arguments[1]))]
    preloaded = reads.keep(root)
    imports.import_known(json.loads(arguments[2]), root)
    reads.restore(preloaded)
    # Nothing is imported in this process from here on, so that each conversation lists the folders itself.
    importlib.invalidate_caches()
    gc.collect()
    gc.freeze()
    if not gc.get_threshold()[0]:  # otherwise what was imported has chosen its own
        gc.set_threshold(*collecting)
    greeting = {"ready": True, "python": sys.version.split()[0], "warnings": warnings, "sources": sources()}
    control.sendall(json.dumps(greeting).encode("ascii") + b"\n")
    serve(control, reads)
    os._exit(processes.GATE_GONE)


def preload(modules: list[str]) -> list[str]:
    """Import frameworks, and call what ``module:function`` names; returns a warning for each that could not be."""
    warnings = []
    for module in modules:
        name, _, function = module.partition(":")
        try:
            loaded = importlib.import_module(name)
            if function:
                getattr(loaded, function)()
        except BaseException as problem:  # noqa: BLE001 - a framework may raise anything, SystemExit too
            warnings.append(f"cannot preload {module!r}: {type(problem).__name__}: {problem}"[:500])
    return warnings


def sources() -> list[str] | None:
    """Folders that packages are installed in, and modules that lie elsewhere; None where these are too many to tell."""
    installed = ("site-packages", "dist-packages")
    folders = {path for path in sys.path if os.path.isdir(path)}  # noqa: PTH112 - pathlib costs start-up time
    files = {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())} - {""}
    own = (os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120 - the same
    elsewhere = {path for path in files if not any(name in path for name in installed) and not path.startswith(own)}
    reported = sorted(folders | elsewhere)
    return reported if sum(map(len, reported)) < MAX_REPORTED_CHARACTERS else None


def serve(control: socket.socket, reads: OpenedPaths) -> None:
    """Fork a supervisor for each order, and end what a dead one left behind."""
    wake, waker = socket.socketpair()
    waker.settimeout(0)
    wake.settimeout(0)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    supervisors: set[int] = set()
    orders = 0
    while True:
        readable = select.select([control, wake], [], [])[0]
        if wake in readable:
            with contextlib.suppress(BlockingIOError):
                wake.recv(4096)
            _reap(supervisors)
        if control in readable:
            order, descriptors, _, _ = socket.recv_fds(control, 1, DESCRIPTORS)
            if not order:
                return
            orders += 1
            if orders == _MANY:
                kernel.use_large_pages()
            pid = _fork_supervisor(descriptors, control, (wake, waker), reads)
            if pid:
                supervisors.add(pid)
            for descriptor in descriptors:
                os.close(descriptor)


def _fork_supervisor(
    descriptors: list[int], control: socket.socket, wake: tuple[socket.socket, ...], reads: OpenedPaths
) -> int:
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as problem:
        os.write(descriptors[1], f"cannot fork: {problem}\n".encode())
        return 0
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for inherited in (control, *wake):
            inherited.close()
        channel, output, leash = descriptors
        supervisor.supervise(parent, channel, output, leash, reads)
    return pid


def _reap(supervisors: set[int]) -> None:
    """Take note of supervisors that ended; one that did not end by itself may have left processes of its own."""
    scan = False
    for pid in list(supervisors):
        with contextlib.suppress(ChildProcessError):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                supervisors.discard(pid)
                scan |= status != 0
    if scan:
        processes.end_children(excluded=supervisors)
