"""Runs the fuzz campaign: ``python -m fuzz --cases 1000``, or one case again: ``python -m fuzz --seed 17``.

Every broken invariant is printed with the seed that replays it. Exit code 0: none was broken; 1: some were.
"""

import argparse
import json
import os
import pwd
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fuzz.kinds import KINDS, kind_of
from fuzz.running import Outcome, run_seeds

EXAMPLE = """examples:
  python -m fuzz --cases 1000 --jobs 2               # a campaign from a new random seed, which is printed
  python -m fuzz --cases 10000 --from-seed 20260425  # the same cases again
  python -m fuzz --cases 1000 --without container    # where there is no Docker
  python -m fuzz --seed 20260431                     # one case again
"""


def main() -> int:
    """Run what the command line asks for; returns the exit code."""
    options = _parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    first = options.seed if options.seed is not None else options.from_seed
    first = secrets.randbelow(10**9) if first is None else first
    count = 1 if options.seed is not None else options.cases
    chosen = [seed for seed in range(first, first + count) if _wanted(kind_of(seed), options)]
    outcomes = _earlier(options.outcomes, chosen)
    left = [seed for seed in chosen if seed not in {outcome["seed"] for outcome in outcomes}]
    print(f"Seeds {first} to {first + count - 1}, {len(left)} cases, {options.jobs} at a time.")
    started = time.monotonic()
    for outcome in _outcomes(left, options.jobs, options.user):
        outcomes.append(outcome)
        _keep(options.outcomes, outcome)
        if outcome["broken"]:
            print(f"BROKEN {outcome['kind']}: {outcome['broken']}\n  python -m fuzz --seed {outcome['seed']}")
        elif options.verbose or len(outcomes) % 500 == 0:
            print(f"{len(outcomes)} of {len(chosen)}: seed {outcome['seed']}, {outcome['kind']} was clean")
        sys.stdout.flush()
    _print_table(outcomes, time.monotonic() - started)
    missing = {*chosen} - {outcome["seed"] for outcome in outcomes}
    if missing:
        print(f"{len(missing)} cases did not end: {sorted(missing)[:20]}")
    return 1 if missing or any(outcome["broken"] for outcome in outcomes) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="how many seeds (default: 1000)")
    parser.add_argument("--from-seed", type=int, metavar="S", help="the first of them (default: random)")
    parser.add_argument("--seed", type=int, metavar="S", help="run this case alone")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at a time (default: 2)")
    parser.add_argument(
        "--user",
        metavar="NAME",
        help="who runs the cases that need no Docker, when root starts this (default: whoever starts it)",
    )
    parser.add_argument("--only", action="append", choices=list(KINDS), help="run cases of this kind alone; repeatable")
    parser.add_argument("--without", action="append", default=[], choices=list(KINDS), help="leave this kind out")
    parser.add_argument(
        "--outcomes",
        type=Path,
        metavar="FILE",
        help="write each outcome there as a line of JSON, and run no case again",
    )
    parser.add_argument("--verbose", action="store_true", help="print a line for every case")
    return parser


def _earlier(path: Path | None, seeds: Sequence[int]) -> list[Outcome]:
    """The outcomes of these seeds that a campaign which was ended has left."""
    if path is None or not path.exists():
        return []
    wanted = {*seeds}
    found: list[Outcome] = [json.loads(line) for line in path.read_text().splitlines()]
    return [outcome for outcome in found if outcome["seed"] in wanted]


def _keep(path: Path | None, outcome: Outcome) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(outcome) + "\n")


def _wanted(kind: str, options: argparse.Namespace) -> bool:
    return kind not in options.without and (not options.only or kind in options.only)


def _outcomes(seeds: Sequence[int], jobs: int, user: str | None) -> Iterator[Outcome]:
    """The outcomes of all seeds, from as many processes; each has services of its own.

    Args:
        seeds: of the cases.
        jobs: how many processes.
        user: who runs those cases that need no Docker; None for whoever runs this.
    """
    if jobs == 1 and user is None:
        yield from run_seeds(seeds)
        return
    plain = [seed for seed in seeds if user is not None and not KINDS[kind_of(seed)].docker]
    yield from _of_processes(plain, jobs, user)
    yield from _of_processes([seed for seed in seeds if seed not in {*plain}], jobs, None)


def _of_processes(seeds: Sequence[int], jobs: int, user: str | None) -> Iterator[Outcome]:
    readers: list[subprocess.Popen[str]] = []
    command = [sys.executable, "-m", "fuzz.running"]
    groups: dict[str, Any] = (
        {} if user is None else {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
    )
    for number in range(min(jobs, len(seeds))):
        # A session of its own: what a case does to the processor time of its session is not done to the campaign.
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1],
            start_new_session=True, **groups,
        )  # fmt: skip
        if process.stdin is not None:
            process.stdin.write(json.dumps(seeds[number::jobs]))
            process.stdin.close()
        readers.append(process)
    try:
        yield from _lines(readers)
    finally:
        for process in readers:
            process.terminate()


def _lines(processes: Sequence["subprocess.Popen[str]"]) -> Iterator[Outcome]:
    with selectors.DefaultSelector() as selector:
        for process in processes:
            selector.register(process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
        while selector.get_map():
            for key, _ in selector.select():
                line = key.fileobj.readline()  # type: ignore[union-attr]
                if line:
                    yield json.loads(line)
                else:
                    selector.unregister(key.fileobj)
    for process in processes:
        process.wait()


def _print_table(outcomes: Sequence[Outcome], seconds: float) -> None:
    by_kind: dict[str, list[Outcome]] = defaultdict(list)
    figures: Counter[str] = Counter()
    for outcome in outcomes:
        by_kind[outcome["kind"]].append(outcome)
        figures.update(outcome["figures"])
    print("\n| kind | cases | broken | seconds a case | what a case is |\n| --- | --: | --: | --: | --- |")
    for name, kind in KINDS.items():
        found = by_kind[name]
        spent = sum(outcome["seconds"] for outcome in found) / max(len(found), 1)
        broken = sum(bool(outcome["broken"]) for outcome in found)
        print(f"| {name} | {len(found):,} | {broken} | {spent:.2f} | {kind.about} |")
    total = sum(bool(outcome["broken"]) for outcome in outcomes)
    print(
        f"| all | {len(outcomes):,} | {total} | {seconds / max(len(outcomes), 1):.2f} | in {seconds / 60:.0f} minutes |"
    )
    print("\n" + "".join(f"- {name}: {amount:,.10g}\n" for name, amount in sorted(figures.items())))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main())
