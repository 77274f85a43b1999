"""Runs a command of the gate in this process, as ``main`` does, and gives what it printed."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass

from ratiba_action.main import run


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def printed(self) -> str:
        """Both streams."""
        return f"{self.out}\n{self.err}"


def run_command(arguments: Sequence[str], environment: Mapping[str, str]) -> Ran:
    """Run it to its end; misuse of the command line is an exit code too."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = run(arguments, {**environment})
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
    return Ran(code, out.getvalue(), err.getvalue())


@contextmanager
def captured() -> Iterator[io.StringIO]:
    """What is printed meanwhile, both streams in one."""
    stream = io.StringIO()
    with redirect_stdout(stream), redirect_stderr(stream):
        yield stream
