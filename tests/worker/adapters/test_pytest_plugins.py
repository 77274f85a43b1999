"""Pytest's known plug-ins are imported once for all tests; a module of the repository with such a name is not."""

import json
import os
import subprocess
import sys
from pathlib import Path

from ratiba_action.worker.adapters.pytest_plugins import KNOWN

PROJECT = Path(__file__).parents[3]
PROGRAM = """
import json, sys, threading
from ratiba_action.worker.adapters.pytest_plugins import load
load()
print(json.dumps([sorted(sys.modules), threading.active_count()]))
"""


def loaded(*path: Path) -> tuple[set[str], int]:
    """Modules and threads of an interpreter that has loaded the plug-ins."""
    environment = {"PYTHONPATH": os.pathsep.join(map(str, (*path, PROJECT))), "PATH": os.defpath}
    words = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    modules, threads = json.loads(done.stdout.splitlines()[-1])
    return set(modules), threads


def test_installed_plugins_are_imported_and_start_no_thread_and_the_repositorys_module_is_left_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "syrupy.py").write_text("raise SystemExit('code of the repository ran')")
    modules, threads = loaded(tmp_path)
    assert {"pytest", "deepeval.metrics", "deepeval.plugins.plugin", "pytest_asyncio.plugin", "hypothesis"} <= modules
    assert KNOWN - modules == {"syrupy"}
    assert threads == 1
