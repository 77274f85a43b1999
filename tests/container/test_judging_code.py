"""In the container gate, system and judges are one user: Landlock alone keeps the system from what judges it."""

import json

import pytest

from ratiba_action.worker import landlock
from tests.support.container_image import finished
from tests.support.judging_attacks import ATTACKS, was_forged, write_attack
from tests.support.prison import Prison, give

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
