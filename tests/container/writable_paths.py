"""Runs inside the container: prints its capabilities and the file systems of all that it may write to."""

import json
import os
from pathlib import Path

mounts = {}
for line in Path("/proc/self/mountinfo").read_text().splitlines():
    fields, _, described = line.partition(" - ")
    mounts[fields.split()[4]] = described.split()[0]


def mount_of(path: str) -> str:
    while path not in mounts:
        path = os.path.dirname(path)  # noqa: PTH120 - a plain string is looked up
    return path


writable: dict[str, str] = {}
for parent, folders, files in os.walk("/"):
    if parent == "/":
        folders.remove("proc")
    for path in [parent, *(os.path.join(parent, name) for name in files)]:  # noqa: PTH118 - many thousand paths
        if os.access(path, os.W_OK) and not Path(path).is_symlink():
            mount = mount_of(path)
            writable[mount] = mounts[mount]

status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
print(  # noqa: T201 - its answer
    json.dumps(
        {
            "CapEff": status["CapEff"],
            "CapBnd": status["CapBnd"],
            "NoNewPrivs": status["NoNewPrivs"],
            "writable": writable,
            "environment": sorted(os.environ),
            "sockets": [path for path in ("/var/run/docker.sock", "/run/docker.sock") if Path(path).exists()],
        }
    )
)
