"""A hostile system in its sandbox, beside processes, folders and segments that stand for the other parties of a run.

What it does in one conversation must leave all of them as they were, and the base's conversations answering.
"""

import asyncio
import ctypes
import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from fuzz.background_loop import BackgroundLoop
from fuzz.case import Case
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.errors import WorkerError
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.systems.worker_system import WorkerAdapter, WorkerSystem
from ratiba_action.systems.workplace import Surroundings

HERE = Path(__file__).parent
LIGHT = ("modes", "owners_and_times", "limits", "own_limits", "priorities", "signals", "signals_by_files", "traces",
         "clock", "shared_memory", "locks", "watches")  # fmt: skip
HEAVY = ("disk", "inodes", "memory", "descriptors", "processes", "processor", "sockets")
STEPS = ("open", "first turn", "last turn", "later", "daemon", "close")
MAX = 60
"""Cases after which the systems are started anew: what a conversation wrote to its own copy stays for the next one."""
ADAPTER = """\
import json, misdeeds


class Adapter:
    def open(self, context):
        return self

    def send(self, message):
        orders = json.loads(message)
        misdeeds.kept.append(orders)
        step = orders["step"]
        if step in ("open", "first turn", "last turn"):
            misdeeds.do(orders)
        elif step == "later":
            misdeeds.threading.Timer(0.01, misdeeds.do, (orders,)).start()
        elif step == "daemon":
            misdeeds._leave_behind(orders)
        return {"text": "done"}

    def close(self):
        for orders in [kept for kept in misdeeds.kept if isinstance(kept, dict)]:
            misdeeds.do(orders) if orders["step"] == "close" else None
"""
HONEST = """\
import tempfile


class Adapter:
    def open(self, context):
        return self

    def send(self, message):
        with tempfile.TemporaryFile() as file:
            file.write(b"x" * (1 << 20))
        return {"text": message}
"""
SCENARIO = Scenario("victims", "fr", (), datetime(2026, 4, 25, 7, 0, tzinfo=UTC), Customer("Amina", "+254700000001"))
TENANT = Tenant("7d0c", "test_tenant_spa_1a2b3c4d", "postgresql://role:phrase@localhost:5432/db")
libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Victims:
    """What stands for the other parties of a run.

    Args:
        places: folders of theirs.
        pids: processes of theirs.
        segments: shared memory of System V that is theirs.
    """

    places: tuple[Path, ...]
    pids: tuple[int, ...]
    segments: tuple[int, ...]

    def state(self) -> Mapping[str, Any]:
        """Everything of them that somebody could have changed."""
        found: dict[str, Any] = {f"process {pid}": _process(pid) for pid in self.pids}
        found |= {
            f"segment {number}": libc.shmctl(number, 2, ctypes.create_string_buffer(256)) for number in self.segments
        }
        return found | {str(path): _file(path) for place in self.places for path in (place, *place.rglob("*"))}

    def changes(self, before: Mapping[str, Any]) -> list[str]:
        """What differs from an earlier state, in words."""
        after = self.state()
        names = dict.fromkeys((*before, *after))
        return [
            f"{name}: {before.get(name)} became {after.get(name)}"
            for name in names
            if before.get(name) != after.get(name)
        ]


@contextmanager
def open_victims(*places: Path, pids: Sequence[int] = ()) -> Iterator[Victims]:
    """Start a process and make segments, and end them.

    Args:
        places: further folders to guard.
        pids: further processes to guard.
    """
    with subprocess.Popen(["sleep", "100000"], start_new_session=True) as victim:
        segments = tuple(libc.shmget(0, 4096, 0o1600) for _ in range(2))
        try:
            yield Victims(places, (victim.pid, *pids), segments)
        finally:
            victim.kill()
            for number in segments:
                libc.shmctl(number, 0, None)


@dataclass
class Scene:
    """The victims, a hostile system and a system of the base beside them.

    Args:
        cases: how many conversations the hostile system has had.
    """

    victims: Victims
    head: WorkerSystem
    base: WorkerSystem
    loop: BackgroundLoop
    cases: int = 0


