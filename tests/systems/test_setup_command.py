"""Set-up that declares what it reads runs once for all copies in which that is equal, and nobody changes its result."""

import json
import os
import shlex
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.errors import WorkerError
from ratiba_action.model.scenario import Turn
from ratiba_action.systems.setup_command import SharedSetups
from ratiba_action.systems.worker_system import WorkerSystem
from ratiba_action.systems.workplace import Use
from ratiba_action.worker import landlock
from tests.systems.workers import open_session, worker_system

StartArm = Callable[..., Awaitable[WorkerSystem]]

ADAPTER = """\
class Adapter:
    def open(self, context):
        return self
    def send(self, message):
        import contextlib, json, os, subprocess, sys
        found = {}
        exec(message, globals() | locals(), found)
        return {"text": json.dumps(found.get("said"))}
"""
UNIQUE = "mkdir env && cp requirements.txt env/ && od -An -N16 -tx1 /dev/urandom >env/mark"
"""Every run of it leaves another mark."""
LOCK = {"requirements.txt": "tiny==1.0\n"}


@pytest.fixture
def meeting_place() -> Iterator[Path]:
    """A folder that set-up can write to, whoever it runs as."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture
async def start_arm(tmp_path: Path, scratch: Path) -> AsyncIterator[StartArm]:
    """Starts a side of a run with its files; all sides know of each other's set-ups."""
    setups = SharedSetups()
    systems: list[WorkerSystem] = []

    async def start(name: str, files: dict[str, str], script: str = UNIQUE, **options: Any) -> WorkerSystem:
        root = tmp_path / name
        for path, content in (files | {"assistant.py": ADAPTER}).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content)
        given: dict[str, Any] = {
            "setup": ["sh", "-ec", script],
            "setup_reads": ["requirements.txt"],
            "scratch": scratch,
        }
        system = worker_system(root, setups=setups, **given | options)
        systems.append(system)
        await system.start()
        return system

    yield start
    assert not await setups.altered(), "no test may leave it changed without saying so"
    for system in systems:
        await system.close()


async def output(system: WorkerSystem, code: str) -> Any:
    session = await open_session(system)
    try:
        return json.loads((await session.send(Turn(user=code))).text)
    finally:
        await session.close()


async def marks(*systems: WorkerSystem) -> list[str]:
    return [await output(one, "said = open('env/mark').read()") for one in systems]


async def test_equal_files_are_set_up_once(start_arm: StartArm) -> None:
    head = await start_arm("head", LOCK | {"other.py": "head"})
    base = await start_arm("base", LOCK | {"other.py": "base"})
    judges = await start_arm("head", LOCK, use=Use.JUDGING)
    one, other, third = await marks(head, base, judges)
    assert one == other == third


async def test_set_up_fails_once_for_all(start_arm: StartArm, meeting_place: Path) -> None:
    counted = meeting_place / "counted"
    for name in ("head", "base"):
        with pytest.raises(WorkerError, match="exit code 3"):
            await start_arm(name, LOCK, f"echo x >>{counted}; exit 3")
    assert counted.read_text() == "x\n"


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ({"requirements.txt": "tiny==1.1\n"}, {}),
        ({}, {"script": f"{UNIQUE} #"}),
        ({}, {"python": "/usr/bin/python3"}),
        ({}, {"environment": {"PIP_INDEX_URL": "http://other.example"}}),
        ({"more.txt": "x"}, {"setup_reads": ["requirements.txt", "more.txt"]}),
        ({}, {"setup_reads": None}),
    ],
    ids=["one byte", "command", "interpreter", "variable", "setting", "no setting"],
)
async def test_whatever_differs_is_set_up_for_itself(
    start_arm: StartArm, files: dict[str, str], options: dict[str, Any]
) -> None:
    head = await start_arm("head", LOCK | files, **options)
    base = await start_arm("base", LOCK)
    one, other = await marks(head, base)
    assert one != other


