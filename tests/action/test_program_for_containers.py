"""What the runner's program for containers is given when the step starts it."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "action" / "container.sh"
START = """
. "$1"; here=$(dirname "$1") IMAGE=image OWNER=1:1 ENGINE_PYTHON=$2/python RATIBA_ENGINE_KEY=key-of-the-run
echo volume >"$2/channel"
start_engine "$2"
wait "$ENGINE"
"""
PYTHON = f"""#!{sys.executable} -IS
import sys
sys.stdout.write("key=" + sys.stdin.readline().strip() + "\\0" + open("/proc/self/environ").read())
"""


def test_its_variables_are_those_that_docker_s_command_needs_whatever_the_others_are_named(tmp_path: Path) -> None:
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)
    needed = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DOCKER_HOST": "unix:///a b", "LANG": "C\nX=1"}
    others = {
        "GITHUB_TOKEN": "planted",
        "MY-KEY": "planted",
        "a.b": "planted",
        "BASH_FUNC_f%%": "() { echo planted; }",
        "TWO": "lines\nDOCKER_X=planted",
    }
    command = ["bash", "-euc", START, "start", str(SCRIPT), str(tmp_path)]
    done = subprocess.run(command, env={**needed, **others}, capture_output=True, text=True, check=True, timeout=60)
    given = dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry)
    assert given.pop("key") == "key-of-the-run"
    assert {name: given.get(name) for name in needed} == needed
    assert not {name for name, value in given.items() if "planted" in value}
