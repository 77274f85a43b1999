"""The worked example of ``docs/cost.md``."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs/cost.md").read_text("utf-8")


@pytest.mark.processes
def test_the_estimate_of_the_page_is_what_its_command_prints(tmp_path: Path) -> None:
    (command,) = re.findall(r"^ANTHROPIC_API_KEY=\S+ \.venv/bin/python (examples/run\.py .*)$", PAGE, re.MULTILINE)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ANTHROPIC_API_KEY": "any-text"}
    done = subprocess.run(
        [sys.executable, *shlex.split(command), "--report-dir", str(tmp_path)],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert shown in done.stdout
