"""What a system under test may try, for the tables of ``test_sandbox.py``; copied into its folder."""
# ruff: noqa: PTH101, PTH104, PTH116, PTH123, PTH211 - the calls themselves are what is tried

import asyncio
import contextlib
import ctypes
import errno  # noqa: F401 - the same
import fcntl
import mmap
import multiprocessing
import os
import resource
import shutil  # noqa: F401 - the same
import signal  # noqa: F401 - the same
import sqlite3
import subprocess
import sys
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import Any

SECRET, BASE, READ_ONLY = (os.environ[name] for name in ("SECRET", "BASE", "READ_ONLY"))
OUTSIDE, MEMORY = int(os.environ["OUTSIDE"]), os.environ["MEMORY"]
X86 = os.uname().machine == "x86_64"
LIBC = ctypes.CDLL(None, use_errno=True)
Path("own").write_text("x")
os.symlink(SECRET, "link")


def call(number: int, *arguments: Any) -> int:
    """A system call by its number, as a program without a C library makes it."""
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in (number, *arguments)]
    result = LIBC.syscall(*wide)
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return int(result)


def number(x86: int, other: int) -> int:
    return x86 if X86 else other


def shell(command: str) -> str:
    """What a command prints; its exit code where it fails."""
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else f"{done.returncode}: {done.stderr.strip()}"


def by_32_bit_entry() -> int:
    """How a process ends that makes a call by the entry of 32-bit programs (``int 0x80``)."""
    code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20 (getpid); int 0x80; ret
    program = (
        f"import ctypes, mmap; m = mmap.mmap(-1, 4096, prot=7); m.write({code!r}); "
        "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()"
    )
    return subprocess.run([sys.executable, "-c", program], check=False).returncode


def with_ring() -> int:
    """A ring does file operations that no filter sees."""
    return call(425, 1, ctypes.create_string_buffer(120))


def leased() -> None:
    with open("own") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)


def controlled(number: int, path: str = "own") -> None:
    """What file systems do by a descriptor that is open for reading."""
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(file, number, bytes(256))
    finally:
        os.close(file)


def refused(attempt: Any) -> bool:
    """Whether an attempt is not permitted; another error is the file system's."""
    try:
        attempt()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def mode(path: str = "own") -> str:
    return oct(os.stat(path).st_mode & 0o7777)


def changed(change: Any, reported: Any = mode) -> Any:
    change()
    return reported()


def by_threads() -> str:
    """Two threads exchange a link under a path that a third one changes the mode of: never of what is private."""
    Path("mine").write_text("x")
    stop = threading.Event()

    def swap() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            os.symlink(("mine", SECRET)[turn % 2], "next")
            os.rename("next", "swapped")

    os.symlink("mine", "swapped")
    thread = threading.Thread(target=swap)
    thread.start()
    for _ in range(300):
        with contextlib.suppress(PermissionError):
            os.chmod("swapped", 0o600)
    stop.set()
    thread.join()
    return mode(SECRET)


def as_a_thread() -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 3)
        except OSError as problem:
            failed.append(problem)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def by_asyncio() -> str:
    async def run() -> str:
        process = await asyncio.create_subprocess_exec("echo", "hi", stdout=asyncio.subprocess.PIPE)
        return (await process.communicate())[0].decode().strip()

    return asyncio.run(run())


def by_pool() -> list[int]:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(abs, [-1, 2])


def database() -> int:
    with contextlib.closing(sqlite3.connect("data.db")) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (7)")
        connection.commit()
        return int(connection.execute("SELECT a FROM t").fetchone()[0])


def migrated() -> str:
    """Alembic upgrades a database of its own."""
    import alembic.command  # not every test needs it
    import alembic.config

    shell(f"{sys.executable} -m alembic init migrations")
    text = Path("alembic.ini").read_text().replace("driver://user:pass@localhost/dbname", "sqlite:///migrated.db")
    Path("alembic.ini").write_text(text)
    configuration = alembic.config.Config("alembic.ini")
    alembic.command.revision(configuration, message="first")
    alembic.command.upgrade(configuration, "head")
    return str(Path("migrated.db").exists())


def installed() -> str:
    """pip installs a wheel that has a script."""
    with zipfile.ZipFile("small-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("small.py", "def main(): print('small')\n")
        wheel.writestr("small-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1\n")
        wheel.writestr("small-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("small-1.dist-info/entry_points.txt", "[console_scripts]\nsmall = small:main\n")
        wheel.writestr("small-1.dist-info/RECORD", "")
    pip = f"{sys.executable} -m pip install -q --no-index --no-deps --target packages ./small-1-py3-none-any.whl 2>&1"
    return shell(f"{pip} && PYTHONPATH=packages packages/bin/small")


def unpacked() -> str:
    """tar keeps modes and times."""
    making = "mkdir -p a/b && echo x >a/b/c && chmod 750 a/b && chmod 604 a/b/c && touch -d @1000000000 a/b/c"
    return shell(f"{making} && tar cf a.tar a && mkdir out && tar xpf a.tar -C out && stat -c '%a %Y' out/a/b/c")


def with_node() -> str:
    Path("times.js").write_text(
        "const f = require('fs'); f.writeFileSync('made', ''); f.chmodSync('made', 0o700); f.utimesSync('made', 1, 2);"
        "console.log(f.statSync('made').mtimeMs)"
    )
    return shell("node times.js")


def unnamed() -> None:
    with tempfile.TemporaryFile() as file:
        os.fchmod(file.fileno(), 0o600)


def ended(number: int) -> int:
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    os.killpg(process.pid, number)
    return process.wait()


def limits() -> dict[str, Any]:
    names = ("CORE", "NOFILE", "FSIZE", "STACK", "SIGPENDING", "NICE")
    return {name: list(resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))) for name in names}


def mapped() -> int:
    with mmap.mmap(-1, 4096) as memory:
        return memory.write(b"x")
