"""The action's own steps, with the gate in its container beside a real Docker daemon; some runs are cancelled."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from fuzz.attacks import Ground
from fuzz.case import Case, texts_below
from fuzz.checkouts import BASE, ORDER, Decision, hostile_change, require_decision
from fuzz.deprived import misdeeds
from fuzz.regression import Ended, proposed, require_not_better
from fuzz.world import World, hostile_world
from ratiba_action.util.folder_tree import paths_below
from tests.support.consumer_repository import NAME, ConsumerRepository
from tests.support.container_image import Confined
from tests.support.hosted_runner import HostedRunner

OWNER = (4321, 4322) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
REACHED = ("/report", "/workspace", "/run/ratiba", "/tmp", "/home", "/opt/ratiba/app", "/etc")
TARGETS = (
    "/report", "/report/ratiba-report", "/report/ratiba-report/results.json", "/report/step/output", "/report/step/summary",
    "/workspace/x", "/run/ratiba/x", "/opt/ratiba/app/x", "/tmp/x", "/report/word", "/report/ratiba-report/comment.md",
)  # fmt: skip
EVERYWHERE = ("/tmp", "/report", "/workspace", "/run/ratiba", "/dev/shm", "/home", "/var/tmp", "/run")
EARLY, LATE = 2.5, 7.5
"""Seconds after SIGINT after which a runner sends SIGTERM and SIGKILL are 7.5 and 10."""


def gate_in_container(case: Case) -> None:
    """The step that evaluates and the step that concludes, as a hosted runner runs them."""
    case.count("runs in the container")
    ground = Ground(REACHED, TARGETS, tuple(range(1, 40)), case.nonce)
    with hostile_world(case, ground) as world:
        _give(world.change.folder)
        runner = _runner(case, world)
        inspected = _Inspected()
        code, printed, cancelled = _evaluate(case, runner, inspected)
        concluded = runner.conclude(code, **({"RATIBA_ENDED": "cancelled"} if cancelled else {}))
        printed += f"\n{concluded.stdout}"
        code = code or concluded.returncode
        _require_nothing_left(case, runner)
        left = case.folder / "left"
        left.mkdir()
        for name in ("output", "summary"):
            shutil.copy(runner.folder / name, left / name) if (runner.folder / name).exists() else None
        if (world.change.folder / "ratiba-report").is_dir():
            shutil.copytree(world.change.folder / "ratiba-report", left / "report", symlinks=True)
        world.require_all(code, printed, left, signalled=cancelled)
        case.require_no_secret({"log": printed, **texts_below(left, "left")}, [runner.seal_key])
        case.require_no_secret({"docker inspect": inspected.text}, [runner.seal_key])
        if cancelled:
            case.count("runs in the container that were cancelled")
            case.require("c", f"a cancelled run ended with 0: {printed[-1500:]}", holds=code != 0)


def deprive_in_container(case: Case) -> None:
    """``ratiba gate`` of an honest regression in the gate's container, where every process and folder is fair game."""
    case.count("runs in the container")
    report = case.folder / "report"
    report.mkdir()
    added = misdeeds(case, EVERYWHERE, database=False, everything=True)
    honest = case.services.judged(
        "container", lambda inner: _imprisoned(inner, proposed(inner, {}), _made(inner.folder / "report"))
    )
    require_not_better(case, honest, _imprisoned(case, proposed(case, added), report))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _imprisoned(case: Case, change: ConsumerRepository, report: Path) -> Ended:
    """A blocking run in the container, with the limits that the action gives it."""
    (report / "event.json").write_text(json.dumps(change.pull_request_event()))
    for folder in (change.folder, report):
        _give(folder)
    variables = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_REPOSITORY": NAME,
        "GITHUB_WORKSPACE": "/workspace",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": "/report/event.json",
        "RATIBA_COMMENT": "false",
        "RATIBA_DEADLINE": "60",
        "RATIBA_LLM": "replay",
        "RATIBA_MODE": "blocking",
    }
    command = Confined(case.services.image, change.folder, report).command(
        "gate", "--report-dir", "/report/ratiba-report"
    )
    place = command.index(case.services.image)
    command[place:place] = [f"--env={name}={value}" for name, value in variables.items()]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=200)
    return Ended.read(done.returncode, f"{done.stdout}\n{done.stderr}", report / "ratiba-report")


