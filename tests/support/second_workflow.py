"""The second workflow of a pull request whose own run may not write, under act."""

import base64
from typing import Any

from tests.support.act import ACTION, Act
from tests.support.act_run import ActRun
from tests.support.consumer_repository import NAME, ConsumerRepository
from tests.support.pull_request_events import workflow_run_event
from tests.support.workflow_for_act import Adjustments

WORKFLOW = ".github/workflows/publish-fork-report.yml"


def published(act: Act, publishing: ConsumerRepository, first: ActRun, api: str, head: str, **run: Any) -> ActRun:
    """Run ``publish-fork-report.yml`` for what a run has left, which stands for the download of its artifact.

    Args:
        act: runs it.
        publishing: the default branch's checkout; the workflow is written into it.
        first: the run of the pull request.
        api: base address of GitHub's API.
        head: tip of the pull request's branch.
        **run: fields of that run in the event.
    """
    text = (act.action / "examples/workflows/publish-fork-report.yml").read_text(encoding="utf-8")
    publishing.write(WORKFLOW, text.replace("@COMMIT", f"@{ACTION.partition('@')[2]}"))
    results = base64.b64encode(first.files()["ratiba-report/results.json"]).decode()
    download = f"mkdir fork-report && base64 --decode >fork-report/results.json <<<{results}"
    event = workflow_run_event(head, id=1, run_attempt=1, **run)
    event["repository"] = {"full_name": NAME}
    return act.run(
        publishing, "workflow_run", event, api, workflow=WORKFLOW, adjustments=Adjustments(before=(download,))
    )
