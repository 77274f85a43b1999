"""The gate beside loops that send the same judge calls and do nothing else. Run: ``python -m benchmarks.side_by_side``.

500 captured conversations of four turns, one judge call each, 20 at a time, answered after 200 ms by a stand-in in a
process of its own. The calls have OpenAI's format; the loop of Anthropic's SDK is beside them. Gate and loops take
turns, each in a fresh process and an empty HOME. ``--peers PYTHON`` adds other frameworks, by an interpreter that has
what ``peers.txt`` locks.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.bare_loop import AT_ONCE, JUDGES, OPENAI_KEY
from benchmarks.provider_stand_in import stand_in

LATENCY = 0.2
SCRIPT = Path(__file__).with_name("peers.py")
FLOOR = "bare loop, OpenAI's SDK (floor)"
PEERS = {
    "langfuse": "Langfuse",
    "pydantic-evals": "pydantic-evals",
    "deepeval": "DeepEval, tuned",
    "inspect": "Inspect",
}
WORDS = [
    "habari",
    "booking",
    "massage",
    "tomorrow",
    "fourteen",
    "price",
    "shillings",
    "confirm",
    "thank",
    "you",
    "please",
    "room",
    "slot",
    "afternoon",
]
CONFIGURATION = """\
system:
  replay: {{}}
judge: {{provider: {provider}, model: {model}, cross_check: null}}
metrics: {{fluency: false}}
"""
SCENARIO = """\
id: case_{number:05}
language: en
layer: replay
compare: metric
vertical: spa
now: 2026-04-25T10:00:00+03:00
customer: {{name: Wanjiku, phone: "+254 712 345 432"}}
provenance: {{captured: "2026-04-20", from: staging}}
turns:
{turns}assertions:
  - {{metric: CoherenceMetric, threshold: 0.5}}
"""


@dataclass(frozen=True, slots=True)
class Run:
    """Of one process: seconds on the clock and of CPU, the most megabytes that it held, and its calls.

    Args:
        first: seconds until the first call; None where there was none, or nobody asked.
        between: seconds from the first call to the last answer; likewise.
        after: seconds from the last answer to the end; likewise.
    """

    wall: float
    cpu: float
    megabytes: float
    first: float | None = None
    between: float | None = None
    after: float | None = None


def write_repository(root: Path, count: int, provider: str = "anthropic") -> list[list[dict[str, str]]]:
    """A committed repository with so many captured conversations; returns their messages."""
    source = random.Random(1)  # noqa: S311 - no secret

    def sentence(words: int) -> str:
        return " ".join(source.choice(WORDS) for _ in range(words))

    (root / ".github").mkdir(parents=True)
    (root / "scenarios").mkdir()
    (root / ".github" / "ratiba.yml").write_text(CONFIGURATION.format(provider=provider, model=JUDGES[provider]))
    conversations = []
    for number in range(count):
        exchanges = [(sentence(8), f"{sentence(25)}.") for _ in range(4)]
        turns = "".join(f"  - user: {user}\n    reply: {reply}\n" for user, reply in exchanges)
        (root / "scenarios" / f"c{number:05}.yaml").write_text(SCENARIO.format(number=number, turns=turns))
        roles = ((("user", user), ("assistant", reply)) for user, reply in exchanges)
        conversations.append([{"role": role, "content": text} for pair in roles for role, text in pair])
    author = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), (*author, "commit", "-qm", "Conversations")):
        subprocess.run(["git", *words], cwd=root, check=True)
    return conversations


def measure(command: Sequence[str], folder: Path, environment: Mapping[str, str], url: str = "") -> Run:
    """Run a command to its end; ``url`` is that of the stand-in that it calls."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(command, cwd=folder, env=dict(environment), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    ended = time.monotonic()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with exit code {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    times: list[float] = []
    if url:
        connection = HTTPConnection(urlsplit(url).netloc)
        connection.request("GET", "/times")
        times = json.load(connection.getresponse())
        connection.close()
    calls = (times[0] - started, times[1] - times[0], ended - times[1]) if times else (None, None, None)
    return Run(ended - started, cpu, usage.ru_maxrss / 1024, *calls)