def decide_in_container(case: Case) -> None:
    """``ratiba decide`` in the gate's container, on the checkout of a hostile pull request, as its owner or as root."""
    case.count("decisions in the container")
    empty, report = case.folder / "empty", case.folder / "report"
    empty.mkdir()
    report.mkdir()
    change, minimum = hostile_change(case, empty, BASE)
    (report / "event.json").write_text(json.dumps(change.pull_request_event()))
    (report / "output").touch()
    if case.chance(0.8):
        for folder in (change.folder, report):
            _give(folder)
    variables = {
        "RATIBA_SECRETS": "stdin",
        "GITHUB_ACTIONS": "true",
        "GITHUB_REPOSITORY": NAME,
        "GITHUB_WORKSPACE": "/workspace",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": "/report/event.json",
        "GITHUB_OUTPUT": "/report/output",
    }
    command = Confined(case.services.image, change.folder, report).command("decide")
    place = command.index(case.services.image)
    command[place:place] = ["--interactive", *(f"--env={name}={value}" for name, value in variables.items())]
    secrets = {"RATIBA_GITHUB_TOKEN": case.secrets["github"], "RATIBA_OPENAI_API_KEY": case.secrets["openai"]}
    given = "".join(f"{name}={value}\0" for name, value in secrets.items())
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, errors="replace", check=False, timeout=200
    )
    written = (report / "output").read_text(errors="replace")
    ran = (report / "ran").read_text(errors="replace") if (report / "ran").exists() else ""
    mode = next((name for name in ORDER if f"\n{name}\n" in written), "")
    printed = f"{done.stdout}\n{done.stderr}"
    require_decision(case, Decision(done.returncode, printed, written, ran, mode), minimum)


class _Inspected:
    text = ""


def _runner(case: Case, world: World) -> HostedRunner:
    folder = case.folder / "runner"
    folder.mkdir()
    inputs = {"image": case.services.image, "github-token": case.secrets["github"]}
    names = {
        "RATIBA_ANTHROPIC_API_KEY": "anthropic-api-key",
        "RATIBA_OPENAI_API_KEY": "openai-api-key",
        "RATIBA_ANTHROPIC_BASE_URL": "anthropic-base-url",
        "RATIBA_OPENAI_BASE_URL": "openai-base-url",
        "RATIBA_EVAL_BUDGET_USD": "budget-usd",
        "RATIBA_LLM": "llm",
    }
    given = {**world.inputs, **world.secrets}
    inputs |= {name: given[variable] for variable, name in names.items() if variable in given}
    event = world.change.pull_request_event()
    variables = {"GITHUB_API_URL": world.api, "RATIBA_DEADLINE": given["RATIBA_DEADLINE"]}
    seal = case.digits("seal") * 4
    return HostedRunner(case.services.action, world.change, folder, event, inputs, variables, seal)


def _evaluate(case: Case, runner: HostedRunner, inspected: _Inspected) -> tuple[int, str, bool]:
    """Run the step that evaluates, and perhaps cancel it as a runner does; its code, log, and whether it was."""
    moment = case.rng.uniform(0, case.rng.choice((1.0, 4.0, 8.0))) if case.chance(0.25) else None
    with runner.start("evaluate") as process:
        printed, started = "", time.monotonic()
        deadline = started + (moment if moment is not None else 200)
        try:
            printed, _ = process.communicate(timeout=3 if moment is None else moment)
        except subprocess.TimeoutExpired:
            inspected.text = _inspect(case)
        if process.returncode is not None and printed:
            return process.returncode, printed, False
        if moment is None:
            printed, _ = process.communicate(timeout=max(deadline - time.monotonic(), 1))
            return process.returncode, printed, False
        return _cancel(process)


def _cancel(process: "subprocess.Popen[str]") -> tuple[int, str, bool]:
    for number, seconds in ((signal.SIGINT, LATE), (signal.SIGTERM, EARLY), (signal.SIGKILL, 30.0)):
        if process.poll() is None:
            process.send_signal(number)
        try:
            printed, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            continue
        return process.returncode, printed, True
    return 137, "", True


def _inspect(case: Case) -> str:
    listed = subprocess.run(_containers(case), capture_output=True, text=True, check=False).stdout.split()
    shown = (
        subprocess.run(["docker", "inspect", *listed], capture_output=True, text=True, check=False) if listed else None
    )
    return shown.stdout if shown is not None else ""


def _containers(case: Case) -> list[str]:
    return ["docker", "ps", "--all", "--quiet", "--filter", f"ancestor={case.services.image}"]


def _require_nothing_left(case: Case, runner: HostedRunner) -> None:
    """Invariant g: neither container nor volume, nor a folder of the runner's, and the checkout keeps its owner."""
    left = subprocess.run(_containers(case), capture_output=True, text=True, check=True).stdout.split()
    case.require("g", f"containers are left: {left}", holds=not left)
    folders = [path.name for path in (runner.folder / "temp").iterdir()]
    case.require("g", f"left in RUNNER_TEMP: {folders}", holds=not folders)


def _give(folder: Path) -> None:
    for path in paths_below(folder):
        os.chown(path, *OWNER, follow_symlinks=False)
