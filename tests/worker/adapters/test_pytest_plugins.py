"""Pytest's known plug-ins are imported once for all tests; the repository's modules come before them all the same."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ratiba_action.worker.adapters.pytest_plugins import KNOWN

PROJECT = Path(__file__).parents[3]
LOADED = """
import json, sys, threading
from ratiba_action.worker.adapters.pytest_plugins import forget_own, load
load()
loaded = [*sys.modules]
"""
FORGOTTEN = """
sys.path.insert(0, sys.argv[1])
forget_own(sys.argv[1])
import syrupy, anyio, json
print(json.dumps([syrupy.__file__, anyio.__file__, json.__file__]))
"""


def said(folder: Path, program: str, **variables: str) -> Any:
    """What a program prints at last that has loaded the plug-ins in a folder."""
    environment = {"PYTHONPATH": str(PROJECT), "PATH": os.defpath, **variables}
    words = [sys.executable, "-P", "-c", LOADED + program, str(folder)]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_known_plugins_are_imported_and_start_no_thread_and_hypothesis_is_left_to_the_test(tmp_path: Path) -> None:
    modules, threads = said(tmp_path, "print(json.dumps([loaded, threading.active_count()]))")
    assert {"pytest", "deepeval.metrics", "deepeval.plugins.plugin", "pytest_asyncio.plugin"} <= set(modules)
    assert set(modules) >= KNOWN
    assert "hypothesis" not in modules, "it keeps its examples in the folder that it is imported in"
    assert threads == 1


def test_a_module_of_the_repository_comes_before_an_installed_one_of_its_name(tmp_path: Path) -> None:
    for name in ("syrupy", "json"):
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "anyio").mkdir()
    syrupy, anyio, standard = said(tmp_path, FORGOTTEN)
    assert syrupy == str(tmp_path / "syrupy.py")
    assert "site-packages" in anyio, "a folder that is no package does not come before one that is installed"
    assert not standard.startswith(str(tmp_path)), "the standard library is loaded long before"


def test_pytest_that_loads_no_plugin_has_none_loaded(tmp_path: Path) -> None:
    modules = said(tmp_path, "print(json.dumps(loaded))", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert "pytest" in modules
    assert "syrupy" not in modules
