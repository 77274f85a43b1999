"""What all tests share: Hypothesis' settings, their order, one PostgreSQL server and one container image."""

import fcntl
import gc
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
import pytest_asyncio
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.support.file_order import ordered
from tests.support.process_guard import MARKER, ProcessGuard, is_about_processes, mark

if TYPE_CHECKING:
    from tests.support.gate_forks import GateForks

_GUARD: pytest.StashKey[ProcessGuard] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples properties are tried with; keep the rewritten tests for the next run.

    No example is timed. ``repeatable`` tries the same examples in every run and keeps none in the checkout, which may
    be read-only. ``deep`` draws twenty times as many at random, and keeps what failed in ``.hypothesis``.
    """
    profiles = hypothesis.settings
    profiles.register_profile("repeatable", max_examples=50, derandomize=True, database=None, deadline=None)
    kept = DirectoryBasedExampleDatabase(".hypothesis/examples")
    deep: dict[str, Any] = {"max_examples": 1000, "derandomize": False, "database": kept}
    profiles.register_profile("deep", **deep, deadline=None, print_blob=True)
    sys.dont_write_bytecode = False  # of this process; rewriting the asserts of every test takes ten seconds
    profiles.load_profile(os.environ.get("RATIBA_TEST_PROFILE", "repeatable"))
    config.stash[_GUARD] = guard = ProcessGuard()
    sys.addaudithook(guard.note)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Refuse processes of tests that are not marked; see ``process_guard``."""
    with item.config.stash[_GUARD].watching(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """The same of the test itself."""
    with item.config.stash[_GUARD].watching(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from what lives to the end: the modules and items of all tests, a million objects.

    It would look through them again and again, here and in every test. What a test leaves behind, it finds as before.
    """
    gc.disable()
    try:
        collected = yield
    finally:
        gc.enable()
    gc.collect()
    gc.freeze()
    return collected


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file whose tests ``make test-fast`` leaves out, all of them."""
    return True if config.option.markexpr == f"not {MARKER}" and is_about_processes(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first, and files with containers beside them: ``make test`` hands files out in this order."""
    mark(items)
    with_containers = frozenset(_file(item) for item in items if item.get_closest_marker("docker"))
    place = {path: number for number, path in enumerate(ordered(map(_file, items), with_containers))}
    items.sort(key=lambda item: place[_file(item)])


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def embedded_server_dsn() -> AsyncIterator[str]:
    """Connection string of its superuser; the first test that asks for it starts it."""
    from tests.support.servers import open_server  # only tests that ask for it pay

    async with open_server(None) as server:
        yield server.dsn


@pytest_asyncio.fixture
async def database(embedded_server_dsn: str) -> AsyncIterator[str]:
    """Connection string of an empty database, for tests of what many runs share."""
    from psycopg.conninfo import make_conninfo

    from tests.support.sql import run_sql

    name = f"shared_{uuid.uuid4().hex[:12]}"
    await run_sql(embedded_server_dsn, f"CREATE DATABASE {name}")
    yield make_conninfo(embedded_server_dsn, dbname=name)
    await run_sql(embedded_server_dsn, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def forks() -> Iterator["GateForks"]:
    """Gates that start with everything loaded; the first test that asks for it starts them."""
    from tests.support.gate_forks import gate_forks

    with gate_forks() as started:
        yield started


@pytest.fixture(scope="session")
def quiet_deepeval(tmp_path_factory: pytest.TempPathFactory) -> None:
    """DeepEval in the tests' own process stays off the network and the checkout.

    It is not undone: DeepEval reads its opt-out again when the interpreter ends.
    """
    from tests.support.deepeval_settings import configure_deepeval

    configure_deepeval(os.environ, tmp_path_factory.mktemp("deepeval"))


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of a twentieth before another try, for tests of what is tried again and not of when."""
    from ratiba_action.util.http_exchange import RetryPolicy

    usual = RetryPolicy.wait

    def short(policy: RetryPolicy, tries: int, error: Any, left: float) -> float | None:
        wait = usual(policy, tries, error, left)
        return None if wait is None else wait / 20

    monkeypatch.setattr(RetryPolicy, "wait", short)


@pytest.fixture(scope="module")
def alone_with_system_containers() -> Iterator[None]:
    """No other file of tests starts containers of systems meanwhile: some assert that the daemon has none left."""
    with (Path(tempfile.gettempdir()) / "ratiba-tests-of-system-containers").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder that every user can enter, unlike pytest's own, and whose name leaves room for a socket's."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture(scope="session")
def image() -> Iterator[str]:
    """Tag of the gate's image, built by the project's Dockerfile."""
    from tests.support.container_image import build, why_not

    reason = why_not()
    if reason:
        pytest.skip(reason)
    tag = f"ratiba-eval-gate:test-{uuid.uuid4().hex[:8]}"
    build(Path(__file__).parent.parent, tag)
    yield tag
    subprocess.run(["docker", "image", "rm", "--force", tag], capture_output=True, check=True)
