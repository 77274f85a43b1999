"""The gate beside loops that send the same judge calls and do nothing else. Run: ``python -m benchmarks.side_by_side``.

500 captured conversations of four turns, one judge call each, 20 at a time, answered after 200 ms by a stand-in in a
process of its own. Gate and loops take turns, each in a fresh process and an empty HOME.
"""

import argparse
import asyncio
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

from benchmarks.judging import stand_in

LATENCY, AT_ONCE = 0.2, 20
KEY = "sk-ant-" + "a" * 24
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
  replay: {}
judge: {cross_check: null}
metrics: {fluency: false}
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
        after: seconds from the last answer to the end; likewise.
    """

    wall: float
    cpu: float
    megabytes: float
    first: float | None = None
    after: float | None = None


def write_repository(root: Path, count: int) -> None:
    """A committed repository with so many captured conversations."""
    source = random.Random(1)  # noqa: S311 - no secret

    def sentence(words: int) -> str:
        return " ".join(source.choice(WORDS) for _ in range(words))

    (root / ".github").mkdir(parents=True)
    (root / "scenarios").mkdir()
    (root / ".github" / "ratiba.yml").write_text(CONFIGURATION)
    for number in range(count):
        turns = "".join(f"  - user: {sentence(8)}\n    reply: {sentence(25)}.\n" for _ in range(4))
        (root / "scenarios" / f"c{number:05}.yaml").write_text(SCENARIO.format(number=number, turns=turns))
    author = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), (*author, "commit", "-qm", "Conversations")):
        subprocess.run(["git", *words], cwd=root, check=True)


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
    calls = (times[0] - started, ended - times[1]) if times else (None, None)
    return Run(ended - started, cpu, usage.ru_maxrss / 1024, *calls)


async def bare_loop(url: str, count: int, *, sdk: bool) -> None:
    """Send the calls and read the scores, by aiohttp or by the official SDK."""
    body = {
        "model": "claude-opus-5-5",
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": "Score this conversation from 0 to 10 as JSON. " + "massage " * 250}],
    }
    slots = asyncio.Semaphore(AT_ONCE)
    if sdk:
        from anthropic import AsyncAnthropic  # its import is a part of what is measured

        async with AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0) as client:

            async def call() -> None:
                async with slots:
                    answer = await client.messages.create(**body)  # type: ignore[call-overload] # plain JSON
                    json.loads(answer.content[0].text)["score"]

            await asyncio.gather(*(call() for _ in range(count)))
        return
    import aiohttp

    async with aiohttp.ClientSession(headers={"x-api-key": KEY}) as session:

        async def post() -> None:
            async with slots, session.post(f"{url}/v1/messages", json=body) as response:
                json.loads((await response.json())["content"][0]["text"])["score"]

        await asyncio.gather(*(post() for _ in range(count)))


def contestants(url: str, count: int, report: Path) -> dict[str, list[str]]:
    """The command of each, by name."""
    loop = [sys.executable, "-m", "benchmarks.side_by_side", "--count", str(count), "--loop"]
    gate = [sys.executable, "-m", "ratiba_action", "gate", "--mode", "blocking", "--llm", "live"]
    gate += ["--concurrency", str(AT_ONCE)]
    return {
        "bare loop, aiohttp": [*loop, "aiohttp", "--url", url],
        "bare loop, official SDK (floor)": [*loop, "sdk", "--url", url],
        "this gate": [*gate, "--report-dir", str(report)],
        "this gate again, judge cache warm": [*gate, "--report-dir", f"{report}-again"],
    }


def compare(count: int, rounds: int) -> dict[str, list[Run]]:
    """Let gate and loops take turns."""
    found: dict[str, list[Run]] = {}
    project = str(Path(__file__).resolve().parents[1])
    with tempfile.TemporaryDirectory() as folder, stand_in(LATENCY) as url:
        root = Path(folder, "repository")
        write_repository(root, count)
        for number in range(rounds):
            home = Path(folder, f"home{number}")
            home.mkdir()
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "PYTHONPATH": project,
                "RATIBA_ANTHROPIC_API_KEY": KEY,
                "RATIBA_ANTHROPIC_BASE_URL": url,
                "RATIBA_CACHE_DIR": str(home / "cache"),  # else the rounds would share the repository's
                "RATIBA_EVAL_BUDGET_USD": str(count),
            }
            for name, command in contestants(url, count, Path(folder, f"report{number}")).items():
                found.setdefault(name, []).append(measure(command, root, environment, url))
    return found


def print_table(found: Mapping[str, Sequence[Run]], count: int) -> None:
    """Medians, and the ratio to the floor."""
    floor = statistics.median(run.wall for run in found["bare loop, official SDK (floor)"])
    print(f"{count} judged cases, ideal {count * LATENCY / AT_ONCE:.1f} s, {os.cpu_count()} cores")
    print("| | wall s | ÷ floor | first call s | after the last answer s | CPU ms a case | MB |")
    print("|---|---|---|---|---|---|---|")
    for name, runs in found.items():
        wall = statistics.median(run.wall for run in runs)
        cpu = statistics.median(run.cpu for run in runs)
        memory = statistics.median(run.megabytes for run in runs)
        calls = [
            f"{statistics.median(known):.1f}" if (known := [each for each in of_runs if each is not None]) else "none"
            for of_runs in zip(*((run.first, run.after) for run in runs), strict=True)
        ]
        row = (name, f"{wall:.1f}", f"{wall / floor:.2f}", *calls, f"{1000 * cpu / count:.1f}", f"{memory:.0f}")
        print(f"| {' | '.join(row)} |")


def main() -> int:
    """Print the table, or be one of the loops."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="conversations")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each; the table shows medians")
    parser.add_argument("--loop", choices=("aiohttp", "sdk"), help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.loop:
        asyncio.run(bare_loop(arguments.url, arguments.count, sdk=arguments.loop == "sdk"))
    else:
        print_table(compare(arguments.count, arguments.rounds), arguments.count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