def harm_victims(case: Case) -> None:
    """One conversation that does a few misdeeds."""
    scene, rng = case.services.scene(), case.rng
    victims, step = scene.victims, rng.choice(STEPS)
    deeds = rng.choices((*LIGHT, rng.choice(HEAVY)), k=rng.choice((1, 1, 2, 4)))
    case.note = f"{step}: {', '.join(deeds)}"
    orders = {"step": step, "deeds": deeds, "seed": case.seed, "places": [*map(str, victims.places)], "most": 1}
    before = victims.state()
    scene.cases += 1
    try:
        text = scene.loop.run(_talk(scene.head, json.dumps(orders | {"pids": victims.pids})))
        case.count("conversations of misdeeds that came to their end", text == "done")
        changed = victims.changes(before)
        case.require("h", "; ".join(changed)[:2000], holds=not changed)
        text = scene.loop.run(_talk(scene.base, "fine"))
        case.require("h", f"a conversation of the base afterwards: {text!r}", holds=text == "fine")
    except BaseException:
        scene.cases = MAX  # whoever comes next has others
        raise


async def _talk(system: WorkerSystem, message: str) -> str:
    """A conversation of one turn; what it answered, or why it did not."""
    try:
        session = await system.open(SCENARIO, TENANT, {})
    except WorkerError as error:
        return str(error)
    try:
        reply = await session.send(Turn(user=message))
        if "daemon" in message or "later" in message:
            await asyncio.sleep(0.1)
    except WorkerError as error:
        return str(error)
    else:
        return reply.text
    finally:
        await session.close()


@contextmanager
def open_scene(top: Path, loop: BackgroundLoop) -> Iterator[Scene]:
    """Start everything, and end it."""
    folder = Path(mkdtemp(dir=top))
    folder.chmod(0o711)
    files = {
        "private/ledger": "USD 1",
        "private/deep/report": "failed",
        "repository/assistant.py": ADAPTER,
        "honest/assistant.py": HONEST,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    shutil.copy(HERE / "misdeeds.py", folder / "repository")
    (folder / "private").chmod(0o700)
    scratch = folder / "scratch"
    scratch.mkdir(mode=0o711)
    private = (str(folder / "private"), str(scratch))
    block = SystemBlock(adapter="assistant:Adapter", turn_timeout_seconds=5.0)
    base, head = (
        WorkerSystem(WorkerAdapter("assistant:Adapter"), block, Surroundings(root, os.environ, scratch, None, private))
        for root in (folder / "honest", folder / "repository")
    )
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        before, copies = _guardians(), list[Path]()
        for system in (base, head):
            stack.callback(_close, loop, system)
            loop.run(system.start())
            copies = copies or [path / "copy" for path in scratch.iterdir()]
        guarded = (folder / "private", folder / "repository", *copies)
        victims = stack.enter_context(open_victims(*guarded, pids=sorted(_guardians() - before)))
        yield Scene(victims, head, base, loop)


def _close(loop: BackgroundLoop, system: WorkerSystem) -> None:
    loop.run(system.close())


def _guardians() -> set[int]:
    """Those that this process has started."""
    own = Path(f"/proc/{os.getpid()}/task")
    children = " ".join(path.read_text() for path in own.glob("*/children"))
    return {int(pid) for pid in children.split() if b"guardian" in _command(int(pid))}


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _process(pid: int) -> Any:
    """What one process of the same user could have changed of another."""
    limits = [value for name, value in sorted(vars(resource).items()) if name.startswith("RLIMIT_")]
    with suppress(OSError):
        words = dict(
            line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
        )
        answers = {
            name: Path(f"/proc/{pid}/{name}").read_text() for name in ("oom_score_adj", "coredump_filter", "autogroup")
        }
        return {
            "limits": [resource.prlimit(pid, which) for which in limits],
            "nice": os.getpriority(os.PRIO_PROCESS, pid),
            "affinity": sorted(os.sched_getaffinity(pid)),
            "policy": os.sched_getscheduler(pid),
            "io": libc.syscall(252, 1, pid),
            "stopped": words["State"][:1] in "TtZX",
            "traced": words["TracerPid"],
            **answers,
        }
    return "gone"


def _file(path: Path) -> Any:
    with suppress(OSError):
        status = path.lstat()
        extended = {name: os.getxattr(path, name) for name in os.listxattr(path)}
        content = path.read_bytes() if path.is_file() else b""
        return (oct(status.st_mode), status.st_uid, status.st_gid, status.st_mtime, extended, content)
    return "cannot be read"
