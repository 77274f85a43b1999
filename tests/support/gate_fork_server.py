"""Forks a gate a command line from a process that has everything loaded; ``gate_forks`` speaks to it.

Started as a process with the path of a socket. Each connection sends one line of JSON, ``{"arguments", "folder",
"environment", "stdout", "stderr"}``, and is answered with two lines: the process id and, when it ended, its code.
With ``"keep"``, the path of another socket, the process that is forked keeps what ``ratiba gate --watch`` keeps for its
runs, and forks gates of its own that are asked for at that socket.
"""

import asyncio
import gc
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from ratiba_action.run.inputs import Kept

_LATER = (
    "aiohttp.web",
    "numpy",
    "psycopg",
    "scipy.stats",
    "ratiba_action.cli",
    "ratiba_action.commands.gate",
    "ratiba_action.commands.gate_run",
    "ratiba_action.commands.merge",
    "ratiba_action.commands.record",
    "ratiba_action.llm.providers.client",
    "ratiba_action.llm.providers.metered",
    "ratiba_action.llm.server",
    "ratiba_action.metrics.judging.cross_check",
    "ratiba_action.metrics.judging.judging_processes",
    "ratiba_action.metrics.judging.replay_judge",
    "ratiba_action.money.prices",
    "ratiba_action.production.judge_calibration",
    "ratiba_action.systems.choose",
    "ratiba_action.systems.worker_system",
    "ratiba_action.tenancy.reachability",
)
"""Modules that a gate imports on its way."""


def load_everything() -> None:
    """Import and compile what a gate does on its way, DeepEval too, with its side effects kept in a scratch folder."""
    for name in _LATER:
        importlib.import_module(name)
    from ratiba_action.metrics.judging.deepeval_bridge import load_deepeval
    from ratiba_action.reporting.html import report_template
    from tests.support.deepeval_settings import configure_deepeval

    configure_deepeval(os.environ, Path(tempfile.gettempdir()) / "deepeval")
    load_deepeval()
    pages = report_template().environment
    for name in pages.list_templates(["j2"]):
        pages.get_template(name)
    tempfile.tempdir = None
    gc.collect()
    gc.freeze()


def start_judging_server() -> socket.socket:
    """Fork what forks the processes that DeepEval runs in, for all gates."""
    from ratiba_action.metrics.judging.judging_server import serve as serve_judging  # it is loaded by now

    near, far = socket.socketpair()
    near.settimeout(0)
    if os.fork() == 0:
        near.close()
        serve_judging(far)
        os._exit(0)
    far.close()
    return near


def next_request(listening: socket.socket) -> dict[str, Any]:
    """Wait for command lines; returns in each forked gate, with its request, and never in the server itself."""
    while True:
        connection, _ = listening.accept()
        if os.fork():
            connection.close()
            continue
        listening.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with connection:
            request = json.loads(connection.makefile().readline())
            gate = os.fork()
            with suppress(ProcessLookupError):
                os.setpgid(gate, 0)  # by both, so that neither has to wait before its group can be killed
            if not gate:
                break
            connection.sendall(f"{gate}\n".encode())
            _, status = os.waitpid(gate, 0)
            connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os._exit(0)
    become(request)
    return dict(request)


def become(request: Mapping[str, Any]) -> None:
    """Take the folder, the environment and the output files of a request."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        with Path(request[name]).open("wb") as file:
            os.dup2(file.fileno(), number)


def listen(path: str) -> dict[str, Any]:
    """Serve a socket; returns in the forked gates only."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(16)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        return next_request(listening)


def keep(request: Mapping[str, Any]) -> tuple[dict[str, Any], "Kept"]:
    """Start what runs of a gate can have in common, and serve another socket; returns in its forked gates only."""
    from ratiba_action.cli import COMMANDS, build_parser  # it is loaded by now
    from ratiba_action.commands.gate_options import read_options
    from ratiba_action.commands.gate_run import inputs_of
    from ratiba_action.run.composition import open_kept
    from ratiba_action.util.locked_folder import make_locked_folder

    asked = build_parser(request["arguments"], COMMANDS).parse_args(request["arguments"])
    # Named as the gate's own: a later run removes it, since this process is killed in the end.
    runner, scratch = asyncio.Runner(), make_locked_folder(Path(tempfile.gettempdir()), "ratiba-run-")
    opened = open_kept(inputs_of(read_options(asked, os.environ), os.environ), scratch.path)
    with ThreadPoolExecutor() as threads:  # which end here: the process is forked afterwards
        runner.get_loop().set_default_executor(threads)
        kept = runner.run(opened.__aenter__())
    further = listen(request["keep"])
    if kept.missed[0]:
        raise RuntimeError("a gate before this one could not use what is kept")
    return further, kept


def have_patience() -> None:
    """Let a gate that is cancelled take its time.

    It keeps to what a runner leaves it before a kill, and reports less where the machine is too busy for the whole; no
    test of forked gates is about that (``tests/util/test_interruption.py``, ``tests/action/test_cancelling.py``).
    """
    from ratiba_action.commands import gate_run  # it is loaded by now
    from ratiba_action.run import plan_loop  # the same

    gate_run._PATIENCE = plan_loop._PATIENCE = 60.0


def serve(path: str) -> NoReturn:
    """Serve a socket; ends each forked gate without Python's own way out, which copies 100 MB of shared memory."""
    load_everything()
    control = start_judging_server()
    request = listen(path)
    have_patience()
    kept: Kept | None = None
    if request["arguments"][:1] in (["gate"], ["merge"]):
        from ratiba_action.run.inputs import Kept as Started  # it is loaded by now
        from ratiba_action.systems.judging_launch import JudgingControl  # the same

        kept = Started((), "", mmap(-1, 1), judging_control=JudgingControl(control))
    if "keep" in request:
        request, kept = keep(request)
    from ratiba_action.main import main  # it is loaded by now
    from ratiba_action.settings.step_output import leave

    sys.argv = ["ratiba", *request["arguments"]]
    try:
        code = main(request["arguments"], kept)
    except SystemExit as ending:  # of argparse, which has printed why
        code = int(ending.code or 0)
    leave(code)


if __name__ == "__main__":
    serve(sys.argv[1])
