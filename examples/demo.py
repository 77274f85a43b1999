"""Run the gate on a bundled pull request, as GitHub would: a repository, a merge commit, an event.

The repository holds this project's example system, its scenarios and recordings, or the example that the pull request
names as its ``system``. Each folder of ``pull_requests/`` is one change to it; its model answers are written by hand
(``source: authored``).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).resolve().parent.parent
EXAMPLES = PROJECT / "examples"
BUNDLED = EXAMPLES / "pull_requests"
CONTENTS = (".github/ratiba.yml", "scenarios", "examples/booking_assistant", "docs/scenarios.md")
MAX_LINES = 14
MADE_BY = {
    "GIT_AUTHOR_NAME": "Ratiba demo",
    "GIT_AUTHOR_EMAIL": "demo@example.invalid",
    "GIT_AUTHOR_DATE": "2026-04-25T07:00:00Z",
    "GIT_COMMITTER_NAME": "Ratiba demo",
    "GIT_COMMITTER_EMAIL": "demo@example.invalid",
    "GIT_COMMITTER_DATE": "2026-04-25T07:00:00Z",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def main() -> int:
    """Build the repository, run the gate in it, and return the gate's exit code."""
    parser = argparse.ArgumentParser(description="Run the gate on a bundled pull request.")
    names = sorted(folder.name for folder in BUNDLED.iterdir() if (folder / "pull_request.yaml").is_file())
    parser.add_argument("--pull-request", choices=names, default="prompt")
    parser.add_argument("--report-dir", type=Path, default=PROJECT / "ratiba-report")
    arguments, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="ratiba-demo-") as scratch:
        repository = Path(scratch) / "repository"
        bundle = BUNDLED / arguments.pull_request
        introduce(bundle)
        event = build_pull_request(bundle, repository)
        return run_gate(["--comment", "false", *rest], repository, event, arguments.report_dir)


def described(bundle: Path) -> dict[str, Any]:
    """What is written about a bundled pull request."""
    found: dict[str, Any] = yaml.safe_load((bundle / "pull_request.yaml").read_text(encoding="utf-8"))
    return found


def introduce(bundle: Path) -> None:
    """Say on the error stream what the pull request is and which lines it changes."""
    about = described(bundle)
    sys.stderr.write(f"Pull request {about['number']} by {about['author']}: {about['title']}\n")
    patch = (bundle / "change.patch").read_text(encoding="utf-8").splitlines()
    changed = [line for line in patch if line.startswith(("+", "-"))]
    for line in changed[:MAX_LINES]:
        sys.stderr.write(f"    {line}\n")
    if len(changed) > MAX_LINES:
        sys.stderr.write(f"    and {len(changed) - MAX_LINES} more lines\n")
    sys.stderr.flush()


def build_pull_request(bundle: Path, repository: Path) -> Path:
    """Make a repository whose HEAD is the merge commit of a bundled pull request.

    Args:
        bundle: folder with ``pull_request.yaml``, ``change.patch`` and perhaps ``recordings/``.
        repository: folder to make.

    Returns:
        The file with the pull_request event.
    """
    about = described(bundle)
    copy_system(about.get("system", ""), repository)
    git(repository, "init", "--quiet", "--initial-branch=main")
    base = commit(repository, "The assistant as it is")
    git(repository, "switch", "--quiet", "--create", "change")
    git(repository, "apply", "-p1", str(bundle / "change.patch"))
    if (bundle / "recordings").is_dir():
        copy(bundle / "recordings", repository / "scenarios" / "recordings")
    head = commit(repository, about["title"])
    git(repository, "switch", "--quiet", "--detach", base)
    git(repository, "merge", "--quiet", "--no-ff", "-m", "Merge", head)
    event = repository.parent / "event.json"
    about["changed_files"] = len(git(repository, "diff", "--no-renames", "--name-only", base, head).splitlines())
    event.write_text(json.dumps(pull_request_event(about, base, head)), encoding="utf-8")
    return event


def copy_system(example: str, repository: Path) -> None:
    """Copy an example's folder, or where none is named, what this project's own suite consists of."""
    if example:
        copy(EXAMPLES / example, repository)
        return
    for name in CONTENTS:
        copy(PROJECT / name, repository / name)


def copy(source: Path, target: Path) -> None:
    """Copy a file, or a folder over another, without caches."""
    if source.is_dir():
        # Fresh times of change: git would take a file of the same size and time for the one that it knows.
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=skipped, copy_function=shutil.copyfile)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def commit(repository: Path, message: str) -> str:
    """Commit everything and return the commit's SHA."""
    git(repository, "add", "--all", "--force")
    git(repository, "commit", "--quiet", "-m", message)
    return git(repository, "rev-parse", "HEAD").strip()


def git(repository: Path, *words: str) -> str:
    """Run git in the repository with a fixed author, date and configuration."""
    done = subprocess.run(
        ["git", *words], cwd=repository, env=os.environ | MADE_BY, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def pull_request_event(about: dict[str, Any], base: str, head: str) -> dict[str, object]:
    """The parts of GitHub's pull_request event that the gate reads."""
    repository = {"full_name": "example/booking-assistant", "default_branch": "main"}
    return {
        "action": "synchronize",
        "number": about["number"],
        "pull_request": {
            "number": about["number"],
            "title": about["title"],
            "user": {"login": about["author"]},
            "changed_files": about["changed_files"],
            "base": {"sha": base, "ref": "main", "repo": repository},
            "head": {"sha": head, "ref": about["branch"], "repo": repository},
        },
        "repository": repository,
    }


def run_gate(options: list[str], repository: Path, event: Path, report_dir: Path, kind: str = "pull_request") -> int:
    """Run the gate in the repository with the event's environment."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "RATIBA_", "GIT_"))
    }
    environment |= {
        "GITHUB_EVENT_NAME": kind,
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "example/booking-assistant",
        "GITHUB_WORKSPACE": str(repository),
        "RATIBA_REPORT_DIR": str(report_dir.resolve()),
    }
    command = [sys.executable, "-m", "ratiba_action", "gate", *options]
    return subprocess.run(command, cwd=repository, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
