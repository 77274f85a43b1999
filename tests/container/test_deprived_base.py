"""In the container, where gate, base and change are one user, a change does not pass by depriving its base."""

import json
import subprocess

import pytest

from tests.support.base_attacks import ATTACKS, WORSE, adapter, base_files
from tests.support.container_image import Confined
from tests.support.git_repository import GitRepository
from tests.support.prison import Prison, give

pytestmark = pytest.mark.docker

TEMPORARY = "/tmp"  # noqa: S108 - inside the container
SMALL = f"{TEMPORARY}:exec,nosuid,nodev,mode=1777,size=128m,nr_inodes=6000"


def concluded(place: Confined, attack: str) -> tuple[int, str, str]:
    """Exit code, conclusion and reason of a blocking run of a worse change."""
    git = GitRepository(place.workspace)
    git.commit({"scenarios/greeting.yaml": None, **base_files(TEMPORARY)})
    git.git("checkout", "--quiet", "-b", "change")
    git.commit({"adapter.py": adapter(TEMPORARY, WORSE, attack)})
    give(place.workspace)
    command = place.command("gate", "--mode", "blocking", "--report-dir", "/report/ratiba-report")
    # A million files take longer to make than a turn may take.
    command = [word.replace("nr_inodes=1m", "nr_inodes=6000") for word in command]
    command = [SMALL if word.startswith(f"{TEMPORARY}:") else word for word in command]
    index = command.index(place.image)
    command[index:index] = ["--env", "RATIBA_LLM=replay", "--env", "NO_COLOR=1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    results = place.report / "ratiba-report/results.json"
    assert results.exists(), done.stdout + done.stderr
    verdict = json.loads(results.read_text())["report"]["verdict"]
    return done.returncode, verdict["conclusion"], verdict["reason"]


@pytest.mark.parametrize("attack", ["nothing", *ATTACKS])
def test_a_worse_change_does_not_pass_whatever_it_does_to_its_base(prison: Prison, attack: str) -> None:
    code, conclusion, reason = concluded(prison.place, attack)
    assert (code, conclusion) == (1, "failed"), reason
    assert "The mean score fell by" in reason