async def test_a_file_that_may_be_executed_is_another(start_arm: StartArm, tmp_path: Path) -> None:
    base = await start_arm("base", LOCK)
    (tmp_path / "head").mkdir()
    (tmp_path / "head" / "requirements.txt").touch(0o755)
    head = await start_arm("head", LOCK)
    one, other = await marks(head, base)
    assert one != other


async def test_set_up_sees_the_declared_files_alone(start_arm: StartArm) -> None:
    files = LOCK | {"setup.py": "", "more/b.txt": "b", "more/c.txt": "c"}
    script = (
        "seen=$(find . -type f | sort) && mkdir env && echo $seen >env/seen && mkdir more/made && echo 1 >more/made/it"
    )
    system = await start_arm("head", files, script, setup_reads=["requirements.txt", "more/b.txt"])
    seen = await output(system, "said = [open('env/seen').read().split(), open('more/made/it').read()]")
    assert seen == [["./more/b.txt", "./requirements.txt"], "1\n"]


async def test_an_editable_install_fails_with_the_settings_name(start_arm: StartArm) -> None:
    with pytest.raises(WorkerError) as failed:
        await start_arm("head", LOCK | {"pyproject.toml": "[project]\n"}, "test -e pyproject.toml")
    assert "exit code 1" in failed.value.problem
    assert "`system.setup_reads`" in failed.value.remedy
    assert "(requirements.txt)" in failed.value.remedy
    assert "editable install" in failed.value.remedy


@pytest.mark.parametrize("script", ["echo >>requirements.txt", "rm requirements.txt", "ln -sf env requirements.txt"])
async def test_a_set_up_that_changes_a_declared_file_is_refused(start_arm: StartArm, script: str) -> None:
    with pytest.raises(WorkerError, match=r"changed or removed 'requirements.txt'") as failed:
        await start_arm("head", LOCK, f"{UNIQUE}; {script}")
    assert "remove `system.setup_reads`" in failed.value.remedy


async def test_a_hard_link_to_a_file_outside_is_refused(start_arm: StartArm, meeting_place: Path) -> None:
    """Whoever may write to the file there would change what the base uses."""
    outside = f"echo good >{meeting_place}/outside && ln {meeting_place}/outside env/inside"
    with pytest.raises(WorkerError, match="a hard link to a file outside its folder"):
        await start_arm("head", LOCK, f"{UNIQUE} && {outside}")
    assert (meeting_place / "outside").stat().st_mode & 0o200, "nothing of it was changed"


async def test_hard_links_within_the_folder_work(start_arm: StartArm) -> None:
    cached = 'mkdir "$HOME/cache" env/b && echo 1 >"$HOME/cache/a" && ln "$HOME/cache/a" env/b/a && ln env/b/a env/c'
    system = await start_arm("head", LOCK, f"{UNIQUE} && {cached}")
    assert await output(system, "said = open('env/c').read()") == "1\n"


async def test_a_folder_that_set_up_closed_hides_nothing_from_the_comparison(start_arm: StartArm) -> None:
    closed = "mkdir env/closed && touch env/closed/file && chmod 111 env/closed"
    system = await start_arm("head", LOCK, f"{UNIQUE} && {closed}")
    look = "said = [os.stat('env/closed').st_mode & 0o777, os.listdir('env/closed')]"
    assert await output(system, look) == [0o555, ["file"]]


async def test_a_name_that_the_system_has_too_is_refused(start_arm: StartArm) -> None:
    with pytest.raises(WorkerError, match=r"made 'env', and the system's files contain that name too"):
        await start_arm("head", LOCK | {"env/mine": "x"})


