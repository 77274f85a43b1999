"""How long the demo takes and how much memory its processes hold. Run: ``python -m benchmarks.gate``."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.side_by_side import write_repository

PROJECT = Path(__file__).resolve().parents[1]
SUITE = 5_200
LIMIT = 20.0  # seconds for the bundled conversations on two cores


def proportional_kilobytes(pid: int) -> int:
    """Memory of one process, shared pages divided among those who share them; 0 when it has ended."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))


def family(pid: int) -> list[int]:
    """A process and all below it."""
    found, edge = [pid], [pid]
    while edge:
        parent = edge.pop()
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            children = [int(word) for word in task.read_text().split()]
            found += children
            edge += children
    return found


def run(pull_request: str) -> tuple[float, int]:
    """Seconds of one demo from start to exit, and the most kilobytes that its processes held together."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "examples/demo.py", "--pull-request", pull_request, "--report-dir", folder]
        started, maximum = time.perf_counter(), 0
        process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            try:
                maximum = max(maximum, sum(proportional_kilobytes(pid) for pid in family(process.pid)))
            except OSError:
                continue
            time.sleep(0.2)
        return time.perf_counter() - started, maximum


def seconds_of(*words: str, folder: Path = PROJECT) -> float:
    """Seconds of ``ratiba`` with these words, from start to exit."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "ratiba_action", *words]
    subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(PROJECT)}, check=True, capture_output=True)
    return time.perf_counter() - started


def validate_seconds(runs: int) -> float:
    """Median seconds of ``ratiba validate`` on a suite of ``SUITE`` captured conversations."""
    with tempfile.TemporaryDirectory() as folder:
        write_repository(Path(folder), SUITE)
        return statistics.median(seconds_of("validate", folder=Path(folder)) for _ in range(runs))


def main() -> int:
    """Print both figures for a full run and a skipped one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    figures = [run("prompt") for _ in range(runs)]
    skips = [run("docs")[0] for _ in range(runs)]
    conversations = len(list((PROJECT / "scenarios").rglob("*.yaml")))
    seconds = statistics.median(figure[0] for figure in figures)
    print(f"demo, {conversations} conversations: median {seconds:.1f} s of {runs} runs, limit {LIMIT:.0f} s")
    print(f"memory of the whole process tree at its highest: {max(figure[1] for figure in figures) / 1024:.0f} MB")
    for words in (("--help",), ("gate", "--help")):
        helped = statistics.median(seconds_of(*words) for _ in range(runs))
        print(f"ratiba {' '.join(words)}: median {helped:.2f} s, limit 0.3 s")
    print(f"ratiba validate, {SUITE:,} scenarios: median {validate_seconds(runs):.1f} s, limit 4 s")
    print(f"demo of a skipped pull request: median {statistics.median(skips):.2f} s")
    return 0 if seconds <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
