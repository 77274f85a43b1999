"""GitHub answers badly while a run's comment is written; the comment or its file is there all the same."""

import json
import os
from collections.abc import Mapping

from fuzz.case import Case, texts_below
from fuzz.faulty_proxy import Faults, faulty_proxy, random_faults
from fuzz.in_process import run_command
from ratiba_action.github.marker import read_marker
from tests.support.consumer_repository import NAME
from tests.support.github_server import GithubState, github_server


def publish_to_faulty_github(case: Case) -> None:
    """``ratiba report --unfinished``, a workflow's last step, which comments on what was cancelled."""
    state = GithubState(heads={7: case.services.checkout.head})
    for number in range(case.rng.choice((0, 0, 1, 5, 130))):
        text = case.rng.choice(("LGTM", "<!-- ratiba-eval-gate name=ratiba head=x run=1 attempt=1 -->", case.nonce))
        state.add_comment(f"{text} {number}", "a-person")
    earlier = case.chance(0.3)
    if earlier:
        state.add_comment(
            f"<!-- ratiba-eval-gate name=ratiba head={case.services.checkout.base} run=3 attempt=1 -->\nold",
            state.login,
        )
    faults, transient = random_faults(case.rng, case.nonce)
    with github_server(state) as address, faulty_proxy(address, faults) as proxy:
        environment = _environment(case, proxy)
        ended = run_command(["report", "--unfinished"], environment)
    texts = {"log": ended.printed, **texts_below(case.folder, "files"), "comments": json.dumps(state.comments)}
    case.require_no_secret({name: text for name, text in texts.items() if "event.json" not in name})
    case.require_harmless_log(ended.printed)
    case.require_no_defect(ended.printed)
    case.require("c", f"an unfinished run ended with {ended.code}: {ended.printed[-500:]}", holds=ended.code == 3)
    require_comment(case, state, transient=transient, printed=ended.printed)
    require_file(case, texts, ended.printed)
    message = f"a redirect carried the token: {faults.elsewhere}"
    case.require("a", message, holds=not any("PLANTED" in headers for headers in faults.elsewhere))


def _environment(case: Case, proxy: str) -> Mapping[str, str]:
    event = case.folder / "event.json"
    event.write_text(json.dumps(case.services.checkout.pull_request_event()))
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(case.folder),
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": proxy,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_OUTPUT": str(case.folder / "outputs"),
        "GITHUB_REPOSITORY": NAME,
        "GITHUB_RUN_ID": "31",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_STEP_SUMMARY": str(case.folder / "summary.md"),
        "GITHUB_WORKSPACE": str(case.services.checkout.folder),
        "RATIBA_ENDED": "cancelled",
        "RUNNER_TEMP": str(case.folder),
        "RATIBA_GITHUB_TOKEN": case.secrets["github"],
        "RATIBA_REPORT_DIR": str(case.folder / "report"),
    }


def require_comment(case: Case, state: GithubState, *, transient: bool, printed: str) -> None:
    """Never two comments of the gate; and one, where GitHub failed no more than a second attempt gets over."""
    ours = [made for made in state.comments if made["login"] == state.login and read_marker(made["body"])]
    case.require("d", f"there are {len(ours)} comments of the gate: {printed[-500:]}", holds=len(ours) <= 1)
    if transient:
        current = [comment for comment in ours if "run=31" in comment["body"].splitlines()[0]]
        case.require(
            "d", f"GitHub failed for a moment, and there is no comment: {printed[-1500:]}", holds=bool(current)
        )


def require_file(case: Case, texts: Mapping[str, str], printed: str) -> None:
    """The comment's file and results.json are there, and say the same."""
    names = {name.rpartition("/")[2] for name in texts}
    case.require("d", f"left: {sorted(names)}: {printed[-500:]}", holds={"comment.md", "results.json"} <= names)


__all__ = ["Faults", "publish_to_faulty_github", "require_comment", "require_file"]
