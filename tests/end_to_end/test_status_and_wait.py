"""``ratiba status`` and ``ratiba wait`` at a run of the gate."""

import json
import re
import uuid

import pytest

from ratiba_action.main import run
from tests.end_to_end.test_notifications import pushed
from tests.support.github_server import GithubState, github_server
from tests.support.small_repository import SmallRepository


def test_a_run_is_found_by_its_id_and_by_that_of_its_workflow_run(
    small: SmallRepository, ledger_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = small.commit()
    small.scenario("holds", "say hello")
    small.scenario("fails", "say hello", expect="NEVER")
    after = small.commit()
    with github_server(GithubState(clone=small.folder)) as address:
        push = pushed(small, before, after, address)
        ended = small.gate(**push, RATIBA_LEDGER_URL=ledger_url, GITHUB_RUN_ID="4711")
    assert ended.code == 1, ended.printed
    (name,) = re.findall(r"^Execution: ([0-9a-f-]{36})$", ended.printed, re.MULTILINE)
    ledger = {"RATIBA_LEDGER_URL": ledger_url}
    assert run(["wait", name, "--json"], ledger) == 1
    content = json.loads(capsys.readouterr().out)
    assert (content["execution_id"], content["status"], content["conclusion"]) == (name, "completed", "failed")
    assert (content["passed"], content["failed"], content["exit_code"]) == (1, 1, 1)
    assert {"duration_seconds", "regression_detected", "confidence", "spent_usd"} <= content.keys()
    assert sorted((result["scenario"], result["status"]) for result in content["results"]) == [
        ("fails", "failed"),
        ("holds", "passed"),
    ]
    workflow = ledger | {"GITHUB_REPOSITORY": "salon/assistant"}
    assert run(["wait", "4711", "--seconds", "5"], workflow) == 1
    assert run(["status"], workflow) == 0
    listed = capsys.readouterr().out
    assert listed.count(name) == 2
    assert "failed: 1 passed, 1 failed" in listed
    assert run(["status", name, "--json"], ledger) == 0
    assert json.loads(capsys.readouterr().out) == content
    assert ledger_url not in ended.printed + listed


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (["status"], {}, "Set RATIBA_LEDGER_URL"),
        (["wait", str(uuid.uuid4())], {}, "Set RATIBA_LEDGER_URL"),
        (["status", "last week"], {"RATIBA_LEDGER_URL": "postgresql://h/d"}, "'last week'"),
        (["wait", "-7"], {"RATIBA_LEDGER_URL": "postgresql://h/d"}, "-7"),
        (["wait", "7", "--seconds", "never"], {"RATIBA_LEDGER_URL": "postgresql://h/d"}, "--seconds"),
        (["status"], {"RATIBA_LEDGER_URL": "mysql://user:PLANTED@h/d"}, "Set RATIBA_LEDGER_URL to postgresql://"),
        (["wait", "7"], {"RATIBA_LEDGER_URL": "postgresql://user:PLANTED@h:port/d"}, "Set RATIBA_LEDGER_URL to"),
        (["status", "--last", "0"], {"RATIBA_LEDGER_URL": "postgresql://h/d"}, "--last"),
    ],
)
def test_a_wrong_start_is_reported(
    capsys: pytest.CaptureFixture[str], arguments: list[str], variables: dict[str, str], message: str
) -> None:
    try:
        code = run(arguments, variables)
    except SystemExit as ended:  # argparse's own
        code = int(str(ended.code))
    assert code == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "PLANTED" not in printed


def test_a_run_that_never_begins_is_incomplete(ledger_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = {"RATIBA_LEDGER_URL": ledger_url}
    assert run(["wait", "999", "--seconds", "0.1"], ledger) == 3
    assert "did not begin within 0.1 s" in capsys.readouterr().out
    assert run(["status", "999"], ledger) == 3
    assert run(["status", "--json"], ledger) == 0
    assert capsys.readouterr().out.endswith("[]\n")


def test_a_ledger_that_is_not_there_stops_no_run(small: SmallRepository) -> None:
    small.scenario("holds", "say hello")
    ended = small.gate(RATIBA_LEDGER_URL="postgresql://user:PLANTED@127.0.0.1:9/db")
    assert "The run is not in the ledger's database" in ended.printed
    assert "PLANTED" not in ended.printed
    assert ended.code == 0, ended.printed
