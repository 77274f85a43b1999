"""Whole gates of an honest regression whose system tries, at some step, to make another party of the run fail."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from fuzz.case import Case
from fuzz.misdeeds import DEEDS
from fuzz.regression import STEPS, Ended, gate_environment, proposed, require_not_better
from tests.support.consumer_repository import NAME, ConsumerRepository

SECONDS = 150
HERE = Path(__file__).parent


def deprive_on_host(case: Case) -> None:
    """``ratiba gate`` of the regression with a misdeed, on this machine."""
    database = case.chance(0.25)
    deadline = 12 if case.chance(0.15) else 60
    change = proposed(
        case, misdeeds(case, places_of(case.folder), database=database, deadline=deadline), database=database
    )
    ended = gate(case, change, database=database, deadline=deadline)
    case.count("whole gates on the host")
    case.require_no_defect(ended.printed, theirs="misdeeds")
    case.require_harmless_log(ended.printed)
    require_not_better(case, case.services.honest, ended)


def places_of(folder: Path) -> list[str]:
    """What belongs to other parties of a gate whose files lie in a folder."""
    return [str(folder / name) for name in ("temporary", "report", "checkout", "home")]


def misdeeds(
    case: Case, places: Sequence[str], *, database: bool, everything: bool = False, deadline: float = 60
) -> Mapping[str, str]:
    """The files that a change adds to do a few misdeeds at one step of its run."""
    step = case.rng.choice([step for step in STEPS if database or step != "migration"])
    names = [name for name in DEEDS if name != "database" or database]
    names = [name for name in names if name != "hang" or deadline < 60]
    deeds = case.rng.sample(names, case.rng.choice((1, 1, 1, 2, 4)))
    orders = {
        "step": step, "deeds": deeds, "seed": case.seed, "places": list(places), "most": 4 if everything else 1,
        "all": everything, "deadline": deadline,
    }  # fmt: skip
    case.note = f"{step}: {', '.join(deeds)}"
    return {
        "misdeeds.py": (HERE / "misdeeds.py").read_text(),
        "misdeeds.json": json.dumps(orders),
        **({"set_up.py": "import misdeeds\nmisdeeds.at('set-up')\n"} if step == "set-up" else {}),
    }


def gate(
    case: Case,
    change: ConsumerRepository,
    *,
    database: bool = False,
    deadline: float = 60,
    more: Mapping[str, str] | None = None,
) -> Ended:
    """A blocking run of a pull request, replayed, in a process of its own."""
    event = case.folder / "event.json"
    event.write_text(json.dumps(change.pull_request_event()))
    environment = gate_environment(case.folder) | {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": NAME,
        "GITHUB_WORKSPACE": str(change.folder),
        "RATIBA_COMMENT": "false",
        "RATIBA_MODE": "blocking",
        "RATIBA_LLM": "replay",
        "RATIBA_DEADLINE": str(deadline),
        **({"RATIBA_DATABASE_URL": case.services.database} if database and case.chance(0.5) else {}),
        **(more or {}),
    }
    started = case.services.forks.start(["gate"], change.folder, environment)
    try:
        done = started.wait(SECONDS)
    except subprocess.TimeoutExpired:
        case.require("g", f"the gate did not end within {SECONDS} s; its deadline was {deadline:g} s", holds=False)
        raise
    printed = f"{done.stdout}\n{done.stderr}"
    return Ended.read(done.returncode, printed, Path(environment["RATIBA_REPORT_DIR"]))
