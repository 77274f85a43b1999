"""Pytest's known plug-ins are imported once for all tests, and no module of the repository comes before them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ratiba_action.worker.adapters.pytest_plugins import KNOWN

PROJECT = Path(__file__).parents[3]
PROGRAM = """
import json, sys, threading
from ratiba_action.worker.adapters.pytest_plugins import load
load()
loaded, threads = [*sys.modules], threading.active_count()
sys.path.insert(0, sys.argv[1])
import json, syrupy
files = {module.__name__: module.__file__ for module in (json, syrupy)}
print(json.dumps({"loaded": loaded, "threads": threads, **files}))
"""


def output(folder: Path, **variables: str) -> Any:
    """What a program says that loads plug-ins, and then imports modules as a test in a folder does."""
    environment = {"PYTHONPATH": str(PROJECT), "PATH": os.defpath, **variables}
    words = [sys.executable, "-P", "-c", PROGRAM, str(folder)]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_known_plugins_are_loaded_and_stay_loaded(tmp_path: Path) -> None:
    for name in ("syrupy", "json"):
        (tmp_path / f"{name}.py").touch()
    found = output(tmp_path)
    loaded = set(found["loaded"])
    assert loaded >= {*KNOWN, "deepeval.metrics", "deepeval.plugins.plugin", "pytest_asyncio.plugin"}
    assert "hypothesis" not in loaded, "it keeps its examples in the folder that it is imported in"
    assert found["threads"] == 1
    assert "site-packages" in found["syrupy"], "a test cannot bring a plug-in of its own by its name"
    assert not found["json"].startswith(str(tmp_path)), "the standard library is loaded long before"


def test_where_pytest_loads_no_plugin_none_is_loaded_for_it(tmp_path: Path) -> None:
    loaded = output(tmp_path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")["loaded"]
    assert "pytest" in loaded
    assert "syrupy" not in loaded
