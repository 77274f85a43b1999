"""The environment of a step, and its outputs as the runner reads them."""

import os
from pathlib import Path

NOWHERE = "http://127.0.0.1:9"


def step_environment(folder: Path, api: str = NOWHERE) -> dict[str, str]:
    """The variables of a step of a pull request's run, whose checkout, event and files lie in a folder."""
    return {
        "PATH": os.environ["PATH"],
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": api,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_OUTPUT": str(folder / "outputs"),
        "GITHUB_REPOSITORY": "salon/assistant",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_RUN_ID": "1001",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_WORKSPACE": str(folder / "checkout"),
        "RUNNER_TEMP": str(folder),
        "RATIBA_REPORT_DIR": str(folder / "report"),
    }


def read_outputs(path: Path) -> dict[str, str]:
    """Each output's value by its name, from the file that ``GITHUB_OUTPUT`` names."""
    found: dict[str, str] = {}
    lines = iter(path.read_text(encoding="utf-8").splitlines())
    for line in lines:
        name, _, delimiter = line.partition("<<")
        value: list[str] = []
        while (part := next(lines)) != delimiter:
            value.append(part)
        found[name] = "\n".join(value)
    return found
