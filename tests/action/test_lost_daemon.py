"""What the evaluating step says of a container that it lost sight of, by a stand-in for Docker's command."""

import os
import subprocess
from pathlib import Path

import pytest

from ratiba_action.publish.concluding import ENDINGS

SCRIPTS = Path(__file__).parents[2] / "action"
STAND_IN = """#!/bin/bash
case "$1" in
  start) exit 1 ;;
  inspect) [ -n "$ANSWERS" ] || exit 1; case "$3" in *OOMKilled*) echo "$KILLED" ;; *) echo "$ENDED_WITH" ;; esac ;;
  version) [ -n "$ANSWERS" ] ;;
esac
"""
RUN = """set -euo pipefail
ENDED="" CODE="" CONTAINER=gate
. "$1/container.sh"
run_container 2>/dev/null
echo "$ENDED/$CODE"
"""


@pytest.mark.parametrize(
    ("traits", "ended"),
    [
        ({}, "daemon/"),
        ({"CANCELLED": "cancelled"}, "cancelled/"),
        ({"ANSWERS": "yes", "KILLED": "false"}, "/"),
        ({"ANSWERS": "yes", "KILLED": "true"}, "memory/"),
        ({"ANSWERS": "yes", "KILLED": "false", "ENDED_WITH": "1"}, "/1"),
    ],
    ids=["the daemon is gone", "cancelled", "still running", "no memory left", "ended by itself"],
)
def test_a_container_whose_daemon_is_gone_is_distinguished_from_one_that_ended(
    tmp_path: Path, traits: dict[str, str], ended: str
) -> None:
    program = tmp_path / "docker"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    usual = {"ANSWERS": "", "KILLED": "", "ENDED_WITH": ""}
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", **usual, **traits}
    done = subprocess.run(
        ["bash", "-c", RUN, "run", str(SCRIPTS)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{ended}\n"
    assert ended.partition("/")[0] in {"", "cancelled", *ENDINGS}


def test_the_comment_names_the_daemon() -> None:
    reason, remedy = ENDINGS["daemon"]
    assert "The Docker daemon stopped while the gate's container ran" in reason
    assert "Start the daemon" in remedy
