"""The worker's modules and the repository's do not get in each other's way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ratiba_action.worker import start

START = Path(start.__file__)
OWN_MODULES = sorted(path.stem for path in START.parent.rglob("*.py") if path.stem != "__init__")
OWN_PATHS = sorted(
    ".".join(path.relative_to(START.parent).with_suffix("").parts)
    for path in START.parent.rglob("*.py")
    if path.stem not in ("__init__", "start")
)
STANDARD_MODULES = ("json", "socket", "asyncio", "selectors", "traceback")


def run(cwd: Path, program: str) -> "subprocess.CompletedProcess[str]":
    """Start the worker's way in, and then run a program in the same process."""
    script = f"""
import runpy, sys
sys.argv = ["start.py", "kernel"]
try:
    runpy.run_path({str(START)!r}, run_name="__main__")
except AttributeError:  # `kernel` has no `main`: loading it was all that was wanted
    pass
sys.path.insert(0, {str(cwd)!r})
{program}
"""
    return subprocess.run(
        [sys.executable, "-P", "-S", "-c", script], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", OWN_MODULES)
def test_a_repository_may_have_a_module_named_like_one_of_ours(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("OWNER = 'repository'\n", encoding="utf-8")
    done = run(tmp_path, f"import {name}; print({name}.OWNER)")
    assert done.stdout.strip() == "repository", done.stderr


def test_the_workers_folder_is_not_on_the_path(tmp_path: Path) -> None:
    done = run(tmp_path, f"print({str(START.parent)!r} in sys.path)")
    assert done.stdout.strip() == "False", done.stderr


def test_modules_of_the_current_folder_do_not_shadow_what_the_worker_needs(tmp_path: Path) -> None:
    for name in STANDARD_MODULES:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')\n", encoding="utf-8")
    command = [sys.executable, str(START), "fork_server", "1000", "[]", '{"adapter": ""}']
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env={"PATH": os.defpath})
    assert "shadowed" not in done.stderr
    assert "Bad file descriptor" in done.stderr


def test_the_worker_imports_nothing_but_the_standard_library(tmp_path: Path) -> None:
    program = "\n".join(f"__import__('ratiba_worker.{name}')" for name in OWN_PATHS)
    program += """
strangers = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
print(*sorted(strangers - {"ratiba_worker", "__main__"}))
"""
    done = run(tmp_path, program)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_the_worker_compiles_for_the_oldest_supported_interpreter() -> None:
    import ast

    for path in START.parent.rglob("*.py"):
        assert ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9)).body is not None
