"""What of a workflow act runs as it is, and what it cannot."""

import json

from tests.support.workflow_for_act import Adjustments, workflow_for_act

ACTION = "OWNER/gate@v1"
WORKFLOW = """\
name: usual
on: {pull_request: {}}
concurrency: one
jobs:
  eval:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v7
        with: {fetch-depth: 2, ref: elsewhere}
      - uses: OWNER/gate@v1
        id: gate
        with: {mode: auto, name: kept}
      - uses: actions/setup-python@v7
      - uses: actions/download-artifact@v8
        with: {name: report, path: folder, run-id: 7}
      - uses: actions/upload-artifact@v7
        if: always()
        with: {name: report, path: folder}
      - run: echo ${{ strategy.job-total }}
    strategy: {matrix: {shard: [1, 2, 3], system: [a, b]}}
  other:
    runs-on: ubuntu-latest
    steps:
      - uses: OWNER/gate/decide@v1
        with: {mode: auto}
"""


def test_the_action_gets_its_inputs_and_the_workspace_is_looked_at_afterwards() -> None:
    adjusted = json.loads(workflow_for_act(WORKFLOW, "run-1", ACTION, Adjustments({"mode": "blocking"}, {}, ("true",))))
    assert adjusted["name"] == "run-1"
    assert "concurrency" not in adjusted
    checkout, before, gate, kept, text, look = adjusted["jobs"]["eval"]["steps"]
    assert checkout["with"] == {"fetch-depth": 2}
    assert before == {"run": "true"}
    assert gate["with"] == {"mode": "blocking", "name": "kept"}
    assert (kept["if"], kept["env"]) == ("always()", {"NAME": "report", "KEPT": "folder", "MISSING": "warn"})
    assert text == {"run": "echo 6"}
    assert look["if"] == "always()"


def test_a_sub_action_keeps_its_own_inputs() -> None:
    adjusted = json.loads(workflow_for_act(WORKFLOW, "run-1", ACTION, Adjustments({"image": "a"})))
    (decide,) = adjusted["jobs"]["other"]["steps"]
    assert decide["with"] == {"mode": "auto"}
