"""The weekly workflow that posts the mutation score: one issue, one comment a week, beside the score before."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
STEPS = yaml.safe_load((PROJECT / "examples/workflows/mutation-score.yml").read_text("utf-8"))["jobs"]["score"]["steps"]
GH = """#!/bin/sh
echo "$@" >>calls.txt
case "$1 $2" in
"issue list") cat issue.txt ;;
"issue view") for last; do :; done; jq -r "$last" comments.json ;;
"issue create") echo https://github.com/acme/shop/issues/31 ;;
"issue comment") cat "$5" >posted.md ;;
esac
"""
RATIBA = """#!/bin/sh
cat found.json
exit "$(cat code.txt)"
"""
FOUND: dict[str, Any] = {
    "score": {"share": 0.947, "killed": 250, "counted": 264},
    "headline": "Mutation score 95%: 250 of 264 killed.",
    "lines": [
        {"file": "app/pay.py", "line": 7, "protection": "unprotected"},
        {"file": "app/pay.py", "line": 8, "protection": "protected"},
        {"file": "app/pay.py", "line": 9, "protection": "partly"},
    ],
}


def week(
    folder: Path, *, issue: str = "", comments: Any = (), found: dict[str, Any] | None = None, code: int = 0
) -> tuple[int, str, list[str]]:
    """Exit code, what is posted, and the calls of gh."""
    for name, text in (("gh", GH), ("ratiba", RATIBA)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "issue.txt").write_text(issue)
    (folder / "comments.json").write_text(json.dumps({"comments": list(comments)}))
    (folder / "found.json").write_text(json.dumps(found or FOUND) if code != 2 else "")
    (folder / "code.txt").write_text(str(code))
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "LABEL": "score", "COMMIT": "0123456789abcdef"}
    ended = 0
    for step in STEPS[-2:]:
        if not ended:
            command = ["bash", "-e", "-o", "pipefail", "-c", step["run"]]
            ended = subprocess.run(command, cwd=folder, env=environment, check=False).returncode
    posted, calls = folder / "posted.md", folder / "calls.txt"
    return (
        ended,
        posted.read_text() if posted.exists() else "",
        calls.read_text().splitlines() if calls.exists() else [],
    )


def comment(body: str, author: str = "github-actions") -> dict[str, Any]:
    return {"author": {"login": author}, "body": body}


pytestmark = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")


def test_the_first_week_opens_an_issue_and_lists_the_lines(tmp_path: Path) -> None:
    code, posted, calls = week(tmp_path)
    assert code == 0
    assert posted == (
        "95 % at 0123456.\n\nMutation score 95%: 250 of 264 killed.\n\n"
        "Not protected:\n- `app/pay.py:7`\n- `app/pay.py:9`\n"
    )
    assert sum(call.startswith("issue create") for call in calls) == 1
    assert "issue comment 31 --body-file score.md" in calls


def test_a_later_week_stands_beside_the_one_before_and_believes_no_other_author(tmp_path: Path) -> None:
    comments = [comment("80 % at 1."), comment("88 % after 80 % before at 2."), comment("12 % at 3.", "somebody")]
    code, posted, calls = week(tmp_path, issue="7", comments=comments)
    assert (code, posted.splitlines()[0]) == (0, "95 % after 88 % before at 0123456.")
    assert not any(call.startswith("issue create") for call in calls)


def test_a_run_that_ended_early_is_posted_and_a_mistake_is_not(tmp_path: Path) -> None:
    found = {**FOUND, "score": {"share": None}, "headline": "No mutation score: the deadline was reached.", "lines": []}
    assert week(tmp_path, issue="7", found=found, code=3)[1].startswith("No score at 0123456.\n\nNo mutation score")
    (tmp_path / "posted.md").unlink()
    assert week(tmp_path, issue="7", code=2)[:2] == (2, "")
