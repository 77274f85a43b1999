"""Build time, size and start times of the container image. Run: ``python -m benchmarks.image``.

Needs Docker and the base image; says so and ends without a figure where they are not there.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.container_image import BASE, CONFINED, REPORT, Confined, build, why_not
from tests.support.small_repository import CONFIGURATION, SmallRepository

PROJECT = Path(__file__).resolve().parents[1]
TAG = "ratiba-eval-gate:benchmark"
OWNER = 1001
RUNS = 5
LIMIT_BYTES = 450_000_000  # above the base, unpacked
LIMIT_SECONDS = 6.0  # from the start of the container to the end of the first conversation


def size(image: str) -> int:
    """Bytes of an image, unpacked."""
    command = ["docker", "image", "inspect", "--format", "{{.Size}}", image]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def place(folder: Path) -> Confined:
    """A small repository with a changed scenario, owned by a plain user where we may give it away."""
    workspace, report = folder / "repository", folder / "report"
    shutil.copytree(PROJECT / "tests" / "end_to_end" / "small_system", workspace)
    small = SmallRepository(workspace, report, {"PATH": os.environ["PATH"]})
    small.write(".github/ratiba.yml", CONFIGURATION.format(timeout=20))
    small.scenario("greeting", "say Bonjour")
    small.commit()
    small.scenario("greeting", "say Bonjour", "say Merci")
    report.mkdir()
    folder.chmod(0o755)
    passwd = folder / "passwd"
    if os.geteuid() == 0:
        for path in (workspace, report, *workspace.rglob("*")):
            os.chown(path, OWNER, OWNER)
    owner = workspace.stat()
    passwd.write_text(f"ratiba:x:{owner.st_uid}:{owner.st_gid}::/home/ratiba:/usr/sbin/nologin\n")
    return Confined(TAG, workspace, report, passwd)


def seconds_to_line(command: Sequence[str], word: str) -> tuple[float, float]:
    """Seconds until a line of the output holds a word, and until the end."""
    started, found = time.perf_counter(), 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout or ():
            if not found and word in line:
                found = time.perf_counter() - started
    if process.returncode or not found:
        raise RuntimeError(f"{command!r} ended with {process.returncode} and said nothing of {word!r}")
    return found, time.perf_counter() - started


def main() -> int:
    """Print each figure; 1 when a limit is not held."""
    if reason := why_not():
        print(f"not measured: {reason}")
        return 0
    started = time.perf_counter()
    build(PROJECT, TAG)
    print(f"build: {time.perf_counter() - started:.1f} s (layers that Docker holds already are not made again)")
    try:
        above = size(TAG) - size(BASE)
        print(f"above the base: {above / 1e6:.0f} MB (limit {LIMIT_BYTES / 1e6:.0f} MB)")
        decide = ["docker", "run", "--rm", *CONFINED, TAG, "decide", "--help"]
        times = [seconds_to_line(decide, "usage")[1] for _ in range(RUNS)]
        print(f"decide --help, from docker run to its end: median {statistics.median(times):.2f} s of {RUNS}")
        with tempfile.TemporaryDirectory() as folder:
            command = place(Path(folder)).command("gate", "--report-dir", REPORT)
            runs = [seconds_to_line(command, "greeting") for _ in range(RUNS)]
    finally:
        subprocess.run(["docker", "image", "rm", "--force", TAG], check=False, capture_output=True)
    first = statistics.median(run[0] for run in runs)
    print(f"gate, first conversation ended: median {first:.2f} s (limit {LIMIT_SECONDS:.0f} s)")
    print(f"gate, one conversation, whole run: median {statistics.median(run[1] for run in runs):.2f} s of {RUNS}")
    return int(above > LIMIT_BYTES or first > LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
