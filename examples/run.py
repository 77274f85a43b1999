"""Run the gate on one of the example systems, in a repository made from its folder.

Without a change every conversation runs as it is. With one, ``<example>/<change>.patch`` is applied to the working
tree first, as an edit that somebody is about to propose.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from demo import PROJECT, commit, copy, git

EXAMPLES = PROJECT / "examples"
NAMES = ("intent_router", "rag_answerer", "search_engine", "tool_agent")


def main() -> int:
    """Build the repository, run the gate in it, and return the gate's exit code."""
    parser = argparse.ArgumentParser(description="Run the gate on an example system.")
    parser.add_argument("example", choices=NAMES)
    parser.add_argument("--change", default="", help="name of a .patch in the example's folder")
    parser.add_argument("--report-dir", type=Path, default=PROJECT / "ratiba-report")
    arguments, rest = parser.parse_known_args()
    folder = EXAMPLES / arguments.example
    changes = sorted(path.stem for path in folder.glob("*.patch"))
    if arguments.change and arguments.change not in changes:
        parser.error(f"{arguments.example} has no change {arguments.change!r}; it has {changes}")
    with tempfile.TemporaryDirectory(prefix="ratiba-example-") as scratch:
        repository = Path(scratch) / "repository"
        build(folder, arguments.change, repository)
        return run_gate(repository, arguments.report_dir, rest)


def build(folder: Path, change: str, repository: Path) -> None:
    """Make a repository of an example's folder, with a change that is not committed yet, if one is named."""
    copy(folder, repository)
    git(repository, "init", "--quiet", "--initial-branch=main")
    commit(repository, "The example as it is")
    if change:
        git(repository, "apply", "-p1", f"{change}.patch")


def run_gate(repository: Path, report_dir: Path, rest: list[str]) -> int:
    """Run ``ratiba gate`` on all scenarios, without any key or setting of whoever calls."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "RATIBA_", "GIT_"))
    }
    environment["RATIBA_REPORT_DIR"] = str(report_dir.resolve())
    command = [sys.executable, "-m", "ratiba_action", "gate", "--mode", "blocking", *rest]
    return subprocess.run(command, cwd=repository, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
