"""How the runner's folders are named to Docker, which reads a mount as a line of CSV."""

import csv
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "action" / "container.sh"


@pytest.mark.parametrize("path", ["/srv/plain", "/srv/a,b", '/srv/a"b', "/srv/ü (1) $x", '/srv/,ro=false,""'])
def test_a_path_of_any_signs_is_one_field_of_its_mount(path: str) -> None:
    command = ["bash", "-c", '. "$1"; binding "$2" /workspace', "bash", str(SCRIPT), path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (fields,) = csv.reader([done.stdout])
    assert fields == ["type=bind", f"source={path}", "target=/workspace"]
