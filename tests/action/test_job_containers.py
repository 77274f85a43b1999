"""The action in a job with ``container:``, beside the Docker daemon and without one."""

import pytest

from tests.support.act import Act, runner_image
from tests.support.consumer_repository import PROMPT, Repositories
from tests.support.container_image import BASE
from tests.support.github_server import GithubState, github_server

pytestmark = pytest.mark.docker
WORKFLOW = ".github/workflows/contained.yml"
TEXT = """\
name: gate
on: pull_request
jobs:
  eval:
    runs-on: ubuntu-latest
    container: {{image: "{image}", options: "--user root"}}
    steps:
      - uses: actions/checkout@v7
      - run: mkdir -p /seen
      - id: gate
        uses: OWNER/ratiba-eval-gate@v1
"""


@pytest.mark.parametrize(
    ("container", "code", "text"),
    [
        (runner_image(), 0, "## Passed"),
        (BASE, 3, "make this action's image the job's container"),
    ],
    ids=["with Docker's command", "without"],
)
def test_a_job_container_runs_the_gate_or_says_what_to_do(
    act: Act, repositories: Repositories, container: str, code: int, text: str
) -> None:
    repository = repositories.small()
    repository.propose({PROMPT: "Say Bonjour, warmly.\n"})
    repository.write(WORKFLOW, TEXT.format(image=container))
    github = GithubState(heads={7: repository.head})
    with github_server(github) as api:
        run = act.run(repository, "pull_request", repository.pull_request_event(), api, workflow=WORKFLOW)
    assert run.exit_codes.get("conclude", 0) == code, run.printed
    (comment,) = github.comments
    assert ("## Incomplete" if code else "## Passed") in comment["body"]
    assert text in run.printed
