"""A workflow as act can run it: the user's own, with what only GitHub offers taken out and eyes added."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import yaml

SEEN = "/seen"
"""Where in the job's container the last step puts what it saw."""

_LOOK = """\
printf '%s' "$OUTPUTS" >/seen/outputs.json
tar --create --file /seen/workspace.tar --numeric-owner --directory "$GITHUB_WORKSPACE" .
"""
_UPLOAD = """\
if [ "$MISSING" = ignore ] && [ ! -e "$KEPT" ]; then exit 0; fi
rm -rf "/seen/artifacts/$NAME"
mkdir -p "/seen/artifacts/$NAME"
if [ -d "$KEPT" ]; then cp -R "$KEPT/." "/seen/artifacts/$NAME"; else cp "$KEPT" "/seen/artifacts/$NAME"; fi
"""
_DOWNLOAD = """\
mkdir -p "$TARGET"
cp -R /seen/artifacts/$PATTERN "$TARGET"
"""


@dataclass(frozen=True, slots=True)
class Adjustments:
    """What a test changes in a workflow.

    Args:
        inputs: of the action, put over those that the workflow gives.
        services: service containers of the job.
        before: shell commands that run as a step of their own before the action.
        after: shell commands of the last step, which runs in any case.
    """

    inputs: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, Any] = field(default_factory=dict)
    before: Sequence[str] = ()
    after: Sequence[str] = ()


def workflow_for_act(text: str, name: str, action: str, adjustments: Adjustments) -> str:
    """Rewrite a workflow.

    act copies the work tree in place of a checkout, unless that names a commit. Actions in JavaScript need a node that
    the runner's image does not have: artifacts are copied to a folder that all jobs of the run see; other actions, and
    artifacts of other runs, are left out. act does not know how many jobs a matrix has. It names its containers after
    the workflow, so each run has its own name.

    Args:
        text: the workflow, as YAML.
        name: of the run's own.
        action: the action under test, as in ``uses:``; its step has the id ``gate``.
        adjustments: what the test changes.

    Returns:
        The workflow as JSON, which is YAML too.
    """
    workflow: dict[Any, Any] = yaml.safe_load(text)
    workflow["on"] = workflow.pop(True)  # YAML 1.1 takes the word for a truth
    workflow["name"] = name
    workflow.pop("concurrency", None)
    for job in workflow["jobs"].values():
        if adjustments.services:
            job["services"] = adjustments.services
        jobs = math.prod(map(len, job.get("strategy", {}).get("matrix", {}).values()))
        job["steps"] = json.loads(json.dumps(job["steps"]).replace("${{ strategy.job-total }}", str(jobs)))
        job["steps"] = [changed for step in job["steps"] for changed in _changed(step, action, adjustments)]
        if any(step.get("uses") == action for step in job["steps"]):
            look = "\n".join((_LOOK, *adjustments.after))
            reported = {"OUTPUTS": "${{ toJSON(steps.gate.outputs) }}"}
            job["steps"].append({"if": "always()", "env": reported, "run": look})
    return json.dumps(workflow, indent=1)


def _changed(step: Mapping[str, Any], action: str, adjustments: Adjustments) -> list[dict[str, Any]]:
    used, given = step.get("uses", ""), dict(step.get("with", {}))
    if used.startswith("actions/checkout@"):
        given.pop("ref", None)
        return [{**step, "with": given}]
    if used.startswith("actions/"):
        return _copied(used, step)
    if not used.startswith(action.partition("@")[0]):
        return [dict(step)]
    inputs = adjustments.inputs if used == action else {}  # its sub-actions have others
    before = [{"run": "\n".join(adjustments.before)}] if adjustments.before else []
    return [*before, {**step, "with": {**given, **inputs}}]


def _copied(used: str, step: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a step does with artifacts, without the action that does it on GitHub; nothing for any other action."""
    given, plain = step.get("with", {}), {name: step[name] for name in step if name not in {"uses", "with"}}
    match used.partition("@")[0]:
        case "actions/upload-artifact":
            # A file that is not put into an archive gives its name to the artifact.
            name = given["name"] if given.get("archive", True) else PurePosixPath(given["path"]).name
            reported = {"NAME": name, "KEPT": given["path"], "MISSING": given.get("if-no-files-found", "warn")}
            return [{**plain, "env": reported, "run": _UPLOAD}]
        case "actions/download-artifact" if "run-id" not in given:  # of this run
            return [{**plain, "env": {"PATTERN": given["pattern"], "TARGET": given["path"]}, "run": _DOWNLOAD}]
        case _:
            return []
