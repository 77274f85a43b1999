"""The gate as the job of a merge request of GitLab."""

import re
from pathlib import Path

import pytest
import yaml

from ratiba_action.settings.settings import INPUTS, read_settings
from tests.support.gitlab_server import GitlabState, gitlab_server
from tests.support.small_repository import SmallRepository

PAGE = Path(__file__).parents[2] / "docs" / "gitlab.md"


def job(base: str, head: str, api: str, number: int = 1) -> dict[str, str]:
    return {
        "GITLAB_CI": "true",
        "CI_PIPELINE_SOURCE": "merge_request_event",
        "CI_API_V4_URL": api,
        "CI_PROJECT_PATH": "shops/spa/assistant",
        "CI_PROJECT_URL": "https://gitlab.example/shops/spa/assistant",
        "CI_MERGE_REQUEST_PROJECT_PATH": "shops/spa/assistant",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "shops/spa/assistant",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_TITLE": "/merge me",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        "CI_COMMIT_SHA": head,
        "CI_JOB_ID": str(number),
        "RATIBA_GITLAB_TOKEN": "glpat-planted",
    }


def test_a_merge_request_has_one_note_that_a_later_job_updates(local: SmallRepository) -> None:
    local.scenario("one", "say hello")
    base = local.commit()
    local.scenario("two", "say hello", expect="NEVER")
    head = local.commit()
    state = GitlabState(heads={7: head})
    with gitlab_server(state) as api:
        failed = local.gate(**job(base, head, api))
        local.scenario("two", "say hello")
        state.heads[7] = fixed = local.commit()
        passed = local.gate(**job(base, fixed, api, 2))
    assert (failed.code, passed.code) == (1, 0), failed.printed + passed.printed
    assert state.written == ["POST", "PUT"]
    (note,) = state.notes
    assert note["body"].startswith("<!-- ratiba-eval-gate name=ratiba head=" + fixed)
    assert "## Passed: " in note["body"]
    assert "warning:" not in passed.printed
    assert "glpat-planted" not in failed.printed + passed.printed + note["body"]


def test_a_server_that_refuses_the_note_is_a_warning(local: SmallRepository) -> None:
    local.scenario("one", "say hello")
    base = local.commit()
    local.scenario("two", "say hello")
    head = local.commit()
    with gitlab_server(GitlabState(failure=(403, "insufficient_scope"))) as api:
        ended = local.gate(**job(base, head, api))
    assert ended.code == 0
    assert "warning: The comment could not be posted: GitLab answered 403 ('insufficient_scope')." in ended.printed


def test_the_job_of_the_page_is_one_of_gitlabs() -> None:
    """Held against the keywords of GitLab's reference, and against the gate's own inputs."""
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    ((name, content),) = yaml.safe_load(block).items()
    assert name == "ratiba"
    assert content.keys() <= {"image", "services", "rules", "variables", "timeout", "script", "artifacts"}
    assert all(rule.keys() == {"if"} for rule in content["rules"])
    assert all(isinstance(line, str) for line in content["script"])
    assert all(isinstance(value, str) for value in content["variables"].values())
    assert content["artifacts"]["when"] == "always"
    assert content["artifacts"]["reports"] == {"junit": "ratiba-report/junit.xml"}
    known = {entry.environment_variable for entry in INPUTS} | {"RATIBA_DEADLINE"}
    ours = {variable: value for variable, value in content["variables"].items() if variable.startswith("RATIBA_")}
    assert ours.keys() <= known
    assert read_settings(ours, {}).database_url


@pytest.mark.parametrize("variable", sorted(set(re.findall(r"`(CI_[A-Z0-9_]+)`", PAGE.read_text()))))
def test_every_variable_of_the_page_is_read(variable: str) -> None:
    source = (PAGE.parents[1] / "ratiba_action" / "settings" / "gitlab.py").read_text()
    assert f'"{variable}"' in source or variable == "CI_JOB_TOKEN"
