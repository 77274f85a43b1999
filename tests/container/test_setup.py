"""A system that brings its own packages: its set-up command runs inside the read-only container."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from ratiba_action.worker import landlock
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
    assert run.findings == {"outside": False}


SHARED = """\
import json, os, sys
from pathlib import Path
import tiny
ATTACKS = {
    "write": lambda: open(tiny.__file__, "a"),
    "remove": lambda: os.unlink(tiny.__file__),
    "add": lambda: open(Path(tiny.__file__).with_name("json.py"), "w"),
    "move": lambda: os.rename(os.path.realpath(".venv"), "mine"),
    "replace what was declared": lambda: open(os.path.realpath(".venv/../requirements.txt"), "w"),
    "change the mode": lambda: os.chmod(tiny.__file__, 0),
}
class Adapter:
    def migrate(self, database_url): pass
    def open(self, context): return self
    def send(self, message):
        found = {"elsewhere": "ratiba-setup-" not in os.path.realpath(tiny.__file__)}
        for name, attack in ATTACKS.items():
            try:
                attack()
                found[name] = True
            except OSError:
                found[name] = False
        return {"text": json.dumps(found), "state": "FOUND" if any(found.values()) else "CLEAN"}
"""


def declared(prison: Prison, adapter: str) -> None:
    """A repository whose set-up says what it reads."""
    repository = prison.repository
    repository.write("requirements.txt", wheel(repository.folder))
    repository.write("adapter.py", adapter)
    reads = "  setup_reads: [requirements.txt, tiny-1.0-py3-none-any.whl]\n"
    repository.write(".github/ratiba.yml", CONFIGURATION.replace("  python:", f"{reads}  python:"))
    repository.commit()


@pytest.mark.skipif(not landlock.version(), reason="needs a kernel with Landlock")
def test_what_set_up_shares_works_by_its_link_and_cannot_be_written_to(prison: Prison) -> None:
    declared(prison, SHARED)
    run = prison.run("greet")
    assert (run.code, run.outputs["conclusion"]) == (0, "passed"), run.printed
    assert not any(run.findings.values())
