"""Changes that score worse than their base, and try to keep the base from being measured."""

ADAPTER = '''\
import contextlib
import glob
import os
import resource
from pathlib import Path

TEMPORARY = {temporary!r}


def parents():
    """Ids of all processes above this one up to the gate; none above it, such as the test's own."""
    pid, found = os.getppid(), []
    while pid > 0:
        found.append(pid)
        if "--report-dir" in Path(f"/proc/{{pid}}/cmdline").read_text():
            return found
        pid = int(Path(f"/proc/{{pid}}/stat").read_text().rpartition(")")[2].split()[1])
    raise RuntimeError("the gate is not above this process")


def lower(limit, soft):
    for pid in parents():
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pid, limit, (soft, resource.prlimit(pid, limit)[1]))


def close():
    for path in glob.glob(f"{{TEMPORARY}}/*ratiba-run-*"):
        with contextlib.suppress(OSError):
            os.chmod(path, 0o500)


def fill():
    with contextlib.suppress(OSError), open(Path(os.environ["TMPDIR"], "filler"), "wb", buffering=0) as file:
        while file.write(bytes(1 << 20)):
            pass


def exhaust():
    with contextlib.suppress(OSError):
        for number in range(1_000_000):
            Path(os.environ["TMPDIR"], str(number)).touch()


def stack():
    lower(resource.RLIMIT_STACK, 1)


def size():
    lower(resource.RLIMIT_FSIZE, 2_500_000)


def nothing():
    pass


class Adapter:
    def migrate(self, database_url):
        pass

    def open(self, context):
        return self

    def send(self, message):
        {attack}()
        try:
            kept = Path(os.environ["TMPDIR"], "kept")
            kept.write_bytes(bytes(3_000_000))
            kept.unlink()
        except OSError:
            return {{"text": "Sijui."}}
        return {{"text": {text!r}}}
'''
CONFIGURATION = """\
system:
  adapter: adapter:Adapter
  database: false
  price_per_turn_usd: 0
"""
SCENARIO = """\
id: {name}
language: sw
metrics: {{fluency: false}}
now: 2026-04-25T10:00:00+03:00
customer: {{name: Amina, phone: "+254 700 000 001"}}
turns:
  - user: Habari
    expect: {{answer: "Karibu, nikusaidie vipi leo?"}}
assertions:
  - {{metric: ChrfMetric, threshold: 0.0}}
"""
GOOD, WORSE = "Karibu, nikusaidie vipi leo?", "Sijui kitu."
ATTACKS = ("close", "stack", "size", "fill", "exhaust")
"""Names of functions of the adapter."""


def base_files(temporary: str) -> dict[str, str]:
    """The files of the base.

    Args:
        temporary: the gate's folder for temporary files.
    """
    scenarios = {f"scenarios/{name}.yaml": SCENARIO.format(name=name) for name in ("asks", "greets")}
    return {".github/ratiba.yml": CONFIGURATION, "adapter.py": adapter(temporary, GOOD), **scenarios}


def adapter(temporary: str, text: str, attack: str = "nothing") -> str:
    """The system: what it answers, and what it does before."""
    return ADAPTER.format(temporary=temporary, text=text, attack=attack)
