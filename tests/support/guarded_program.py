"""A program under the guardian of the worker, with the gate's own user: with a user namespace, or as in a container."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ratiba_action.systems.launch import worker_folder

# The action's container allows none: Docker's profile refuses the call.
_WITHOUT_NAMESPACES = """
import os, sys
sys.path.insert(0, sys.argv.pop(1))
from ratiba_action.worker import kernel, seccomp
kernel.refuse_new_privileges()
unshare = seccomp.REFUSED["unshare"][list(seccomp.ARCHITECTURES).index(seccomp.machine())]
refusing = [(seccomp.LOAD, 0, 0, 0), (seccomp.JUMP_EQUAL, 0, 1, unshare), (seccomp.RETURN, 0, 0, seccomp.refuse())]
assert seccomp.install([*refusing, (seccomp.RETURN, 0, 0, seccomp.ALLOW)], listen=False) is not None
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
# Each attempt is an expression; what it gives or raises is printed as one line of JSON.
_ATTEMPTS = """
import json, sys
from attempts import *
found = {}
for name, expression in json.load(open(sys.argv[1])).items():
    try:
        found[name] = eval(expression)
    except OSError as problem:
        found[name] = errno.errorcode.get(problem.errno, str(problem))
    except Exception as problem:
        found[name] = repr(problem)
print("FOUND" + json.dumps(found, default=str))
"""


class Guarded:
    """Folders as an arm has them below a run's folder, in which the attempts of a test run.

    Args:
        top: an empty folder.
        namespaces: user namespaces are allowed.
    """

    def __init__(self, top: Path, *, namespaces: bool) -> None:
        self.top = top
        self.own = top / "ratiba-run-one" / "worker"
        self._namespaces = namespaces
        for name in ("copy", "home", "tmp"):
            (self.own / name).mkdir(parents=True)
        self.secret = top / "ratiba-run-one" / "secret"
        self.secret.write_text("of the gate")
        self.listed = top / "ratiba-run-one" / "base"
        self.listed.mkdir()
        self.read_only = top / "read-only"
        self.read_only.mkdir()
        (self.read_only / "file").write_text("x")

    def attempt(self, module: Path, expressions: dict[str, str]) -> dict[str, Any]:
        """What comes of each expression: its value, or the name of its error number.

        Args:
            module: what they may use, copied to the program's folder as ``attempts.py``.
            expressions: by name.
        """
        copy = self.own / "copy"
        shutil.rmtree(copy)
        copy.mkdir()
        (copy / "attempts.py").write_text(module.read_text())
        (copy / "expressions.json").write_text(json.dumps(expressions))
        with _outsider() as (outside, memory):
            code, printed = self.run(
                [sys.executable, "-c", _ATTEMPTS, "expressions.json"],
                {
                    "SECRET": self.secret,
                    "BASE": self.listed,
                    "READ_ONLY": self.read_only,
                    "OUTSIDE": outside,
                    "MEMORY": memory,
                },
            )
        assert code == 0, printed
        found: dict[str, Any] = json.loads(printed.rpartition("FOUND")[2])
        return found

    def run(self, argv: list[str], environment: dict[str, object]) -> tuple[int, str]:
        """The exit code and the output of a command."""
        order = {
            "argv": argv,
            "environment": {
                "PATH": os.environ["PATH"],
                "HOME": str(self.own / "home"),
                "TMPDIR": str(self.own / "tmp"),
                **{name: str(value) for name, value in environment.items()},
            },
            "cwd": str(self.own / "copy"),
            "folder": str(self.own),
            "uid": None,
            "gid": None,
            "descriptors": [],
            "private": [str(self.top / "ratiba-run-*")],
            "read_only": [str(self.read_only)],
            "shared": [],
            "hide_names": True,
            "sockets": True,
        }
        guardian = ["-I", "-S", "-B", str(worker_folder() / "start.py"), "guardian"]
        wrapped = ["-I", "-S", "-B", "-c", _WITHOUT_NAMESPACES, str(worker_folder().parents[1]), *guardian]
        process = subprocess.Popen(
            [sys.executable, *(guardian if self._namespaces else wrapped)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={"LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )
        # Its standard input stays open: the guardian ends the command when the gate lets go of it.
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(order).encode("ascii") + b"\n")
            process.stdin.flush()
            printed = process.stdout.read()
            return process.wait(60), printed.decode(errors="replace")


@contextmanager
def _outsider() -> Iterator[tuple[int, str]]:
    """A process of the same user, outside, as the database or the base, and the path of memory that it has open."""
    memory = os.memfd_create("of somebody else")
    try:
        with subprocess.Popen(["sleep", "600"], pass_fds=[memory]) as process:
            yield process.pid, f"/proc/{process.pid}/fd/{memory}"
            process.kill()
    finally:
        os.close(memory)
