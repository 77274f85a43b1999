"""Where the tenants are: in the job's service, and everywhere else in these tests in the server that is started."""

import socket

import pytest

from tests.support.act import ACTION, Act
from tests.support.act_run import ActRun
from tests.support.consumer_repository import ConsumerRepository, Repositories
from tests.support.github_server import GithubState, github_server
from tests.support.workflow_for_act import Adjustments

pytestmark = pytest.mark.docker
WORKFLOW = ".github/workflows/eval-with-postgres.yml"
WHAT_IS_THERE = """\
SELECT 'database ' || datname FROM pg_database UNION SELECT 'role ' || rolname FROM pg_roles
UNION SELECT 'schema ' || nspname FROM pg_namespace UNION SELECT 'relation ' || oid::regclass FROM pg_class
WHERE relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname ~ '^pg_') ORDER BY 1
"""
SCHEMAS_CREATED = "SELECT n_tup_ins FROM pg_stat_sys_tables WHERE relname = 'pg_namespace'"


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def run_of_the_example(act: Act, repository: ConsumerRepository, api: str, event: dict[str, object]) -> ActRun:
    """A manual run of the workflow with a service, with an inventory of the server before and after the gate.

    act tells the steps of a composite action no network of the job, and no job the id of its service. So the service's
    port is open on the runner, the address names the runner, and the container is found by its port. That the gate
    joins the network of a real runner's job is for ``test_network_of_a_job.py``.
    """
    port = free_port()
    service = f"$(docker ps --quiet --filter publish={port})"
    text = repository.text(WORKFLOW)
    for written, wanted in {
        "@COMMIT": f"@{ACTION.partition('@')[2]}",
        "image: postgres:17": f"ports: ['{port}:5432']\n        image: postgres:17",
        "--health-retries 30": "--health-retries 30 --tmpfs /var/lib/postgresql/data",  # leaves no volume behind
        "@postgres:5432/": f"@localhost:{port}/",
        '"$SERVICE"': f'"{service}"',
    }.items():
        assert written in text
        text = text.replace(written, wanted)
    repository.write(WORKFLOW, text)
    ask = f'docker exec --interactive "{service}" psql --username postgres --tuples-only'
    inventory = f'{ask} <<<"{WHAT_IS_THERE}"'
    created = f'{ask} <<<"{SCHEMAS_CREATED}" >/seen/created'
    adjustments = Adjustments(before=(f"{inventory} >/seen/before",), after=(f"{inventory} >/seen/after", created))
    return act.run(repository, "workflow_dispatch", event, api, workflow=WORKFLOW, adjustments=adjustments)


def test_a_manual_run_of_a_branch_has_its_tenants_in_the_jobs_service_and_leaves_it_as_it_was(
    act: Act, repositories: Repositories
) -> None:
    text = (repositories.project / "examples" / "workflows" / "eval-with-postgres.yml").read_text(encoding="utf-8")
    repository = repositories.small(more={WORKFLOW: text})
    github = GithubState(clone=repository.folder)
    with github_server(github) as api:
        event = repository.dispatch_event(**{"pull-request": "", "mode": "advisory", "commit": ""})
        run = run_of_the_example(act, repository, api, event)
    assert run.code == 0, run.printed
    # Without a pull request nothing is known to be unchanged, and an input makes no mode more lenient.
    outputs = run.outputs
    assert (outputs["mode"], outputs["conclusion"], outputs["passed"]) == ("blocking", "passed", "1")
    assert "## Passed" in run.summary
    assert (github.comments, github.statuses) == ([], [])
    before, after = ((run.seen / name).read_text() for name in ("before", "after"))
    assert "role postgres" in before
    assert after == before
    assert int((run.seen / "created").read_text()) >= 2  # a template and the scenario's tenant
    (password,) = [line["arg"] for line in run.log if line.get("command") == "add-mask" and len(line["arg"]) == 48]
    results = run.files()["ratiba-report/results.json"].decode()
    assert password not in results + run.summary + str(outputs)
