"""What goes wrong with a shard, from its run to the exit code and the comment of the merge."""

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.closing_proxy import closing_proxy
from tests.support.eventually import eventually
from tests.support.gate_forks import GateForks, StartedGate
from tests.support.small_repository import Ended, SmallRepository

OPTIONS = ("--mode", "blocking", "--baseline", "none")
AGAIN = "Run shard 2/2 again (on GitHub: Re-run failed jobs), then merge again."


def merge(small: SmallRepository, *reports: Path) -> Ended:
    return small.ended("merge", *OPTIONS, *map(str, reports))


def begin(small: SmallRepository, forks: GateForks, shard: str, report: Path, **variables: str) -> StartedGate:
    words = ["gate", *OPTIONS, "--shard", shard, "--report-dir", str(report), "--concurrency", "1"]
    return forks.start(words, small.folder, small.environment | variables)


def assert_incomplete(merged: Ended, problem: str, remedy: str) -> None:
    assert (merged.code, merged.outputs["conclusion"]) == (3, "incomplete"), merged.printed
    assert problem in merged.comment.replace("`", ""), merged.comment  # a bare commit id stands as code
    assert f"**What to do:** {remedy}" in merged.comment, merged.comment
    assert "Traceback" not in merged.printed


def tear(report: Path) -> None:
    results = report / "results.json"
    results.write_bytes(results.read_bytes()[:1000])


def change(name: str, value: str) -> Callable[[Path], None]:
    def spoil(report: Path) -> None:
        content = json.loads((report / "results.json").read_text())
        content["report"]["shard"]["identity"][name] = value
        (report / "results.json").write_text(json.dumps(content))

    return spoil


def swell(report: Path) -> None:
    results = report / "results.json"
    results.write_bytes(results.read_bytes() + b" " * 20_000_000)


FAULTS: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "its artifact is missing": (shutil.rmtree, "shard 2/2 left no report", AGAIN),
    "it is damaged": (tear, "shard 2/2 left no report", AGAIN),
    "it is of another commit": (
        change("commit", "fffffff"),
        "shard 2/2 is of another run: its commit is 'fffffff'",
        "Run all shards again, with the same commit, inputs and version as the merge, then merge again.",
    ),
    "the gate's code was another one": (
        change("version", "not installed fedcbafedcba"),
        "shard 2/2 is of another run: its version is 'not installed fedcbafedcba'",
        "Run all shards again, with the same commit, inputs and version as the merge, then merge again.",
    ),
    "it is too large": (
        swell,
        "shard 2/2 left no report that can be read",
        "Divide the suite among more shards: a report of fewer scenarios is smaller. Then run all of them again.",
    ),
    "it is there twice": (
        lambda report: shutil.copytree(report, report.with_name("copy")),
        "there are 2 reports of shard 2/2",
        f"Remove all but the right one. {AGAIN}",
    ),
}


def test_a_merge_of_a_wrong_report_is_incomplete_and_says_what_to_do(
    small: SmallRepository, forks: GateForks, meeting_place: Path, tmp_path: Path
) -> None:
    small.scenario("a_first", "say Bonjour")
    small.scenario("b_waits", f"signal {meeting_place}")
    small.commit()
    right = tmp_path / "right"
    cancelled = begin(small, forks, "2/2", tmp_path / "cancelled")
    first = begin(small, forks, "1/2", right / "shard-1").wait()
    eventually(lambda: list(meeting_place.glob("begun-*")))
    cancelled.send_signal(signal.SIGTERM)
    ended = cancelled.wait()
    assert (first.returncode, ended.returncode) == (0, 3), ended.stdout
    merged = merge(small, right, tmp_path / "cancelled")
    assert_incomplete(merged, "shard 2/2 did not run to its end: the run was cancelled by SIGTERM", AGAIN)

    (meeting_place / "go").touch()
    second = begin(small, forks, "2/2", right / "shard-2").wait()
    assert second.returncode == 0, second.stdout
    for name, (spoil, problem, remedy) in FAULTS.items():
        shutil.copytree(right, tmp_path / name)
        spoil(tmp_path / name / "shard-2")
        assert_incomplete(merge(small, tmp_path / name), problem, remedy)
    whole = merge(small, right)
    assert (whole.code, whole.outputs["conclusion"]) == (0, "passed"), whole.printed


def test_a_database_that_goes_away_in_the_middle_never_passes_and_its_shard_is_to_be_run_again(
    small: SmallRepository, forks: GateForks, meeting_place: Path, tmp_path: Path
) -> None:
    for name in ("a_first", "b_elsewhere", "d_elsewhere", "e_last"):
        small.scenario(name, "say Bonjour")
    small.scenario("c_waits", f"signal {meeting_place}")
    small.commit()
    url, reports = small.environment["RATIBA_DATABASE_URL"], [tmp_path / "shard-1", tmp_path / "shard-2"]
    server = conninfo_to_dict(url)
    with closing_proxy(f"{server['host']}/.s.PGSQL.{server['port']}") as proxy:
        through = make_conninfo(url, host="127.0.0.1", port=proxy.port)
        shard = begin(small, forks, "1/2", reports[0], RATIBA_DATABASE_URL=through)
        other = begin(small, forks, "2/2", reports[1]).wait()
        eventually(lambda: list(meeting_place.glob("begun-*")))
        proxy.close()
        (meeting_place / "go").touch()
        ended = shard.wait()
    assert (ended.returncode, other.returncode) == (0, 0), ended.stdout
    merged = merge(small, *reports)
    assert_incomplete(
        merged,
        "2 of 5 scenarios could not be measured (c_waits, e_last): tenant error",
        "Fix the tenant error of c_waits, then run shard 1/2 again (on GitHub: re-run its job, which did not fail), "
        "then merge again.",
    )
    assert merged.outputs["passed"] == 3
    again = begin(small, forks, "1/2", reports[0]).wait()
    assert again.returncode == 0, again.stdout
    whole = merge(small, *reports)
    assert (whole.code, whole.outputs["passed"]) == (0, 5), whole.printed