@pytest.mark.parametrize("goal", ["/etc/passwd", "../base/requirements.txt", "other.txt", "missing"])
async def test_a_declared_link_is_refused(start_arm: StartArm, tmp_path: Path, goal: str) -> None:
    (tmp_path / "head").mkdir()
    (tmp_path / "head" / "requirements.txt").symlink_to(goal)
    with pytest.raises(WorkerError, match=r"`system.setup_reads` names 'requirements.txt', which cannot be read"):
        await start_arm("head", {"other.txt": "tiny==1.0\n"})


async def test_a_file_behind_a_linked_folder_is_refused(start_arm: StartArm, tmp_path: Path) -> None:
    (tmp_path / "head" / "real").mkdir(parents=True)
    (tmp_path / "head" / "real" / "a.txt").write_text("x")
    (tmp_path / "head" / "linked").symlink_to("real")
    with pytest.raises(WorkerError, match=r"names 'linked/a.txt', which cannot be read"):
        await start_arm("head", {}, setup_reads=["linked/a.txt"])


ATTACKS = {
    "write": "open('env/mark', 'a').write('x')",
    "truncate": "os.truncate('env/mark', 0)",
    "make": "open('env/new', 'w')",
    "remove": "os.unlink('env/mark')",
    "rename": "os.rename(os.path.realpath('env/mark'), 'mine')",
    "rename it all": "os.rename(os.path.realpath('env'), os.path.realpath('env') + '2')",
    "link": "os.link(os.path.realpath('env/mark'), 'mine')",
    "add to its home": "open(os.path.realpath('env/../../home/x'), 'w')",
    "add to a declared file": "open(os.path.realpath('env/../requirements.txt'), 'a')",
    "by a child": "subprocess.run(['sh', '-c', 'echo x >env/mark'], check=True)",
}


def tried(attack: str) -> str:
    """Code that says what came of an attack."""
    return (
        f"try:\n    {attack}\n    said = 'done'\nexcept (OSError, subprocess.CalledProcessError):\n    said = 'refused'"
    )


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
@pytest.mark.skipif(not landlock.version(), reason="needs a kernel with Landlock")
async def test_the_system_is_refused_every_change_of_it(start_arm: StartArm, attack: str) -> None:
    head, base = await start_arm("head", LOCK), await start_arm("base", LOCK)
    before = await marks(base)
    assert await output(head, tried(attack)) == "refused"
    assert await marks(base) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has other users to run as")
async def test_a_system_of_another_user_is_refused_a_change_of_modes_and_times_too(start_arm: StartArm) -> None:
    arms = [await start_arm(name, LOCK, python="/usr/bin/python3") for name in ("head", "base")]
    own = [await output(one, "said = [os.getuid(), os.stat('env/mark').st_uid]") for one in arms]
    assert len({uid for uid, _ in own} | {0}) == len(own) + 1, "each side has a user of its own, and none is root"
    assert {owner for _, owner in own} == {0}
    for attack in (*ATTACKS.values(), "os.chmod('env/mark', 0)", "os.utime('env/mark', (1, 1))"):
        assert await output(arms[0], tried(attack)) == "refused", attack
    one, other = await marks(*arms)
    assert one == other


async def test_a_process_that_set_up_leaves_behind_writes_nothing_afterwards(
    start_arm: StartArm, meeting_place: Path
) -> None:
    alive = meeting_place / "alive"
    daemon = (
        f"{UNIQUE}\n"
        f"(setsid sh -c 'while :; do echo x >>env/mark; echo x >>{alive}; sleep 0.02; done' >/dev/null 2>&1 &)\n"
        f"until test -s {alive}; do sleep 0.01; done"
    )
    head = await start_arm("head", LOCK, daemon)
    (first,) = await marks(head)
    size = alive.stat().st_size
    assert "x" in first, "it ran beside set-up"
    assert await marks(head) == [first]
    assert alive.stat().st_size == size
    with pytest.raises(ProcessLookupError):
        _signal_writers(alive)


