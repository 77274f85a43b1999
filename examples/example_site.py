"""Write the site of the example's runs: three pushes to its main branch, of which one makes it worse.

The runs cost nothing: their model answers are recorded. Their files stay in the folder of runs beside the site.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from demo import BUNDLED, PROJECT, commit, copy, copy_system, described, git, run_gate

PUSHES = ("", "regression", "prompt")
"""The bundled pull request that is pushed to main each time; empty for the assistant as it is."""


def main() -> int:
    """Run the gate after each push, and write the site of these runs."""
    parser = argparse.ArgumentParser(description="Write the site of the example's runs.")
    parser.add_argument("--to", type=Path, default=PROJECT / "build/example-site", help="folder of the site")
    arguments = parser.parse_args()
    runs = arguments.to.with_name(f"{arguments.to.name}-runs")
    shutil.rmtree(runs, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="ratiba-site-") as scratch:
        for number, name in enumerate(PUSHES, 1):
            repository, event = push(Path(scratch) / str(number), name)
            keep(repository, event, runs / f"push-{number}")
        command = [sys.executable, "-m", "ratiba_action", "site", "--from", str(runs), "--to", str(arguments.to)]
        return subprocess.run(command, cwd=scratch, check=False).returncode


def push(folder: Path, name: str) -> tuple[Path, Path]:
    """A repository whose main branch was just pushed to, and the event."""
    repository = folder / "repository"
    copy_system("", repository)
    git(repository, "init", "--quiet", "--initial-branch=main")
    before = after = commit(repository, "The assistant as it is")
    if name:
        git(repository, "apply", "-p1", str(BUNDLED / name / "change.patch"))
        if (BUNDLED / name / "recordings").is_dir():
            copy(BUNDLED / name / "recordings", repository / "scenarios/recordings")
        after = commit(repository, described(BUNDLED / name)["title"])
    event = folder / "event.json"
    of = {"full_name": "example/booking-assistant", "default_branch": "main"}
    pushed = {"ref": "refs/heads/main", "before": before, "after": after, "repository": of}
    event.write_text(json.dumps(pushed), encoding="utf-8")
    return repository, event


def keep(repository: Path, event: Path, report: Path) -> None:
    """Run the gate, and keep its results alone."""
    with tempfile.TemporaryDirectory(prefix="ratiba-report-") as folder:
        options = ["--comment", "false", "--mode", "blocking"]
        run_gate(options, repository, event, Path(folder), "push")
        report.mkdir(parents=True)
        shutil.copyfile(Path(folder) / "results.json", report / "results.json")


if __name__ == "__main__":
    sys.exit(main())
