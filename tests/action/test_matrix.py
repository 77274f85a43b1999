"""The workflow of a large suite: four shards of the booking example and their merge are one job's run, to the cent."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from ratiba_action.llm.canonical_request import request_key
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Usage
from ratiba_action.money.pricing import ModelRates
from tests.support.act import ACTION, Act
from tests.support.act_run import ActRun
from tests.support.booking_example import copy_booking_example
from tests.support.consumer_repository import WORKFLOW, ConsumerRepository, Repositories
from tests.support.container_image import build_with_packages
from tests.support.github_server import GithubState, github_server
from tests.support.model_servers import ModelServer, Received
from tests.support.provider_faults import Altered, Served
from tests.support.served_models import served_models
from tests.support.shard_notes import SHARES, without_shares
from tests.support.workflow_for_act import Adjustments

pytestmark = pytest.mark.docker
MATRIX, KEY = ".github/workflows/eval-matrix.yml", "sk-planted-0123456789abcdef"
REGRESSION = "examples/pull_requests/regression"
PRICES = {"gpt-5.6-luna": (1, 4), "claude-sonnet-5-5": (3, 15), "claude-opus-5-5": (5, 25), "gpt-5.6": (3, 15)}
RATES = {
    model: ModelRates(Decimal(given), Decimal(made), Decimal(given), Decimal(given) * 2)
    for model, (given, made) in PRICES.items()
}


class Models:
    """Answers the example's models as they are recorded, and as a judge always the same to the same question."""

    def __init__(self, *folders: Path) -> None:
        self._answers: dict[str, dict[str, Any]] = {}
        for path in sorted(path for folder in folders for path in folder.glob("*.jsonl")):
            for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                if line["kind"] == "model":
                    self._answers.setdefault(line["key"], line["response"])

    def __call__(self, received: Received) -> Served:
        endpoint = endpoint_named(received.path.removeprefix("/v1/"))
        recorded = self._answers.get(request_key(endpoint, received.body))
        if recorded is not None:
            return Altered(Step(None, usage=endpoint.usage(recorded)), lambda _: recorded)
        score = 9 + int(digest(received.body), 16) % 2
        return Step(endpoint.provider, data={"reason": "Plain and friendly.", "score": score}, usage=Usage(1_000, 100))


@dataclass(frozen=True)
class Ran:
    """A run of a workflow, and the pull request's one comment after it."""

    run: ActRun
    comment: str

    @property
    def timeless(self) -> str:
        """The comment without how long anything took, and without what only shards have."""
        return re.sub(r"\d+(\.\d+)?( s\b| \|$)", "#", without_shares(self.comment), flags=re.MULTILINE)


@pytest.fixture(scope="module")
def with_packages(act: Act, repositories: Repositories) -> Iterator[Act]:
    """act with an image that has the example's packages: ten jobs would install them ten times."""
    tag = f"{act.image}-example"
    build_with_packages(act.image, repositories.project / "examples/booking_assistant/requirements.txt", tag)
    yield replace(act, image=tag)
    subprocess.run(["docker", "image", "rm", "--force", tag], capture_output=True, check=True)


@pytest.fixture(scope="module")
def proposed(repositories: Repositories, tmp_path_factory: pytest.TempPathFactory) -> ConsumerRepository:
    """The booking example with a change that loses Swahili hours."""
    project, source = repositories.project, tmp_path_factory.mktemp("booking") / "source"
    copy_booking_example(source, "guards")
    released = ACTION.partition("@")[2]
    prices = {
        model: {"input_per_million": given, "output_per_million": made} for model, (given, made) in PRICES.items()
    }
    configuration = yaml.safe_load((project / ".github/ratiba.yml").read_text(encoding="utf-8")) | {"prices": prices}
    configuration["system"]["python"] = "/opt/example/bin/python"
    files = {
        ".github/ratiba.yml": yaml.safe_dump(configuration),
        WORKFLOW: (project / "examples/consumer" / WORKFLOW).read_text(encoding="utf-8"),
        MATRIX: (project / "examples/workflows/eval-matrix.yml").read_text("utf-8").replace("@COMMIT", f"@{released}"),
    }
    repository = repositories.made_of(source, files)
    changed = sorted((project / REGRESSION / "recordings").glob("*.jsonl"))
    repository.propose(
        {f"scenarios/recordings/{path.name}": path.read_bytes() for path in changed},
        project / REGRESSION / "change.patch",
    )
    return repository


def run(act: Act, repository: ConsumerRepository, workflow: str, **inputs: str) -> Ran:
    github = GithubState(heads={7: repository.head})
    with github_server(github) as api:
        event = repository.pull_request_event()
        ran = act.run(repository, "pull_request", event, api, workflow=workflow, adjustments=Adjustments(inputs=inputs))
    (comment,) = github.comments
    return Ran(ran, str(comment["body"]))


def are_the_same(one: Ran, matrix: Ran) -> None:
    names = ("conclusion", "passed", "failed", "regression-detected", "confidence", "spent-usd", "budget-usd", "mode")
    assert {name: matrix.run.outputs[name] for name in names} == {name: one.run.outputs[name] for name in names}
    assert matrix.timeless == one.timeless
    assert one.run.jobs == {"eval": "failure"}
    assert matrix.run.jobs == {"decide": "success", "shard": "success", "merge": "failure", "eval": "failure"}


def test_four_shards_that_replay_and_their_merge_are_one_job(with_packages: Act, proposed: ConsumerRepository) -> None:
    are_the_same(run(with_packages, proposed, WORKFLOW), run(with_packages, proposed, MATRIX))


def test_four_live_shards_and_their_merge_cost_to_the_cent_what_one_job_costs(
    with_packages: Act, proposed: ConsumerRepository, repositories: Repositories
) -> None:
    project = repositories.project
    answers = Models(project / "scenarios/recordings", project / REGRESSION / "recordings")
    with served_models(ModelServer(answers, KEY, RATES)) as models:
        inputs = {
            "llm": "live",
            "anthropic-api-key": KEY,
            "openai-api-key": KEY,
            "anthropic-base-url": models.url,
            "openai-base-url": f"{models.url}/v1",
        }
        one = run(with_packages, proposed, WORKFLOW, **inputs)
        bill = models.bill.total
        matrix = run(with_packages, proposed, MATRIX, **inputs)
        assert bill > 1
        assert Fraction(one.run.outputs["spent-usd"]) == bill
        assert Fraction(matrix.run.outputs["spent-usd"]) == models.bill.total - bill == bill
    are_the_same(one, matrix)
    assert SHARES in matrix.comment
