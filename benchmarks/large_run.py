"""What a large suite costs in shards, merged, and in one job. Run: ``python -m benchmarks.large_run``.

10,000 captured conversations of four turns, one judge call each, answered after 50 ms by a stand-in in a process of its
own. Eight shards run one after another, then ``ratiba merge``, then the same suite once unsharded, then the
loop of OpenAI's SDK with as many calls, each in a fresh process with an empty home directory.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bare_loop import AT_ONCE, OPENAI_KEY
from benchmarks.gate import family, proportional_kilobytes
from benchmarks.provider_stand_in import stand_in
from benchmarks.side_by_side import FLOOR, write_repository

LATENCY = 0.05
MERGE_LIMIT = 30.0  # seconds
MEMORY_LIMIT = 400.0  # megabytes of the gate's process, unsharded
INTERVAL = 0.1  # seconds between two looks at the memory
PROJECT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Run:
    """Of one command: seconds on the clock and of CPU, the most megabytes of its process and of all below it."""

    wall: float
    cpu: float
    gate: float
    children: float


def measure(words: Sequence[str], root: Path, environment: Mapping[str, str], module: str = "ratiba_action") -> Run:
    """Run a module, ``ratiba`` itself unless another is named, with these words to its end.

    Raises:
        RuntimeError: it ended with another exit code than 0.
    """
    started, gate, children = time.perf_counter(), 0.0, 0.0
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryFile() as text:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            cwd=root,
            env={**environment, "HOME": home},
            stdout=text,
            stderr=subprocess.STDOUT,
        )
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            gate = max(gate, highest_megabytes(process.pid))
            children = max(children, megabytes_below(process.pid))
            time.sleep(INTERVAL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            text.seek(0)
            raise RuntimeError(f"{words} ended with exit code {process.returncode}:\n{text.read().decode()[-3000:]}")
    return Run(wall, usage.ru_utime + usage.ru_stime, gate, children)


def highest_megabytes(pid: int) -> float:
    """The most resident memory that a process has had, by Linux's own count; 0 when it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) / 1024


def megabytes_below(pid: int) -> float:
    """What all processes below one hold now, shared pages divided among those who share them.

    A fork that has not started its own program yet is still a copy of the one above it, and left out.
    """
    try:
        program = Path(f"/proc/{pid}/cmdline").read_bytes()
        below = [each for each in family(pid)[1:] if Path(f"/proc/{each}/cmdline").read_bytes() != program]
    except OSError:
        return 0.0
    return sum(proportional_kilobytes(each) for each in below) / 1024


def print_run(name: str, run: Run) -> None:
    """One row of the table."""
    print(f"| {name} | {run.wall:.1f} | {run.cpu:.1f} | {run.gate:.0f} | {run.children:.0f} |", flush=True)


def sizes(report: Path) -> Iterator[tuple[str, int]]:
    """The files of a report folder with their bytes."""
    for path in sorted(path for path in report.rglob("*") if path.is_file()):
        yield str(path.relative_to(report)), path.stat().st_size


def print_sizes(reports: Mapping[str, Path]) -> None:
    """The megabytes of every file, one column for each report."""
    columns = {name: dict(sizes(report)) for name, report in reports.items()}
    print(f"\n| MB of | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for file in sorted({file for column in columns.values() for file in column}):
        shown = (f"{column[file] / 1e6:.2f}" if file in column else "" for column in columns.values())
        print(f"| `{file}` | {' | '.join(shown)} |")


def main() -> int:
    """Print both tables; 1 when the merge takes too long or the unsharded run holds too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=int, default=10_000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--keep", type=Path, help="folder that keeps the repository and the reports")
    arguments = parser.parse_args()
    count, shards = arguments.scenarios, arguments.shards
    print(f"{count:,} judged cases, {LATENCY * 1000:.0f} ms a call, {AT_ONCE} at a time, {os.cpu_count()} cores")
    print("| | wall s | CPU s | MB of the gate | MB of its children |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as temporary, stand_in(LATENCY) as url:
        folder = arguments.keep or Path(temporary)
        root = folder / "repository"
        write_repository(root, count, "openai")
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(PROJECT),
            "RATIBA_OPENAI_API_KEY": OPENAI_KEY,
            "RATIBA_OPENAI_BASE_URL": f"{url}/v1",
            "RATIBA_EVAL_BUDGET_USD": str(count),
        }
        choice = ["--mode", "blocking", "--llm", "live", "--concurrency"]
        reports = {number: folder / f"shard-{number}" for number in range(1, shards + 1)}
        for number, report in reports.items():
            # The number of scenarios at a time is that of the whole run, which the shards divide.
            words = [*choice, str(AT_ONCE * shards), "--report-dir", str(report), "--shard", f"{number}/{shards}"]
            print_run(f"shard {number}/{shards}", measure(["gate", *words], root, environment))
        merged, whole = folder / "merged", folder / "whole"
        words = [*choice, str(AT_ONCE * shards), "--report-dir", str(merged), *map(str, reports.values())]
        merge = measure(["merge", *words], root, environment)
        print_run("merge", merge)
        alone = {**environment, "RATIBA_CACHE_DIR": str(folder / "cache")}  # the repository's has the shards' scores
        unsharded = measure(["gate", *choice, str(AT_ONCE), "--report-dir", str(whole)], root, alone)
        print_run("unsharded", unsharded)
        loop = ["openai", "--count", str(count), "--url", url]
        floor = measure(loop, root, environment, "benchmarks.bare_loop")
        print_run(FLOOR, floor)
        print_sizes({"shard 1": reports[1], "merged": merged, "unsharded": whole})
    print(f"\nmerge: {merge.wall:.1f} s, limit {MERGE_LIMIT:.0f} s")
    print(f"unsharded ÷ floor: {unsharded.wall / floor.wall:.2f}")
    print(f"memory of the gate, unsharded: {unsharded.gate:.0f} MB, limit {MEMORY_LIMIT:.0f} MB")
    return 0 if merge.wall <= MERGE_LIMIT and unsharded.gate <= MEMORY_LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
