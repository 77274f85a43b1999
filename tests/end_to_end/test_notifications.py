"""The gate with a webhook: told of what happened on the default branch, and never held up."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from tests.support.github_server import GithubState, github_server
from tests.support.receiver import Receiver, Reply, receiver
from tests.support.slack_blocks import require_slack
from tests.support.small_repository import CONFIGURATION, SmallRepository

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
PAGE = Path(__file__).parents[2] / "docs" / "notifications.md"


@pytest.fixture
def github(local: SmallRepository) -> Iterator[str]:
    """Says that the branch is the default one: without its word, no address is used."""
    with github_server(GithubState(clone=local.folder)) as address:
        yield address


def pushed(small: SmallRepository, before: str, after: str, github: str, *, branch: str = "main") -> dict[str, str]:
    event = {
        "ref": f"refs/heads/{branch}",
        "before": before,
        "after": after,
        "repository": {"full_name": "salon/assistant", "default_branch": "main"},
    }
    path = small.report.parent / "event.json"
    path.write_text(json.dumps(event))
    return {
        "GITHUB_EVENT_NAME": "push",
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "salon/assistant",
        "GITHUB_API_URL": github,
        "RATIBA_GITHUB_TOKEN": "ghs_planted",
    }


def addresses(server: Receiver) -> dict[str, str]:
    return {
        "RATIBA_SLACK_WEBHOOK_URL": f"{server.address}/services/PLANTED-slack",
        "RATIBA_WEBHOOK_URL": f"{server.address}/alerts/PLANTED-own",
        "RATIBA_WEBHOOK_SECRET": SECRET,
    }


@pytest.mark.parametrize(("branch", "sent"), [("main", 2), ("feature", 0)])
def test_a_failure_on_the_default_branch_is_sent_once(
    local: SmallRepository, github: str, branch: str, sent: int
) -> None:
    before = local.commit()
    local.scenario("fails", "say hello", expect="NEVER")
    after = local.commit()
    with receiver() as server:
        ended = local.gate(**pushed(local, before, after, github, branch=branch), **addresses(server))
    assert ended.code == 1, ended.printed
    assert len(server.posted) == sent
    bodies = {posted.path.split("/")[1]: posted.body for posted in server.posted}
    if bodies:
        assert any("*Failed on the default branch*" in text for text in require_slack(bodies["services"]))
        data = json.loads(bodies["alerts"])["data"]
        assert (data["repository"], data["branch"], data["commit"]) == ("salon/assistant", "main", after)
    files = [path.read_text(errors="replace") for path in ended.report.rglob("*") if path.is_file()]
    assert not any("PLANTED" in text or SECRET in text for text in (ended.printed, *files))


def test_a_change_does_not_silence_the_alert_and_a_server_that_fails_changes_nothing(
    local: SmallRepository, github: str
) -> None:
    before = local.commit()
    silent = CONFIGURATION.format(timeout=30) + "notifications: {events: []}\n"
    local.write(".github/ratiba.yml", silent)
    local.scenario("fails", "say hello", expect="NEVER")
    after = local.commit()
    with receiver(usual=Reply(403, b"no_service")) as server:
        ended = local.gate(**pushed(local, before, after, github), **addresses(server))
        again = local.gate("--mode", "blocking", **pushed(local, after, local.commit(), github), **addresses(server))
    assert ended.code == again.code == 1
    assert len(server.posted) == 2
    assert "warning: The notification was not sent: Slack answered 403 (no_service)." in ended.printed
    assert "notification" not in again.printed


def test_a_wrong_event_is_a_mistake_with_its_place(local: SmallRepository) -> None:
    content = CONFIGURATION.format(timeout=30)
    local.write(".github/ratiba.yml", content + "notifications:\n  events: [failed, moon, failed]\n")
    ended = local.gate()
    assert ended.code == 2
    line = content.count("\n") + 2
    assert re.search(rf"\.github/ratiba\.yml:{line}: .*moon", ended.printed), ended.printed


def test_the_receiver_of_the_page_verifies_what_a_run_sends(small: SmallRepository, tmp_path: Path) -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    printed = tmp_path / "printed"
    with receiver() as free:
        port = free.address.rpartition(":")[2]
    small.scenario("one", "say hello")
    with (
        printed.open("w") as output,
        subprocess.Popen([sys.executable, "-c", code, port], stdout=output, stderr=subprocess.DEVNULL) as process,
    ):
        try:
            ended = eventually(lambda: _incomplete(small, port))
            eventually(lambda: '"kind": "incomplete"' in printed.read_text())
        finally:
            process.terminate()
    assert "notification" not in ended
    assert json.loads(printed.read_text())["conclusion"] == "incomplete"


def _incomplete(small: SmallRepository, port: str) -> str:
    """A run without a key, once the receiver listens."""
    address = {"RATIBA_WEBHOOK_URL": f"http://127.0.0.1:{port}/alerts", "RATIBA_WEBHOOK_SECRET": SECRET}
    ended = small.gate("--llm", "live", **address)
    assert ended.code == 3, ended.printed
    return "" if "could not be reached" in ended.printed else ended.printed
