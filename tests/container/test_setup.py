"""A system that brings its own packages: its set-up command runs inside the read-only container."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from tests.support.prison import Prison

pytestmark = pytest.mark.docker

CONFIGURATION = """\
system:
  adapter: adapter:Adapter
  setup:
    - sh
    - -ec
    - |
      python3 -m venv .venv
      .venv/bin/pip install --no-index --require-hashes --requirement requirements.txt
      touch "$HOME/kept" "$TMPDIR/kept"
  python: .venv/bin/python
"""
ADAPTER = """\
import json, sys
from pathlib import Path
import tiny
class Adapter:
    def migrate(self, database_url): pass
    def open(self, context): return self
    def send(self, message):
        kept = (Path.home() / "kept").exists()
        found = {"outside": not kept or "/.venv/" not in tiny.__file__ or "/.venv/" not in sys.executable}
        return {"text": json.dumps(found), "state": "FOUND" if any(found.values()) else "CLEAN"}
"""


def wheel(folder: Path) -> str:
    """Write a small package; returns its line for a requirements file."""
    path = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny.py", "")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\n")
    return f"./{path.name} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def test_a_virtual_environment_and_pip_work_in_the_scratch_copy(prison: Prison) -> None:
    repository = prison.repository
    repository.write("requirements.txt", wheel(repository.folder))
    repository.write("adapter.py", ADAPTER)
    repository.write(".github/ratiba.yml", CONFIGURATION)
    repository.commit()
    run = prison.run("greet")
    assert (run.code, run.outputs["conclusion"]) == (0, "passed"), run.printed
    assert run.said == {"outside": False}
