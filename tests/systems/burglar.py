"""An adapter that looks for planted secrets wherever its process can reach. Copied into a system by the test."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECRET = re.compile(rb"PLANTED(?:_LATER)?_[0-9a-f]{16}")
LARGEST = 10_000_000


class Adapter:
    def open(self, _context: Any) -> "Adapter":
        return self

    def send(self, _message: str) -> dict[str, Any]:
        found: dict[str, Any] = {
            "environment": SECRET.findall(repr(dict(os.environ)).encode()) != [],
            "files": [str(path) for path in files() if SECRET.search(read(path) or b"")],
            "descriptors": sorted(link(path) for path in Path("/proc/self/fd").iterdir()),
            "uid": os.getuid(),
            "groups": os.getgroups(),
            "capabilities": capabilities(),
        }
        for part in ("environ", "cmdline", "fd", "mem", "maps", "cwd"):
            found[part] = sorted(int(pid.name) for pid in processes() if leaks(pid / part))
        found["moved"] = [int(pid.name) for pid in processes() if moves(pid)]
        found["opened_memory"] = sorted(int(pid.name) for pid in processes() if opens_memory(pid))
        return {"text": json.dumps(found)}


def processes() -> Iterator[Path]:
    return (path for path in Path("/proc").iterdir() if path.name.isdigit())


def files() -> Iterator[Path]:
    for top in (os.environ["LOOK"], os.environ["HOME"], os.environ["TMPDIR"], Path.cwd(), Path.cwd().parent):
        for folder, _, names in os.walk(top):
            yield from (Path(folder) / name for name in names)


def leaks(path: Path) -> bool:
    try:
        if path.name == "fd":
            return any(SECRET.search(read(entry) or b"") for entry in path.iterdir())
        return path.name not in ("mem", "cwd") and SECRET.search(read(path) or b"") is not None
    except OSError:
        return False


def opens_memory(pid: Path) -> bool:
    if pid.name == str(os.getpid()):
        return False
    try:
        os.close(os.open(pid / "mem", os.O_RDONLY))
    except OSError:
        return False
    return True


def moves(pid: Path) -> bool:
    """Whether a process that is not this one can be told which processors to run on."""
    if pid.name == str(os.getpid()):
        return False
    try:
        os.sched_setaffinity(int(pid.name), os.sched_getaffinity(0))
    except OSError:
        return False
    return True


def read(path: Path) -> "bytes | None":
    try:
        if path.is_fifo() or path.is_socket() or path.is_char_device():
            return None
        with path.open("rb") as file:
            return file.read(LARGEST)
    except OSError:
        return None


def link(path: Path) -> str:
    try:
        return re.sub(r"\d+", "N", str(path.readlink()))
    except OSError:
        return ""


def capabilities() -> "dict[str, str]":
    lines = (line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return {line[0]: line[1].strip() for line in lines if line[0].startswith("Cap") or line[0] == "NoNewPrivs"}
