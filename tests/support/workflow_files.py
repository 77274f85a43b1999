"""The workflow and action files of a repository, and what must hold in each of them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

_USES = re.compile(r"^ *(?:- )?uses: *(?P<name>\S+)(?P<comment> +# *\S.*)?$", re.MULTILINE)
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
_OURS = re.compile(r"\./|\$/\.|OWNER/ratiba-eval-gate(/decide|/report|/\.github/workflows/gate\.yml)?@COMMIT")
_PERMISSION = re.compile(r"^ +[a-z-]+: (?:read|write)(?P<comment> +# *\S.*)?$", re.MULTILINE)


def workflow_files(project: Path) -> list[Path]:
    """This repository's workflows and those that users copy."""
    return sorted([*project.glob(".github/workflows/*.yml"), *project.glob("examples/workflows/*.yml")])


def action_files(project: Path) -> list[Path]:
    """The action and its sub-actions."""
    return sorted([*project.glob("action.yml"), *project.glob("*/action.yml")])


def run_block(text: str, step: str) -> str:
    """The script of the step with that name.

    Raises:
        LookupError: no step with a script has it, or several have.
    """
    found = [entry["run"] for entry in _steps(yaml.safe_load(text)) if entry.get("name") == step and "run" in entry]
    if len(found) != 1:
        raise LookupError(f"{len(found)} steps with a script are named {step!r}, not 1.")
    return str(found[0])


def problems_of(text: str) -> list[str]:
    """What is wrong in a workflow or action file; empty when nothing is."""
    content = yaml.safe_load(text)
    problems = [*_problems_of_uses(text), *_problems_of_steps(content)]
    if "jobs" in content:
        problems += _problems_of_workflow(text, content)
    return problems


def _steps(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from content.get("runs", {}).get("steps", [])
    for job in content.get("jobs", {}).values():
        yield from job.get("steps", [])


def _problems_of_uses(text: str) -> Iterator[str]:
    for found in _USES.finditer(text):
        name = found["name"]
        if not _OURS.fullmatch(name) and not (_PINNED.fullmatch(name) and found["comment"]):
            yield f"{name} is not pinned by a commit with its version beside it"


def _problems_of_steps(content: Mapping[str, Any]) -> Iterator[str]:
    for step in _steps(content):
        if "${{" in str(step.get("run", "")):
            yield f"an expression stands in a script: {step['run']!r}"
        if str(step.get("uses", "")).startswith("actions/checkout@") and (
            step.get("with", {}).get("persist-credentials") is not False
        ):
            yield "a checkout leaves its credentials in the workspace"


def _problems_of_workflow(text: str, content: Mapping[Any, Any]) -> Iterator[str]:
    triggers = content.get(True, content.get("on", {}))  # YAML 1.1 reads `on` as true
    if "pull_request_target" in triggers:
        yield "pull_request_target would run a fork's code with secrets"
    if content.get("permissions") != {}:
        yield "the workflow's own permissions are not empty"
    for name, job in content["jobs"].items():
        if "permissions" not in job:
            yield f"the job {name} does not say its permissions"
        if "uses" in job:  # GitHub takes the end, and which runs replace each other, from the called workflow
            continue
        if not isinstance(job.get("timeout-minutes"), int):
            yield f"the job {name} has no timeout"
    for found in _PERMISSION.finditer(text):
        if not found["comment"]:
            yield f"the permission {found[0].strip()!r} is not justified beside it"
    if "concurrency" not in content and not all("uses" in job for job in content["jobs"].values()):
        yield "the workflow does not say which of its runs replace each other"
