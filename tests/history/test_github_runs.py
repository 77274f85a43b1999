"""How the search for runs on GitHub says that it ended at a limit."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ratiba_action.history.github_runs import ARTIFACT, MAX_LISTED, MAX_RUNS, runs_on_github
from ratiba_action.privacy.masking import Redactor


@pytest.mark.parametrize(
    ("branch", "artifacts", "ended"),
    [
        ("main", MAX_RUNS - 1, ""),
        ("main", MAX_RUNS + 1, f" (the search ended at the newest {MAX_RUNS} runs)"),
        ("another", MAX_LISTED - 1, ""),
        ("another", MAX_LISTED + 1, f" (the search ended at the newest {MAX_LISTED:,} artifacts)"),
    ],
)
def test_a_search_that_ended_at_its_limit_says_so(branch: str, artifacts: int, ended: str, tmp_path: Path) -> None:
    rows = (
        {
            "id": number,
            "name": ARTIFACT,
            "expired": False,
            "workflow_run": {
                "id": number, "repository_id": 1, "head_repository_id": 1, "head_branch": branch, "head_sha": "a" * 40
            },
        }
        for number in range(artifacts)
    )  # fmt: skip
    github: Any = SimpleNamespace(repository=lambda: {"default_branch": "main"}, artifacts=lambda _: rows)
    found = runs_on_github(github, "ratiba/assistant", tmp_path, Redactor())
    assert found.source == f"the workflow runs of 'main' on GitHub{ended}"
