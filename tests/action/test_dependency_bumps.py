"""What Renovate proposes: the mode comes from the locked versions, and the new ones are installed and run."""

import json
import re

import pytest

from ratiba_action.testing.act import Act, ActRun
from ratiba_action.testing.consumer_repository import ConsumerRepository, Repositories
from ratiba_action.testing.github_server import GithubState, github_server

pytestmark = pytest.mark.docker
WHEELS = {
    "2.54.0": "89089789197ccdb87f173a03145ed1598d00795220c93e96cf712b1cbf5e5f2b",
    "3.0.0": "8d32ac3a6647a66910d6cb8a64f0fa5a6c823604b6e82db83d9d055c6709bd51",
}


def bumped(repository: ConsumerRepository, version: str) -> dict[str, str]:
    """The files of Renovate's change of the SDK to this version."""
    locked = f"openai=={version} \\\n    --hash=sha256:{WHEELS[version]}\n"
    lock = re.sub(r"openai==[^\n]*\n( +--hash=[^\n]*\n)+", locked, repository.text("requirements.txt"))
    wanted = re.sub(r"openai==.*", f"openai=={version}", repository.text("requirements.in"))
    return {"requirements.txt": lock, "requirements.in": wanted}


def run(act: Act, repository: ConsumerRepository, version: str) -> ActRun:
    repository.propose(bumped(repository, version))
    event = repository.pull_request_event(user={"login": "renovate[bot]"}, title=f"Update openai to {version}")
    github = GithubState(heads={7: repository.head})
    with github_server(github) as api:
        return act.run(repository, "pull_request", event, api)


@pytest.mark.parametrize(("version", "mode", "ran"), [("3.0.0", "blocking", "2"), ("2.54.0", "advisory", "1")])
def test_a_major_bump_blocks_and_a_minor_one_is_advisory(
    act: Act, repositories: Repositories, version: str, mode: str, ran: str
) -> None:
    ended = run(act, repositories.consumer(), version)
    assert ended.outputs["mode"] == mode, ended.printed
    assert ended.outputs["conclusion"] == "passed", ended.printed
    assert ended.outputs["passed"] == ran
    assert "requirements.txt" in {reason["path"] for reason in json.loads(ended.outputs["reasons"])}
