"""What a run pays for a long history on a branch: ``python -m benchmarks.history_of_runs [RUNS]`` (default: 500).

A run has 200 scenarios of one turn, one every twelve hours. Each question is asked in a process of its own, as a run of
the gate asks it: what a report's trends need, what an anchor of the slow decline needs, what the judge's noise needs,
and the own history of all scenarios (``strategy: statistical``).
"""

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, timedelta
from functools import partial
from pathlib import Path

from benchmarks.site_of_runs import reports
from ratiba_action.history.anchors import AnchorWanted, read_anchor
from ratiba_action.history.data_branch import DataBranch, fetched_runs, file_of
from ratiba_action.history.keeping import with_trends
from ratiba_action.history.own_history import read_own_values
from ratiba_action.history.run_history import KeptRunHistory
from ratiba_action.history.store import Series
from ratiba_action.model.comparison import Rules
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.results_json import packed, render_results
from ratiba_action.reporting.summary import summarise
from tests.support.run_history import START

BRANCH, MAXIMUM = "ratiba-history", 500
QUESTIONS = ("the files alone", "trends", "anchor", "noise", "own values")


def with_digests(report: Report) -> Report:
    """The run with a digest of each scenario, as the gate writes it."""
    names = [each.trial.scenario.id for each in report.results]
    return replace(report, scenario_digests={name: f"{name:0>64}" for name in names})


def write_branch(folder: Path, runs: int) -> None:
    """A repository whose branch has as many runs; their results repeat, their times and commits do not."""
    found, git = [with_digests(report) for report in reports()], ["git", "-C", str(folder)]
    subprocess.run(["git", "init", "--quiet", f"--initial-branch={BRANCH}", str(folder)], check=True)
    for number in range(runs):
        began = START + timedelta(hours=12 * number)
        report = replace(found[number % len(found)], started_at=began, commit=f"{number + 1:040x}")
        file = folder / file_of(report)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(packed(render_results(summarise(report)).encode()))
    subprocess.run([*git, "add", "--all"], check=True)
    who = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost")
    subprocess.run([*git, *who, "commit", "--quiet", "--message", "Runs"], check=True)


def ask(question: str, remote: str, runs: int) -> None:
    """Ask in this process, and print the seconds of CPU that it took."""
    target = DataBranch(remote, BRANCH)
    history = KeptRunHistory(
        "the branch", partial(fetched_runs, target, dict(os.environ)), maximum=MAXIMUM, of_branches=True
    )
    report = with_digests(reports()[0])
    now = (START + timedelta(hours=12 * runs)).astimezone(UTC)
    series = Series(report.subject.repository, report.name, "main", before=now)
    scenarios = {report.scenario_digests[each.trial.scenario.id]: each.trial.scenario for each in report.results}
    began = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    if question == "trends":
        with_trends(replace(report, started_at=now), history)
    elif question == "anchor":
        assert read_anchor(history, AnchorWanted(series, "", "", scenarios), Rules()) is not None
    elif question == "noise":
        asyncio.run(history.repeats(series.repository, report.judge_model, now))
    elif question == "own values":
        assert len(read_own_values(history, series, report.judge_model, "", list(scenarios))) == len(scenarios)
    assert history.count == min(runs, MAXIMUM)
    ended = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    took = [now.ru_utime + now.ru_stime - then.ru_utime - then.ru_stime for then, now in zip(began, ended, strict=True)]
    memory = ended[0].ru_maxrss / 1024
    print(f"{question}: {took[0]:.2f} s of CPU, {took[1]:.2f} s of git; at most {memory:.0f} MB of memory", flush=True)


def main() -> int:
    """Measure every question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=MAXIMUM)
    parser.add_argument("--ask", nargs=2, metavar=("QUESTION", "REMOTE"), help="one question in this process")
    arguments = parser.parse_args()
    if arguments.ask:
        question, remote = arguments.ask
        ask(question, remote, arguments.runs)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        write_branch(Path(scratch), arguments.runs)
        for question in QUESTIONS:
            command = [sys.executable, "-m", "benchmarks.history_of_runs", str(arguments.runs)]
            subprocess.run([*command, "--ask", question, f"file://{scratch}"], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
