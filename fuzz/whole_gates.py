"""Whole gates on this machine: every process, with a hostile change, system, providers and GitHub, and signals."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzz.attacks import Ground
from fuzz.case import Case
from fuzz.world import World, hostile_world, pull_request_variables

SECONDS = 100


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended."""

    code: int
    printed: str


def gate_on_host(case: Case) -> None:
    """``ratiba gate`` as a step of a workflow, forked with everything loaded."""
    _run(case, signals=())


def signal_on_host(case: Case) -> None:
    """The same with one to three signals at random moments, and the concluding step after it."""
    chosen = [signal.SIGINT, signal.SIGTERM, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
    latest = case.rng.choice((0.05, 0.3, 1.5, 4.0))
    signals = [(case.rng.uniform(0, latest), case.rng.choice(chosen)) for _ in range(case.rng.randint(1, 3))]
    _run(case, signals=sorted(signals))


def _run(case: Case, signals: Sequence[tuple[float, signal.Signals]]) -> None:
    left = case.folder / "left"
    left.mkdir()
    reached = [str(case.folder / "checkout"), str(left), str(left / "report"), str(case.folder / "home")]
    files = [f"{left}/{name}" for name in ("output", "summary", "report/results.json", "report/comment.md")]
    ground = Ground(reached, [*reached, *files], (), case.nonce)
    before = case.services.left_in_database()
    with hostile_world(case, ground) as world:
        environment = {
            **pull_request_variables(world, case.folder / "event.json"),
            **world.inputs,
            **world.secrets,
            "PATH": os.environ["PATH"],
            "RUNNER_TEMP": str(case.folder),
            "HOME": str(case.folder / "home"),
            "GITHUB_OUTPUT": str(left / "output"),
            "GITHUB_STEP_SUMMARY": str(left / "summary"),
            "RATIBA_DATABASE_URL": case.services.database,
            "RATIBA_REPORT_DIR": str(left / "report"),
        }
        ended = _started(case, environment, world, signals)
        code, printed = ended.code, ended.printed
        world.require_nothing_running()
        if signals:
            last = _forked(case, ["report", "--unfinished"], environment, world, ())
            code, printed = code or last.code, f"{printed}\n{last.printed}"
            if not (left / "report" / "results.json").exists():
                code = code or 1
        world.require_all(code, printed, left, signalled=bool(signals))
    marker = case.services.folder / "ran"
    ran = marker.read_text(errors="replace") if marker.exists() else ""
    marker.unlink(missing_ok=True)
    case.require("a", f"a command of the change ran: {ran[:500]!r}", holds=not ran)
    if signal.SIGKILL not in [number for _, number in signals]:
        after = case.services.left_in_database()
        made = sorted({*after} - {*before})  # what a killed gate left is swept by the next one
        case.require("g", f"left in the database: {made}", holds=not made)


def _started(
    case: Case, environment: Mapping[str, str], world: World, signals: Sequence[tuple[float, signal.Signals]]
) -> Ended:
    """The gate, forked; when it is signalled at once, mostly as a new process, whose start-up counts too."""
    case.count("whole gates on the host")
    if signals and case.chance(0.3):
        return _process(["gate"], environment, world, signals)
    return _forked(case, ["gate"], environment, world, signals)


def _process(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    world: World,
    signals: Sequence[tuple[float, signal.Signals]],
) -> Ended:
    command = [sys.executable, "-m", "ratiba_action", *arguments]
    process = subprocess.Popen(
        command, cwd=world.change.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    timers = _timers(process.pid, signals)
    printed, _ = process.communicate(timeout=SECONDS)
    _cancel(timers)
    return Ended(process.returncode, printed.decode(errors="replace"))


def _forked(
    case: Case,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    world: World,
    signals: Sequence[tuple[float, signal.Signals]],
) -> Ended:
    """A gate of the fork server, which says its process id first; see ``GateForks.run``."""
    log = case.folder / "log"
    request = {"arguments": [*arguments], "folder": str(world.change.folder), "environment": {**environment}}
    request |= {"stdout": str(log), "stderr": str(case.folder / "errors")}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SECONDS)
        connection.connect(str(case.services.forks.folder / "socket"))
        connection.sendall(json.dumps(request).encode() + b"\n")
        answers = connection.makefile()
        timers = _timers(int(answers.readline()), signals)
        code = int(answers.readline())
        _cancel(timers)
    return Ended(code, "\n".join(_read(path) for path in (log, case.folder / "errors")))


def _read(path: Path) -> str:
    return path.read_bytes().decode(errors="replace") if path.exists() else ""


def _timers(pid: int, signals: Sequence[tuple[float, signal.Signals]]) -> list[threading.Timer]:
    timers = [threading.Timer(seconds, _send, (pid, number)) for seconds, number in signals]
    for timer in timers:
        timer.start()
    return timers


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _cancel(timers: Sequence[threading.Timer]) -> None:
    for timer in timers:
        timer.cancel()
        timer.join()
