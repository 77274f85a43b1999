"""What Renovate proposes: the mode comes from the locked versions, and the new ones are installed and run."""

import json
import re

import pytest

from tests.support.act import Act
from tests.support.consumer_repository import Repositories
from tests.support.github_server import GithubState, github_server

pytestmark = pytest.mark.docker
LOCK = "requirements.txt"
SDK = re.compile(r"openai==[0-9.]+")


@pytest.mark.parametrize(("old", "mode"), [("1.109.1", "blocking"), ("2.52.0", "advisory")])
def test_a_major_bump_blocks_and_a_minor_one_is_advisory_and_both_run_what_is_recorded(
    act: Act, repositories: Repositories, old: str, mode: str
) -> None:
    lock = (repositories.project / "examples" / "consumer" / LOCK).read_text(encoding="utf-8")
    # The base is never installed, so the hashes of the new version may stay at its line.
    repository = repositories.consumer({LOCK: SDK.sub(f"openai=={old}", lock)})
    repository.propose({LOCK: lock})
    event = repository.pull_request_event(user={"login": "renovate[bot]"}, title="Update dependency openai")
    github = GithubState(heads={7: repository.head})
    with github_server(github) as api:
        run = act.run(repository, "pull_request", event, api)
    assert run.code == 0, run.printed
    outputs = run.outputs
    assert (outputs["mode"], outputs["conclusion"], outputs["passed"]) == (mode, "passed", "2"), run.printed
    assert {reason["path"] for reason in json.loads(outputs["reasons"])} == {LOCK}
