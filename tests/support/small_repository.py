"""A small repository, and the gate run in it as a user runs it: as a process."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.gate_forks import GateForks, StartedGate
from tests.support.git_repository import GitRepository

SCENARIO = """\
id: {name}
language: fr
now: 2026-04-25T10:00:00+03:00
customer: {{name: Amina, phone: "+254 700 000 001"}}
turns:
{turns}
"""

CONFIGURATION = """\
system:
  adapter: adapter:Adapter
  turn_timeout_seconds: {timeout}
rows:
  notes: SELECT * FROM notes
"""


@dataclass(frozen=True)
class Ended:
    """How a run of the gate ended."""

    code: int
    printed: str
    report: Path

    @property
    def results(self) -> Mapping[str, Any]:
        """``results.json``."""
        content: Mapping[str, Any] = json.loads((self.report / "results.json").read_text())
        return content

    @property
    def outputs(self) -> Mapping[str, Any]:
        """The outputs in ``results.json``."""
        outputs: Mapping[str, Any] = self.results["outputs"]
        return outputs

    @property
    def comment(self) -> str:
        """``comment.md``."""
        return (self.report / "comment.md").read_text()


def run_process(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a command line of the gate as its users start it: as a new process."""
    return subprocess.run(
        [sys.executable, "-m", "ratiba_action", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@dataclass(frozen=True)
class SmallRepository:
    """A git repository with the small system and scenarios of one's own, and the gate in it.

    Args:
        run: runs a command line to its end, given its arguments, its folder and its environment.
        forks: start gates that are left running.
    """

    folder: Path
    report: Path
    environment: dict[str, str] = field(default_factory=dict)
    run: Callable[[Sequence[str], Path, Mapping[str, str]], "subprocess.CompletedProcess[str]"] = run_process
    forks: GateForks | None = None

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file of the work tree."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def scenario(self, name: str, *messages: str, expect: str = "SAID") -> None:
        """Write a scenario whose turns all expect one state."""
        turns = "".join(f"  - user: {json.dumps(message)}\n    expect: {{state: {expect}}}\n" for message in messages)
        self.write(f"scenarios/{name}.yaml", SCENARIO.format(name=name, turns=turns))

    def commit(self) -> str:
        """Commit everything to the first branch; returns the commit's id."""
        return GitRepository(self.folder).commit({})

    def gate(self, *options: str, **variables: str) -> Ended:
        """Run the gate to its end."""
        return self.ended("gate", *options, **variables)

    def ended(self, command: str, *options: str, **variables: str) -> Ended:
        """Run a command that takes the gate's report directory to its end."""
        arguments = [command, "--report-dir", str(self.report), *options]
        done = self.run(arguments, self.folder, self.environment | variables)
        return Ended(done.returncode, done.stdout + done.stderr, self.report)

    def start(self, *options: str, **variables: str) -> StartedGate:
        """Start the gate and leave it running."""
        if self.forks is None:
            raise ValueError("the repository was made without forks")
        arguments = ["gate", "--report-dir", str(self.report), *options]
        return self.forks.start(arguments, self.folder, self.environment | variables)