def contestants(url: str, count: int, report: Path, peers: Path | None, file: Path) -> dict[str, list[str]]:
    """The command of each, by name."""
    loop = [sys.executable, "-m", "benchmarks.bare_loop", "--count", str(count), "--url", url]
    gate = [sys.executable, "-m", "ratiba_action", "gate", "--mode", "blocking", "--llm", "live"]
    gate += ["--concurrency", str(AT_ONCE)]
    others = {} if peers is None else {PEERS[name]: [str(peers), str(SCRIPT), name, url, str(file)] for name in PEERS}
    return {
        "bare loop, aiohttp": [*loop, "aiohttp"],
        FLOOR: [*loop, "openai"],
        "bare loop, Anthropic's SDK": [*loop, "anthropic"],
        **others,
        "this gate": [*gate, "--report-dir", str(report)],
        "this gate again, judge cache warm": [*gate, "--report-dir", f"{report}-again"],
    }


def compare(count: int, rounds: int, latency: float, peers: Path | None) -> dict[str, list[Run]]:
    """Let gate, loops and other frameworks take turns."""
    found: dict[str, list[Run]] = {}
    project = str(Path(__file__).resolve().parents[1])
    with tempfile.TemporaryDirectory() as folder, stand_in(latency) as url:
        root, file = Path(folder, "repository"), Path(folder, "conversations.json")
        file.write_text(json.dumps(write_repository(root, count, "openai")))
        for number in range(rounds):
            home = Path(folder, f"home{number}")
            home.mkdir()
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "PYTHONPATH": project,
                "RATIBA_OPENAI_API_KEY": OPENAI_KEY,
                "RATIBA_OPENAI_BASE_URL": f"{url}/v1",
                "RATIBA_CACHE_DIR": str(home / "cache"),  # else the rounds would share the repository's
                "RATIBA_EVAL_BUDGET_USD": str(count),
            }
            alone = {"PATH": os.environ["PATH"], "HOME": str(home), "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
            for name, command in contestants(url, count, Path(folder, f"report{number}"), peers, file).items():
                peer = name in PEERS.values()
                run = measure(command, home if peer else root, alone if peer else environment, url)
                found.setdefault(name, []).append(run)
    return found


def print_table(found: Mapping[str, Sequence[Run]], count: int, latency: float) -> None:
    """Medians, and the ratio to the floor."""
    floor = statistics.median(run.wall for run in found[FLOOR])
    print(f"{count} judged cases, ideal {count * latency / AT_ONCE:.1f} s, {os.cpu_count()} cores")
    columns = ("", "wall s", "÷ floor", "first call s", "first to last s", "after the last s", "CPU s", "MB")
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name, runs in found.items():
        wall = statistics.median(run.wall for run in runs)
        cpu = statistics.median(run.cpu for run in runs)
        memory = statistics.median(run.megabytes for run in runs)
        calls = [
            f"{statistics.median(known):.2f}" if (known := [each for each in of_runs if each is not None]) else "none"
            for of_runs in zip(*((run.first, run.between, run.after) for run in runs), strict=True)
        ]
        row = (name, f"{wall:.2f}", f"{wall / floor:.2f}", *calls, f"{cpu:.2f}", f"{memory:.0f}")
        print(f"| {' | '.join(row)} |")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="conversations")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each; the table shows medians")
    parser.add_argument("--latency", type=float, default=LATENCY, help="seconds until the stand-in answers a call")
    parser.add_argument("--peers", type=Path, metavar="PYTHON", help="interpreter that has the packages of peers.txt")
    arguments = parser.parse_args()
    peers = arguments.peers and arguments.peers.absolute()  # not resolved: a link into a venv is the venv
    found = compare(arguments.count, arguments.rounds, arguments.latency, peers)
    print_table(found, arguments.count, arguments.latency)
    return 0


if __name__ == "__main__":
    sys.exit(main())
