"""The pull requests of Renovate and Dependabot, each as the whole event that GitHub sends, through ``ratiba decide``.

``ratiba decide`` is the first step of the action and a substitute for the whole action, which two such pull requests go
through in ``tests/action/test_dependency_bumps.py``. Branches, titles and authors are those that the bots use.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ratiba_action.main import run
from tests.support.bots import DEPENDABOT, RENOVATE, bot_event
from tests.support.git_repository import GitRepository
from tests.support.github_state import Pull

DIRECT, LOCK = "requirements.in", "requirements.txt"
BEFORE = {DIRECT: "openai>=1,<3\nlanggraph<2\n", LOCK: "httpx==0.27.0\nlanggraph==1.1.0\nopenai==2.52.0\n"}
MINOR = {LOCK: "httpx==0.27.0\nlanggraph==1.1.0\nopenai==2.53.0\n"}
MAJOR = {DIRECT: "openai>=3,<4\nlanggraph<2\n", LOCK: "httpx==0.27.0\nlanggraph==1.1.0\nopenai==3.0.0\n"}
GROUP = {LOCK: "httpx==0.27.0\nlanggraph==1.2.0\nopenai==2.53.0\n"}
GROUP_WITH_MAJOR = {DIRECT: "openai>=1,<3\nlanggraph<3\n", LOCK: "httpx==0.27.0\nlanggraph==2.0.0\nopenai==2.53.0\n"}
LOCK_ONLY = {LOCK: "httpx==0.27.2\nlanggraph==1.1.0\nopenai==2.52.0\n"}


@dataclass(frozen=True)
class Proposal:
    """A bot's pull request, and what is to come of it.

    Args:
        after: content of the changed files.
        changes: packages of the lock file with what changed.
    """

    author: str
    branch: str
    title: str
    after: Mapping[str, str]
    mode: str
    changes: frozenset[tuple[str, str]]


def changes(**kinds: str) -> frozenset[tuple[str, str]]:
    return frozenset(kinds.items())


MINOR_OF_OPENAI, MAJOR_OF_OPENAI = changes(openai="minor"), changes(openai="major")
OF_A_GROUP, OF_THE_LOCK = changes(openai="minor", langgraph="minor"), changes(httpx="patch")
WITH_A_MAJOR = changes(openai="minor", langgraph="major")
FRESH, BUMP = "Update dependency openai to v", "Bump openai from 2.52.0 to "
PROPOSALS = (
    Proposal(RENOVATE, "renovate/openai-2.x", f"{FRESH}2.53.0", MINOR, "advisory", MINOR_OF_OPENAI),
    Proposal(DEPENDABOT, "dependabot/pip/openai-2.53.0", f"{BUMP}2.53.0", MINOR, "advisory", MINOR_OF_OPENAI),
    Proposal(RENOVATE, "renovate/openai-3.x", f"{FRESH}3", MAJOR, "blocking", MAJOR_OF_OPENAI),
    Proposal(DEPENDABOT, "dependabot/pip/openai-3.0.0", f"{BUMP}3.0.0", MAJOR, "blocking", MAJOR_OF_OPENAI),
    Proposal(RENOVATE, "renovate/llm", "Update llm", GROUP, "advisory", OF_A_GROUP),
    Proposal(
        DEPENDABOT, "dependabot/pip/llm-0e3f1b", "Bump the llm group with 2 updates",
        GROUP_WITH_MAJOR, "blocking", WITH_A_MAJOR,
    ),
    Proposal(
        RENOVATE, "renovate/lock-file-maintenance", "Lock file maintenance", LOCK_ONLY, "advisory", OF_THE_LOCK
    ),
    Proposal(
        DEPENDABOT, "dependabot/pip/httpx-0.27.2", "Bump httpx from 0.27.0 to 0.27.2",
        LOCK_ONLY, "advisory", OF_THE_LOCK,
    ),
)  # fmt: skip


def pull(proposal: Proposal, base: str, head: str) -> Pull:
    files = tuple(proposal.after)
    return Pull(head, base, proposal.branch, author=proposal.author, title=proposal.title, files=files)


@pytest.mark.parametrize("proposal", PROPOSALS, ids=lambda proposal: proposal.branch.replace("/", "-"))
def test_the_locked_versions_choose_the_mode_whoever_proposes_them(
    repository: GitRepository,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    proposal: Proposal,
) -> None:
    base = repository.commit({"app.py": "1", **BEFORE})
    head = repository.commit(dict(proposal.after))
    path = tmp_path / "event.json"
    path.write_text(json.dumps(bot_event(pull(proposal, base, head))))
    arguments = ["decide", "--json", "--repo", str(repository.folder), "--event", str(path)]
    assert run([*arguments, "--event-name", "pull_request"], repository.environment) == 0
    printed = json.loads(capsys.readouterr().out)
    found = frozenset((one["package"], one["change"]) for one in printed["dependencies"] if one["file"] == LOCK)
    assert (printed["mode"], found) == (proposal.mode, proposal.changes)
    assert {reason["path"] for reason in printed["reasons"]} == set(proposal.after)
