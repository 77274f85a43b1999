"""In the container gate, system and judges are one user: Landlock alone keeps the system from what judges it."""

import json

import pytest

from ratiba_action.worker import landlock
from tests.support.container_image import finished
from tests.support.judging_attacks import ATTACKS, CHANGES, judged_repository, was_forged, write_attack
from tests.support.prison import Prison, give
from tests.support.pull_request_events import pull_request_event

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(not landlock.version(), reason="needs a kernel with Landlock"),
]


def test_a_running_system_cannot_change_what_judges_it(prison: Prison) -> None:
    (prison.place.workspace / "scenarios" / "greeting.yaml").unlink()
    # The daemon forks: what follows it in the same turn would run twice.
    ordered = [attack for name, attack in ATTACKS.items() if "daemon" not in name] + [ATTACKS["later, by a daemon"]]
    write_attack(prison.repository, ordered, "/workspace")
    # In a job only tracked files are run, and only a change is looked at.
    prison.repository.commit()
    with (prison.place.workspace / "scenarios" / "judged.yaml").open("a") as file:
        file.write("# changed\n")
    give(prison.place.workspace)
    done = finished(prison.place.command("gate", "--report-dir", "/report/ratiba-report"))
    results = json.loads((prison.place.report / "ratiba-report/results.json").read_text())
    assert results["outputs"]["conclusion"] == "failed", done.stdout + done.stderr
    assert not was_forged(results)


def test_what_a_change_brings_beside_a_rule_judges_nothing(prison: Prison) -> None:
    (prison.place.workspace / "scenarios" / "greeting.yaml").unlink()
    base, change = judged_repository({name: content for files in CHANGES.values() for name, content in files.items()})
    commits = []
    for files in (base, change):
        for name, content in files.items():
            prison.repository.write(name, content)
        commits.append(prison.repository.commit())
    (prison.place.report / "event.json").write_text(json.dumps(pull_request_event(*commits)))
    give(prison.place.workspace)
    command = prison.place.command("gate", "--report-dir", "/report/ratiba-report")
    variables = {
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": "/report/event.json",
        "RATIBA_RULES": "blocking *",
        "RATIBA_LLM": "replay",
    }
    place = command.index(prison.place.image)
    command[place:place] = [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
    done = finished(command)
    results = json.loads((prison.place.report / "ratiba-report/results.json").read_text())
    assert results["outputs"]["conclusion"] == "failed", done.stdout + done.stderr
    rules = [check for trial in results["report"]["results"] for check in trial["checks"] if check["kind"] == "rule"]
    assert [(check["passed"], check["got"]) for check in rules] == [(False, "as it was written")]
