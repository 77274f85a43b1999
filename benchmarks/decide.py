"""How long ``decide`` takes on a pull request of many files. Run: ``python -m benchmarks.decide``."""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.git_repository import GitRepository
from tests.support.pull_request_events import pull_request_event

ENTRYPOINT = Path(__file__).resolve().parents[1] / "entrypoint.py"
LIMIT = 0.3  # seconds


def lock(minor: int, packages: int) -> str:
    """A lock file of some size, whose packages all have the same minor version."""
    entries = [
        f'[[package]]\nname = "package-{number}"\nversion = "1.{minor}.0"\n'
        'source = { registry = "https://packages.example" }\n'
        for number in range(packages)
    ]
    return "version = 1\n" + "".join(entries)


def recording(number: int, calls: int = 6) -> str:
    """A scenario's recording of about 10 kB, as long as the bundled ones; its first line says what was read."""
    code = [f"app/part_{number % 50}/module_{number + part * 50}.py" for part in range(20)]
    reads = {
        "files": sorted(["agent.py", "knowledge/", *code]),
        "kind": "reads",
        "sent": {"knowledge/returns.md": "turn 1"},
    }
    call = {"asked": "Where is my order?", "kind": "model", "response": {"content": "word " * 300}}
    return "".join(json.dumps(line, sort_keys=True) + "\n" for line in [reads, *[call] * calls])


def prepare(folder: Path, files: int, recordings: int) -> Path:
    """A repository whose merge commit changes this many files, with recordings; returns the event's file."""
    repository = GitRepository(folder / "checkout")
    names = [f"app/part_{number % 50}/module_{number}.py" for number in range(files - 1)]
    recorded = {f"scenarios/recordings/scenario_{number}.jsonl": recording(number) for number in range(recordings)}
    base = repository.commit({**dict.fromkeys(names, "a = 1\n"), **recorded, "uv.lock": lock(1, 100)})
    repository.git("checkout", "--quiet", "-b", "feature")
    head = repository.commit({**dict.fromkeys(names, "a = 2\n"), "uv.lock": lock(2, 100)})
    repository.git("checkout", "--quiet", "--detach", "main")
    repository.merge("feature")
    repository.git("repack", "-adq")  # as a clone is: what is fetched comes in one pack
    event = folder / "event.json"
    event.write_text(json.dumps(pull_request_event(base, head, files=files)))
    return event


def processor_seconds() -> float:
    """Processor time of all ended child processes, git's among them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(event: Path) -> tuple[float, float]:
    """Elapsed and processor seconds of one run, from start to exit, without site-packages."""
    command = [sys.executable, "-I", "-S", str(ENTRYPOINT), "decide", "--json", "--event", str(event)]
    started, used = time.perf_counter(), processor_seconds()
    done = subprocess.run(
        [*command, "--event-name", "pull_request", "--repo", str(event.parent / "checkout")],
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"]},
    )
    seconds = time.perf_counter() - started, processor_seconds() - used
    assert json.loads(done.stdout)["mode"] == "advisory"
    return seconds


def main() -> int:
    """Print the figures; 1 when the median is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--recordings", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        event = prepare(Path(folder), options.files, options.recordings)
        runs = [measure(event) for _ in range(options.runs)]
    median = statistics.median(seconds for seconds, _ in runs)
    worst, processor = max(seconds for seconds, _ in runs), statistics.median(used for _, used in runs)
    what = f"{options.files} changed files, {options.recordings} recordings"
    print(f"decide, {what}: median {median:.3f} s, worst {worst:.3f} s, limit {LIMIT} s")
    print(f"processor time of that, git included: median {processor:.3f} s")
    return int(median > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
