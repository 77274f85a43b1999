"""The workflow that holds every conversation each night: its schedule, and whom it tells of a failure."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.workflow_files import run_block

PROJECT = Path(__file__).parents[2]
TEXT = (PROJECT / "examples" / "workflows" / "eval-every-night.yml").read_text("utf-8")
TELLS = "Open an issue, or add to the one that is open"
GH = """#!/bin/sh
if [ "$2" = list ]; then printf '%s' "$OPEN"; else printf '%s\\n' "$@" >>"$SAID"; fi
"""


def workflow() -> Any:
    return yaml.safe_load(TEXT)


def test_it_starts_by_the_clock_or_by_hand_and_holds_every_conversation() -> None:
    assert set(workflow()[True]) == {"schedule", "workflow_dispatch"}
    (job,) = workflow()["jobs"].values()
    (gate,) = [step for step in job["steps"] if step.get("id") == "gate"]
    assert gate["with"]["mode"] == "blocking"


def test_the_guide_shows_its_schedule() -> None:
    page = (
        (PROJECT / "docs" / "workflow-forms.md").read_text("utf-8").partition("## Every night")[2].partition("\n## ")[0]
    )
    (shown,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert shown in TEXT


def test_it_tells_of_a_failure_only() -> None:
    (job,) = workflow()["jobs"].values()
    (step,) = [step for step in job["steps"] if step["name"] == TELLS]
    assert step["if"] == "failure()"


@pytest.mark.parametrize(
    ("open_issue", "reported"),
    [
        ("", ["issue", "create", "--title", "Red night", "--body", "https://host/run/1"]),
        ("41", ["issue", "comment", "41", "--body", "https://host/run/1"]),
    ],
    ids=["the first one", "one is open"],
)
def test_a_failure_opens_one_issue_and_adds_to_it_from_then_on(
    tmp_path: Path, open_issue: str, reported: list[str]
) -> None:
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "OPEN": open_issue,
        "SAID": str(tmp_path / "said"),
        "TITLE": "Red night",
        "RUN": "https://host/run/1",
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", run_block(TEXT, TELLS)]
    subprocess.run(command, env=environment, check=True)
    assert (tmp_path / "said").read_text().splitlines() == reported
