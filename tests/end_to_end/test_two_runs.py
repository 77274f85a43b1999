"""Runs that crash, and runs that share a database, as seen from outside."""

import operator
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ratiba_action.tenancy.server import choose_server
from tests.support.eventually import eventually
from tests.support.gate_forks import StartedGate
from tests.support.small_repository import SmallRepository

OURS = "^(test_tenant|ratiba_template)_"


def left_behind(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as connection:
        schemas = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname ~ %s", [OURS]).fetchall()
        roles = connection.execute("SELECT rolname FROM pg_roles WHERE rolname ~ %s", [OURS]).fetchall()
    return [str(row[0]) for row in schemas + roles]


def tenants(dsn: str) -> list[str]:
    return [name for name in left_behind(dsn) if name.startswith("test_tenant_")]


def descendants(pid: int) -> list[int]:
    """Every process below one, read from /proc."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
    found, edge = [], [pid]
    while edge:
        edge = [child for child, parent in parents.items() if parent in edge]
        found += edge
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files that no other run uses; not around the meeting place, which would close that."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o1777)
        yield Path(name)


def begin(small: SmallRepository, folder: Path) -> StartedGate:
    """A run whose conversation waits for the file ``go`` in the folder."""
    small.scenario("waits", f"signal {folder}", "say bye")
    process = small.start()
    eventually(lambda: list(folder.glob("begun-*")))
    return process


def test_a_killed_run_leaves_no_process_and_the_next_run_sweeps_its_schemas_and_roles(
    small: SmallRepository, meeting_place: Path
) -> None:
    dsn = small.environment["RATIBA_DATABASE_URL"]
    process = begin(small, meeting_place)
    below = descendants(process.pid)
    assert len(below) >= 2, "a fork server and a conversation"
    process.kill()
    process.wait()
    eventually(lambda: [pid for pid in below if alive(pid)], until=operator.not_)
    assert tenants(dsn), "the crash left its tenant"
    small.scenario("waits", "say hello")
    assert small.gate().code == 0
    assert left_behind(dsn) == []


def test_two_runs_at_once_on_one_database_do_not_disturb_each_other(
    small: SmallRepository, tmp_path: Path, meeting_place: Path
) -> None:
    dsn = small.environment["RATIBA_DATABASE_URL"]
    process = begin(small, meeting_place)
    (held,) = {name for name in tenants(dsn) if "waits" in name}
    small.scenario("talks", "say hello")
    ended = small.gate("--scenario", "talks", "--report-dir", str(tmp_path / "other-report"))
    assert ended.code == 0, ended.printed
    assert held in tenants(dsn)
    (meeting_place / "go").touch()
    done = process.wait()
    assert done.returncode == 0, done.stderr
    assert left_behind(dsn) == []


def test_a_killed_run_with_its_own_server_leaves_no_server_and_no_data_folder_after_the_next(
    small: SmallRepository, meeting_place: Path, temporary: Path
) -> None:
    small.environment.pop("RATIBA_DATABASE_URL")
    small.environment["TMPDIR"] = str(temporary)
    process = begin(small, meeting_place)
    below = descendants(process.pid)
    ours = [*temporary.glob("ratiba-run-*"), *data_folders(below)]
    assert len(ours) == 2, "a scratch folder and a server's folder"
    process.kill()
    process.wait()
    eventually(lambda: [pid for pid in below if alive(pid)], until=operator.not_)
    small.scenario("waits", "say hello")
    assert small.gate().code == 0
    assert [folder for folder in ours if folder.exists()] == []


def data_folders(pids: list[int]) -> list[Path]:
    """Folders of the servers among some processes, known by their working directory."""
    folders = []
    for pid in pids:
        try:
            here = Path(f"/proc/{pid}/cwd").readlink()
        except OSError:  # the gate's own processes hide from their user; a server does not
            continue
        if here.name == "data" and here.parent.name.startswith("ratiba-pg-"):
            folders.append(here.parent)
    return sorted(set(folders))


async def test_a_database_that_disappears_in_mid_run_keeps_what_was_measured(
    small: SmallRepository, meeting_place: Path
) -> None:
    server = choose_server(None)
    await server.start()
    small.environment["RATIBA_DATABASE_URL"] = server.dsn
    small.scenario("a_talks", "say hello")
    small.scenario("b_waits", f"signal {meeting_place}", "say bye")
    process = small.start("--concurrency", "1")
    eventually(lambda: list(meeting_place.glob("begun-*")))
    await server.stop()
    (meeting_place / "go").touch()
    done = process.wait(120)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    comment = (small.report / "comment.md").read_text()
    assert "1 of 2 scenarios passed" in comment
