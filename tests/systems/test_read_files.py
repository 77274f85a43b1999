"""Which files a system reads: what its process reports, what the kernel dates, and what a hostile one makes of it."""

import contextlib
from pathlib import Path

import pytest

from ratiba_action.errors import WorkerError
from ratiba_action.model.scenario import Turn
from ratiba_action.systems.read_files import ReadFiles
from ratiba_action.systems.worker_system import WorkerSystem
from tests.systems.conftest import StartWorker
from tests.systems.workers import open_session, worker_system

ADAPTER = """
import os

class Adapter:
    def migrate(self, database_url):
        if database_url:
            open("knowledge/returns.md").read()
    def open(self, context):
        return self
    def send(self, message):
        exec(message, {"os": os})
        return {"text": "read"}
"""
"""Runs what it is told."""


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """The system's folder with files that no test names unless it reads them."""
    root = tmp_path / "system"
    files = {
        "prompts/guest.md": "Be kind.",
        "prompts/unread.md": "Nobody reads this.",
        "knowledge/returns.md": "30 days.",
        "helper.py": "VALUE = 1\n",
        "unread.py": "VALUE = 2\n",
        "package/__init__.py": "",
        "package/prompt.txt": "You are kind.",
        "docs/README.md": "Nobody reads this either.",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "link.md").symlink_to("knowledge/returns.md")
    return root


async def run(system: WorkerSystem, *codes: str) -> None:
    """Run each code in a scenario of its name."""
    for code in codes:
        session = await open_session(system, code)
        with contextlib.suppress(WorkerError):
            await session.send(Turn(user=code))
        await session.close()


READING = {
    "import helper": {"helper.py"},
    "open('prompts/guest.md').read()": {"prompts/guest.md"},
    "__import__('pathlib').Path('prompts', 'guest.md').read_bytes()": {"prompts/guest.md"},
    "os.close(os.open(b'prompts/guest.md', os.O_RDONLY))": {"prompts/guest.md"},
    "os.chdir('prompts'); open('guest.md').read(); os.chdir('/')": {"prompts/guest.md"},
    "open(os.path.join(os.getcwd(), 'docs', '..', 'prompts/guest.md')).read()": {"prompts/guest.md"},
    "open('link.md').read()": {"knowledge/returns.md"},
    "__import__('importlib.resources').resources.read_text('package', 'prompt.txt')": {
        "package/__init__.py",
        "package/prompt.txt",
    },
    "__import__('sqlite3').connect('file:knowledge/returns.md?mode=ro', uri=True)": {"knowledge/returns.md"},
    "__import__('sqlite3').connect('knowledge/returns.md')": {"knowledge/returns.md"},
    "open('docs/made.md', 'w').write('changed')": set(),
    "os.path.exists('docs/README.md') and os.listdir('docs')": set(),
    "open('prompts/guest.md').read(); raise LookupError": {"prompts/guest.md"},
    "import helper  # again, from its compiled form": {"helper.py"},
}


@pytest.mark.usefixtures("given")
async def test_what_is_opened_to_read_is_noted(start_worker: StartWorker) -> None:
    system = await start_worker(ADAPTER)
    await system.migrate("")
    await system.watch_reads()
    await run(system, *READING)
    assert {code: system.reads.of(code) for code in READING} == {
        code: {"assistant.py", *files} for code, files in READING.items()
    }
    assert system.reads.of("a scenario that was not run") == set()


@pytest.mark.usefixtures("given")
async def test_what_the_migration_reads_counts_for_every_scenario(start_worker: StartWorker) -> None:
    system = await start_worker(ADAPTER)
    await system.migrate("postgresql://localhost/unused")
    await system.watch_reads()
    await run(system, "pass")
    assert system.reads.of("pass") == {"assistant.py", "knowledge/returns.md"}


@pytest.mark.usefixtures("given")
async def test_what_a_framework_reads_while_it_is_preloaded_counts_too(
    start_worker: StartWorker, scratch: Path
) -> None:
    (scratch / "elsewhere").mkdir()
    (scratch / "elsewhere" / "framework.py").write_text("def load():\n    open('prompts/guest.md').read()\n")
    environment = {"PYTHONPATH": str(scratch / "elsewhere")}
    system = await start_worker(ADAPTER, preload=["framework:load"], environment=environment)
    await system.watch_reads()
    await run(system, "pass")
    assert system.reads.of("pass") == {"assistant.py", "prompts/guest.md"}


HOSTILE = (
    "__import__('subprocess').run(['cat', 'prompts/guest.md'], check=True)",
    "open('prompts/guest.md').read(); os._exit(3)",
    "open('/proc/self/stat'); open('/proc/self/cwd/../../etc/passwd'); open('prompts/guest.md').read()",
    "import gc; [vars(o).clear() for o in gc.get_objects() if type(o).__name__ == 'Reads']; open('helper.py')",
    "[open(f'made-{n}', 'w').close() for n in range(50)]; [open(f'made-{n}') for n in range(50)]; os.mkfifo('fifo')",
)


