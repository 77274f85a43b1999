"""One conversation's keeper: runs it in a child and ends all that the child started."""

from __future__ import annotations

import json
import os
import signal
import socket
import traceback
from typing import TYPE_CHECKING, NoReturn

from . import conversation, kernel, landlock, processes

if TYPE_CHECKING:
    from .reads import OpenedPaths


def supervise(parent: int, channel: int, output: int, leash: int, reads: OpenedPaths | None = None) -> NoReturn:
    """Run one conversation, end every process that it left, say how it ended, and exit.

    Args:
        parent: process id of the fork server.
        channel: socket that requests and answers cross.
        output: where the conversation's standard output and error go.
        leash: socket whose end means "end the conversation"; the exit code is written to it.
        reads: notes which files the conversation opens; None where nobody does.
    """
    os.setsid()
    kernel.adopt_orphans()
    kernel.die_with_parent(parent)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        _converse(supervisor, channel, leash, reads)
    os.close(channel)
    _leave_standard_output()
    code = processes.wait_for(pid, leash).code
    processes.end_children()
    line = json.dumps({"exit": code}).encode("ascii") + b"\n"
    with socket.socket(fileno=leash) as connection:
        try:
            connection.sendall(line)
        except OSError:  # the gate is gone, and so is the reader
            os._exit(1)
    # A process that keeps this one from looking through /proc must not outlive it: the fork server looks then.
    os._exit(1 if processes.has_children() else 0)


def _leave_standard_output() -> None:
    """Let the reader of the output see its end as soon as the conversation's processes are gone."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _converse(supervisor: int, channel: int, leash: int, reads: OpenedPaths | None) -> NoReturn:
    code = 1
    try:
        os.close(leash)
        os.setsid()
        kernel.die_with_parent(supervisor)
        landlock.part_from_siblings()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with socket.socket(fileno=channel) as connection:
            conversation.serve(connection, reads)
        code = 0
    except BaseException:  # noqa: BLE001 - the process ends here, whatever it was
        traceback.print_exc()
    finally:
        os._exit(code)
