"""What the site of a long history costs: ``python -m benchmarks.site_of_runs [RUNS…]`` (default: 1,000 and 10,000).

A run has 200 scenarios of one turn. Reading is measured with real files, a few of them; the pages are then made of as
many runs as a history has, each in a process of its own. Chromium opens them with its processor slowed down four times,
in a window of 390 pixels.
"""

import argparse
import gzip
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

from ratiba_action.history.run_files import find_runs
from ratiba_action.model.published import Transcripts
from ratiba_action.model.verdict import Report
from ratiba_action.publish.site.folder import write_site
from ratiba_action.publish.site.outcomes import Outcomes
from ratiba_action.publish.site.pages import History, all_pages
from ratiba_action.publish.site.reading import RunReader
from ratiba_action.publish.site.run_cache import open_cache
from ratiba_action.publish.site.runs import RunLine, facts_of, line_of, newest_first
from tests.support.browser import browser_page
from tests.support.run_history import long_history, write_history

SCENARIOS, READ, SLOWER = 200, 20, 4.0
FIRST_PAGE = 1.0  # seconds
SCRIPT = 300_000  # bytes
PAGES = ("index", "runs", "scenarios", "compare", "metrics", "scenario/s003")


def reports() -> list[Report]:
    """A few runs, whose scenarios have ids of three digits."""
    return [
        replace(
            report,
            results=tuple(
                replace(each, trial=replace(each.trial, scenario=replace(each.trial.scenario, id=f"s{number:03}")))
                for number, each in enumerate(report.results)
            ),
        )
        for report in long_history(READ, SCENARIOS)
    ]


def lines_of(found: list[Report], runs: int) -> tuple[RunLine, ...]:
    """As many runs, each with outcomes of its own: nothing is shared that a history does not share."""
    chance, lines = Random(7), list[RunLine]()  # noqa: S311 - the same history each time
    first = [line_of(report) for report in found]
    for number in range(runs):
        line = first[number % len(first)]
        outcomes = {
            name: end._replace(
                status="failed" if chance.random() < 0.02 else "passed",  # noqa: PLR2004 - one in fifty
                usd=Decimal(chance.randrange(1, 999)) / 1000,
                seconds=chance.random(),
            )
            for name, end in line.outcomes.items()
        }
        began = found[0].started_at + timedelta(hours=12 * number)
        points = tuple(replace(point, started_at=began) for point in line.points)
        lines.append(replace(line, id=f"r{number:05}", started_at=began, outcomes=Outcomes.of(outcomes), points=points))
    return newest_first(lines)


def build(runs: int, folder: Path) -> None:
    """Make the pages in this process, and print what that took."""
    found = reports()
    lines = lines_of(found, runs)
    held, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.process_time()
    facts = facts_of(found[0])
    history = History("the benchmark", lines, "main", facts, (), Transcripts.NONE)
    files, size = write_site(all_pages(history, lambda line: found[int(line.id[1:]) % READ]), folder)
    seconds, greatest = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{runs:,} runs: {seconds:.1f} s of CPU for {files:,} files of {size / 1e6:.1f} MB; at most {greatest:.0f} MB "
        f"of memory, {held:.0f} MB with the runs alone"
    )


def reading(folder: Path) -> tuple[float, float]:
    """Seconds of CPU that a run takes to be read in one process: for the first site of it, and for a further one."""
    write_history(folder / "runs", reports())
    files, taken = find_runs(str(folder / "runs"), lambda: None), list[float]()
    with open_cache(folder / "cache") as cache:
        for _ in range(2):
            began = time.process_time()
            _, broken = RunReader(files, cache, "the benchmark", (), 1).read()
            assert not broken
            taken.append((time.process_time() - began) / READ)
    return taken[0], taken[1]


def look(folder: Path, profile: Path) -> tuple[float, int]:
    """The slowest of three first loads of the overview, and the most bytes of script of a page."""
    slowest, script = 0.0, 0
    with browser_page(profile) as page:
        page.look(390, "light")
        page.slow_down(SLOWER)
        page.open("about:blank")
        for name in PAGES:
            path, times = folder / f"{name}.html", list[float]()
            for _ in range(3):
                page.open("about:blank")
                page.open(path.as_uri())
                times.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000)
            script = max(
                script,
                page.evaluate(
                    "Array.from(document.querySelectorAll('script:not([type])'))"
                    ".reduce((sum, each) => sum + each.text.length, 0)"
                ),
            )
            slowest = max(slowest, *times) if name == "index" else slowest
            content = path.read_bytes()
            packed = f"{len(content) / 1000:.0f} kB, {len(gzip.compress(content)) / 1000:.0f} kB compressed"
            print(f"  {name}: {sorted(times)[1]:.2f} s ({min(times):.2f} to {max(times):.2f}), {packed}")
    return slowest, script


def main() -> int:
    """Measure everything; 1 where the first page or the script is beyond its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=int, default=[1_000, 10_000])
    parser.add_argument("--build", metavar="DIR", help="make the pages of the first number of runs in this process")
    arguments = parser.parse_args()
    if arguments.build:
        build(arguments.runs[0], Path(arguments.build))
        return 0
    status = 0
    with tempfile.TemporaryDirectory() as scratch:
        first, again = reading(Path(scratch))
        print(f"reading: {first * 1000:.1f} ms of CPU for a run of {SCENARIOS} scenarios, {again * 1000:.1f} ms again")
        for runs in arguments.runs:
            folder = Path(scratch) / f"site-{runs}"
            command = [sys.executable, "-m", "benchmarks.site_of_runs", str(runs), "--build", str(folder)]
            subprocess.run(command, check=True)
            slowest, script = look(folder, Path(scratch) / f"profile-{runs}")
            print(f"  script: {script / 1000:.1f} kB (limit {SCRIPT / 1000:.0f} kB); first page {slowest:.2f} s")
            status |= slowest > FIRST_PAGE or script > SCRIPT
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