def _signal_writers(path: Path) -> None:
    """Raise where no process has a file open or names it in its command."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                if str(path).encode() in (entry / "cmdline").read_bytes():
                    return
            except OSError:
                continue
    raise ProcessLookupError


def changed(path: Path) -> None:
    """Change a file's mode and change it back."""
    mode = path.stat().st_mode
    path.chmod(0o777)
    path.chmod(mode)


def opened(folder: Path) -> Path:
    """The folder, after its owner gave back the permission to write to it."""
    folder.chmod(0o755)
    return folder


def made_in(scratch: Path) -> Path:
    """A file that set-up made, where it lies."""
    (mark,) = scratch.glob("ratiba-setup-*/copy/env/mark")
    return mark


CHANGES: Sequence[Callable[[Path], object]] = (
    changed,
    lambda mark: os.utime(mark, ns=(1, 1)),
    lambda mark: (opened(mark.parent) / "new").touch(),
    lambda mark: (opened(mark.parent) / mark.name).unlink(),
    lambda mark: mark.parent.chmod(0),
)


@pytest.mark.parametrize("change", CHANGES, ids=["mode", "times", "new file", "removed", "closed"])
async def test_a_change_that_no_rule_kept_off_is_seen(
    tmp_path: Path, scratch: Path, change: Callable[[Path], object]
) -> None:
    (tmp_path / "assistant.py").write_text(ADAPTER)
    (tmp_path / "requirements.txt").touch()
    setups = SharedSetups()
    system = worker_system(
        tmp_path,
        setup=["sh", "-ec", UNIQUE],
        setup_reads=["requirements.txt"],
        setups=setups,
        scratch=scratch,
    )
    try:
        await system.start()
        assert await setups.altered() == ""
        change(made_in(scratch))
        assert (await setups.altered()).startswith("env")
    finally:
        await system.close()


@pytest.mark.skipif(not landlock.version(), reason="needs Landlock, which keeps a process of the gate's own user out")
async def test_neither_set_up_nor_the_system_writes_to_what_the_gate_runs_by(
    start_arm: StartArm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the gate's own user, who owns what a plain user has installed: the gate reads some modules much later."""
    packages = tmp_path / "packages"
    packages.mkdir()
    monkeypatch.syspath_prepend(packages)
    places = [packages, Path(landlock.__file__).parents[1], Path(sys.prefix), Path(sys.base_prefix)]
    names = [str(place / "planted.pth") for place in places]
    script = "; ".join(f"(echo 'import os' >{shlex.quote(name)}) && echo {name} >>written" for name in names)
    code = f"said = [open('written').read()]\nfor name in {names!r}:\n"
    code += "    with contextlib.suppress(OSError):\n        said.append(open(name, 'w').name)"
    try:
        system = await start_arm(
            "head", LOCK, f"set +e; : >written; {script}; true", setup_reads=None, uid=os.geteuid()
        )
        assert await output(system, code) == [""]
    finally:
        remove(names)


def remove(names: Sequence[str]) -> None:
    for name in names:
        Path(name).unlink(missing_ok=True)


@pytest.mark.skipif(os.geteuid() != 0 or not landlock.version(), reason="only root tries what another user can run")
async def test_an_interpreter_is_tried_where_private_files_are_closed(start_arm: StartArm, meeting_place: Path) -> None:
    """An absolute path may be one of the checkout, so the change's own program."""
    (meeting_place / "secret").write_text("t0ken")
    (meeting_place / "secret").chmod(0o644)
    (meeting_place / "read").touch()
    (meeting_place / "read").chmod(0o666)
    program = meeting_place / "python"
    program.write_text(f"#!/bin/sh\ncat {meeting_place}/secret >>{meeting_place}/read; exit 0\n")
    program.chmod(0o755)
    with pytest.raises(WorkerError):
        await start_arm(
            "head", LOCK, python=str(program), private=[str(meeting_place / "secret")], setup=None, setup_reads=None
        )
    assert (meeting_place / "read").read_text() == ""