@pytest.mark.usefixtures("given")
async def test_what_the_hook_does_not_see_is_dated_by_the_kernel_and_other_files_are_never_named(
    start_worker: StartWorker,
) -> None:
    system = await start_worker(ADAPTER)
    await system.watch_reads()
    await run(system, *HOSTILE)
    read = [system.reads.of(code) for code in HOSTILE]
    assert read[:2] == [{"assistant.py", "prompts/guest.md"}, {"prompts/guest.md"}]
    assert all(files <= {"assistant.py", "helper.py", "prompts/guest.md"} for files in read)


@pytest.mark.usefixtures("given")
async def test_a_scenario_has_what_was_accessed_while_it_ran_and_no_scenario_reported(
    start_worker: StartWorker,
) -> None:
    system = await start_worker(
        """
        import subprocess

        class Adapter:
            def open(self, context):
                return self
            def send(self, message):
                subprocess.run(["cat", message], check=True)
                return {"text": "read"}
        """
    )
    await system.watch_reads()
    first, second = await open_session(system, "first"), await open_session(system, "second")
    await first.send(Turn(user="prompts/guest.md"))
    await first.close()
    await second.send(Turn(user="knowledge/returns.md"))
    await second.close()
    third = await open_session(system, "third")
    await third.close()
    assert system.reads.of("first") == {"assistant.py", "prompts/guest.md"}
    assert system.reads.of("second") == {"assistant.py", "knowledge/returns.md", "prompts/guest.md"}
    assert system.reads.of("third") == {"assistant.py"}


async def test_a_system_in_another_language_is_watched_by_times_of_access(given: Path) -> None:
    answer = r'{"text": "x"}'
    script = f"while read -r line; do cat prompts/guest.md >&2; echo '{answer}'; done\n"
    (given / "system.sh").write_text(script)
    system = worker_system(given, "ratiba_worker.command_system:Adapter", options={"argv": ["sh", "system.sh"]})
    await system.start()
    try:
        await system.watch_reads()
        session = await open_session(system)
        await session.send(Turn(user="?"))
        await session.close()
        assert system.reads.of("spa") == {"prompts/guest.md", "system.sh"}
    finally:
        await system.close()


@pytest.mark.parametrize(
    "reported",
    [
        None,
        3,
        "agent.py",
        {"agent.py": 1},
        ["../agent.py", "/etc/passwd", "", "a\nb", "a\0b", 7, None, ["agent.py"], "x" * 9999],
        ["unknown.py"] * 100_000,
    ],
)
async def test_what_a_hostile_process_tells_is_taken_for_nothing(reported: object, tmp_path: Path) -> None:
    reads = ReadFiles()
    await reads.watch(tmp_path, ["agent.py"])
    reads.opened("spa")
    reads.report("spa", reported)
    assert reads.of("spa") == set()
    reads.report("spa", ["agent.py"])
    assert reads.of("spa") == {"agent.py"}


async def test_an_installed_package_stands_for_its_source(tmp_path: Path) -> None:
    reads = ReadFiles()
    await reads.watch(tmp_path, ["src/shop/prompt.md", "one/same.md", "two/same.md"])
    reads.opened("spa")
    folder = ".venv/lib/python3.12/site-packages"
    reads.report("spa", [f"{folder}/shop/prompt.md", f"{folder}/same.md", f"{folder}/other/x.py"])
    assert reads.of("spa") == {"src/shop/prompt.md"}


async def test_a_file_that_cannot_be_dated_counts_as_unread(tmp_path: Path) -> None:
    reads = ReadFiles()
    await reads.watch(tmp_path, ["gone.md"])
    reads.opened("spa")
    await reads.closed("spa")
    assert reads.of("spa") == set()
    assert reads.early == set()


async def test_nothing_outside_the_copy_is_touched_when_the_system_moves_its_folders(tmp_path: Path) -> None:
    copy, outside = tmp_path / "copy", tmp_path / "outside"
    for folder in (copy / "prompts", outside):
        folder.mkdir(parents=True)
        (folder / "guest.md").write_text("Be kind.")
    (copy / "linked").symlink_to(outside)
    reads = ReadFiles()
    await reads.watch(copy, ["prompts/guest.md", "linked/guest.md"])
    before = (outside / "guest.md").stat()
    (copy / "prompts").rename(copy / "moved")
    (copy / "prompts").symlink_to(outside)
    (copy / "moved" / "guest.md").unlink()
    (copy / "moved" / "guest.md").symlink_to(outside / "guest.md")
    reads.opened("spa")
    await reads.closed("spa")
    reads.close()
    assert reads.of("spa") == set()
    after = (outside / "guest.md").stat()
    assert (after.st_atime_ns, after.st_ctime_ns) == (before.st_atime_ns, before.st_ctime_ns)
