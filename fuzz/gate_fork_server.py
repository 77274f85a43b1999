"""The tests' fork server of gates, whose gates fail at operations that a case has chosen.

``FUZZ_FAULT`` is JSON: ``number``, the operation from which on they fail, counted from the start of the gate; ``how``,
the errno; ``most``, how many fail; ``events``, the audit events that are counted (the table of audit events of Python);
``told``, a file that receives which operation failed first, and where.
Modules that are still imported are no operation: what is missing there is missing for an honest run too.
"""

import json
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support import gate_fork_server


def main() -> None:
    """Serve the socket that the command line names."""
    become = gate_fork_server.become

    def become_faulty(request: Mapping[str, Any]) -> None:
        become(request)
        if fault := os.environ.pop("FUZZ_FAULT", ""):
            sys.addaudithook(Fault(json.loads(fault), os.getpid()))

    gate_fork_server.become = become_faulty
    gate_fork_server.serve(sys.argv[1])


class Fault:
    """An audit hook; an exception in it is the operation's.

    Args:
        fault: see above.
        gate: process id; in its children nothing fails.
    """

    def __init__(self, fault: Mapping[str, Any], gate: int) -> None:
        self._events, self._gate = frozenset(fault["events"]), gate
        self._number, self._last, self._how = fault["number"], fault["number"] + fault["most"], fault["how"]
        self._report = os.open(fault["told"], os.O_CREAT | os.O_WRONLY) if fault.get("told") else -1
        self._seen = 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count an operation, and let it fail."""
        if event not in self._events or os.getpid() != self._gate or _is_import(event, arguments):
            return
        self._seen += 1
        if self._number <= self._seen < self._last:
            if self._seen == self._number and self._report >= 0:
                self._tell(event, arguments)
            if not self._how:
                raise MemoryError
            raise OSError(self._how, os.strerror(self._how))

    def _tell(self, event: str, arguments: tuple[Any, ...]) -> None:
        frames = [frame for frame in traceback.extract_stack() if "ratiba_action" in frame.filename]
        places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-4:]]
        os.write(self._report, f"{event} {arguments!r:.200} in {places}".encode())


def _is_import(event: str, arguments: tuple[Any, ...]) -> bool:
    path = arguments[0] if event == "open" and arguments else ""
    return isinstance(path, str) and (path.endswith((".py", ".pyc", ".so")) or path.startswith("/proc/"))


if __name__ == "__main__":
    main()
