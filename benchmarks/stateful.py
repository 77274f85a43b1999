"""What a scenario of a stateful system costs in CPU, beside a bare loop. Run: ``python -m benchmarks.stateful``.

The recorded conversations of the booking example, once and four times: the difference is what a further scenario costs,
without what a run costs anyway. The loop runs them one after another in one process, by the same adapter, each in a
database cloned from a migrated template, with the recorded answers over HTTP: no judge, no assertion, no sandbox, no
report. The database server's CPU counts for neither side.
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import yaml
from aiohttp import web
from psycopg.conninfo import make_conninfo

from benchmarks.side_by_side import measure
from ratiba_action.tenancy.server import choose_server
from tests.support.booking_example import copy_booking_example
from tests.support.git_repository import GitRepository

LIMIT = 1.3  # CPU of a further scenario, divided by the loop's
MORE = 4
SYSTEM = "examples/booking_assistant"
TEMPLATE = "bare_loop_template"
PROJECT = Path(__file__).resolve().parents[1]


def write_repository(root: Path, copies: int) -> int:
    """The booking example with so many copies of each recorded scenario and nothing else; how many there are."""
    copy_booking_example(root)
    folder, count = root / "scenarios", 0
    recordings = {path.stem: path for path in (folder / "recordings").glob("*.jsonl")}
    for path in sorted(folder.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        path.unlink()
        if path.stem not in recordings:
            continue
        for number in range(copies):
            name = f"{path.stem}_{number}"
            (folder / f"{name}.yaml").write_text(text.replace(f"id: {path.stem}\n", f"id: {name}\n"), encoding="utf-8")
            shutil.copyfile(recordings[path.stem], folder / "recordings" / f"{name}.jsonl")
            count += 1
    for path in recordings.values():
        path.unlink()
    GitRepository(root).commit({})
    return count


async def run_all(root: Path, dsn: str) -> None:
    """The bare loop, in the system's folder: every scenario of the repository, one after another."""
    from booking_assistant.ratiba_adapter import Adapter  # its path is set

    answers: dict[str, deque[Any]] = {}

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        return web.json_response(answers["anthropic" if request.path.endswith("/messages") else "openai"].popleft())

    application = web.Application()
    application.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    os.environ.update(OPENAI_BASE_URL=f"{url}/v1", ANTHROPIC_BASE_URL=url, OPENAI_API_KEY="x", ANTHROPIC_API_KEY="x")
    adapter = Adapter()
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {TEMPLATE}")
        await asyncio.to_thread(adapter.migrate, make_conninfo(dsn, dbname=TEMPLATE))
        for number, path in enumerate(sorted((root / "scenarios").glob("*.yaml"))):
            scenario, name = yaml.load(path.read_bytes(), yaml.CSafeLoader), f"bare_loop_{number}"
            answers |= recorded(root / "scenarios" / "recordings" / f"{path.stem}.jsonl")
            server.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
            await run_conversation(adapter, scenario, make_conninfo(dsn, dbname=name), number)
            if any(answers.values()):
                raise RuntimeError(f"{path.stem} did not ask for every recorded answer")
            server.execute(f"DROP DATABASE {name}")
        server.execute(f"DROP DATABASE {TEMPLATE}")
    await runner.cleanup()


def recorded(path: Path) -> dict[str, deque[Any]]:
    """The recorded answers of each provider, in order."""
    found: dict[str, deque[Any]] = {"openai": deque(), "anthropic": deque()}
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if line["kind"] == "model":
            found[line["provider"]].append(line["response"])
    return found


async def run_conversation(adapter: Any, scenario: dict[str, Any], dsn: str, number: int) -> None:
    """One conversation: every turn is answered."""
    context = SimpleNamespace(
        scenario_id=scenario["id"],
        tenant_id=f"00000000-0000-0000-0000-{number:012}",
        schema="public",
        database_url=dsn,
        conversation_id=f"conversation-{number}",
        now=datetime.fromisoformat(str(scenario["now"])),
        language=scenario["language"],
        vertical=scenario["vertical"],
        customer_name=scenario["customer"]["name"],
        customer_phone=scenario["customer"]["phone"],
    )
    conversation = await adapter.open(context)
    for turn in scenario["turns"]:
        await (conversation.send(turn["user"]) if "user" in turn else conversation.deliver(turn["event"]))
    await conversation.close()


def commands(root: Path, dsn: str, report: Path) -> dict[str, list[str]]:
    """The command of each side, by name."""
    gate = ["ratiba_action", "gate", "--mode", "blocking", "--llm", "replay", "--baseline", "none"]
    return {
        "bare loop (floor)": [sys.executable, "-m", "benchmarks.stateful", "--loop", str(root), "--dsn", dsn],
        "this gate": [sys.executable, "-m", *gate, "--report-dir", str(report)],
    }


async def compare(rounds: int) -> dict[str, list[tuple[float, float]]]:
    """CPU seconds per scenario of the small suite, and of each further one; by side, for each round."""
    found: dict[str, list[tuple[float, float]]] = {}
    server = choose_server(None)
    await server.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            roots = [Path(folder, f"repository{copies}") for copies in (1, MORE)]
            few, many = (write_repository(root, copies) for root, copies in zip(roots, (1, MORE), strict=True))
            print(f"{few} and {many} recorded scenarios of the booking example, {os.cpu_count()} cores", flush=True)
            environment = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": str(PROJECT)}
            environment["RATIBA_DATABASE_URL"] = server.dsn
            for _ in range(rounds):
                spent: dict[str, list[float]] = {}
                for root in roots:
                    for name, command in commands(root, server.dsn, Path(folder, "report")).items():
                        run = await asyncio.to_thread(measure, command, root, environment)
                        spent.setdefault(name, []).append(run.cpu)
                for name, (small, large) in spent.items():
                    found.setdefault(name, []).append((small / few, (large - small) / (many - few)))
    finally:
        await server.stop()
    return found


def print_table(found: Mapping[str, Sequence[tuple[float, float]]]) -> bool:
    """Medians; whether the limit is met."""
    further = {name: statistics.median(each for _, each in runs) for name, runs in found.items()}
    floor = further["bare loop (floor)"]
    print("| | CPU s per scenario of the small suite | CPU s of a further scenario | ÷ floor |\n|---|---|---|---|")
    for name, runs in found.items():
        small = statistics.median(each for each, _ in runs)
        print(f"| {name} | {small:.2f} | {further[name]:.3f} | {further[name] / floor:.2f} |")
    print(f"\na further scenario ÷ floor: {further['this gate'] / floor:.2f}, limit {LIMIT}")
    return further["this gate"] / floor <= LIMIT


def main() -> int:
    """Print the table, or be the loop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each; the table shows medians")
    parser.add_argument("--loop", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--dsn", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.loop is None:
        return 0 if print_table(asyncio.run(compare(arguments.rounds))) else 1
    sys.path.insert(0, str(arguments.loop / SYSTEM))
    asyncio.run(run_all(arguments.loop, arguments.dsn))
    return 0


if __name__ == "__main__":
    sys.exit(main())
