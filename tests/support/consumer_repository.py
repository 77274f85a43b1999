"""A repository as a user of the action has it, checked out as GitHub checks out a pull request."""

import json
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.git_repository import GitRepository
from tests.support.pull_request_events import pull_request_event
from tests.support.small_repository import CONFIGURATION, SCENARIO

NAME = "salon/assistant"
WORKFLOW = ".github/workflows/eval-on-prompt-change.yml"
PROMPT = "prompts/greeting.md"
"""The prompt of the small system, which asks no model."""


class ConsumerRepository:
    """A copy of a folder, committed; a proposed change lies on top of it as a merge commit.

    Args:
        source: folder to copy.
        folder: missing folder to make.
        more: files to write over those of the source before the first commit; None removes one.
    """

    def __init__(self, source: Path, folder: Path, more: Mapping[str, str | bytes | None] | None = None) -> None:
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__", ".venv"))
        self.folder = folder
        self._repository = GitRepository(folder)
        self._repository.git("remote", "add", "origin", f"https://github.com/{NAME}.git")
        self.base = self._repository.commit(more or {})
        self.head = self.base
        self.merged = self.base

    def text(self, name: str) -> str:
        """Content of a file."""
        return (self.folder / name).read_text(encoding="utf-8")

    def write(self, name: str, content: str) -> None:
        """Write a file of the work tree."""
        self._repository.write({name: content})

    def propose(self, files: Mapping[str, str | bytes | None], patch: Path | None = None) -> None:
        """Commit files to a branch and merge it, as GitHub does for a pull request's run.

        Args:
            files: written over those of the work tree; None removes one.
            patch: applied before.
        """
        self._repository.git("switch", "--quiet", "--create", "change")
        if patch is not None:
            self._repository.git("apply", str(patch))
        self.head = self._repository.commit(files)
        self._repository.git("switch", "--quiet", "main")
        self.merged = self._repository.merge("change")

    def pull_request_event(self, **replaced: Any) -> dict[str, Any]:
        """The event of the proposed change; the rest replaces parts of its pull request."""
        event = pull_request_event(self.base, self.head)
        event["pull_request"].update(replaced)
        return event

    def merge_group_event(self) -> dict[str, Any]:
        """The event of a merge queue that holds the proposed change."""
        group = {"base_sha": self.base, "head_sha": self.merged, "base_ref": "refs/heads/main"}
        return {"action": "checks_requested", "merge_group": group, "repository": {"full_name": NAME}}

    def dispatch_event(self, **inputs: str) -> dict[str, Any]:
        """The event of a run that was started by hand."""
        return {"ref": "refs/heads/main", "inputs": inputs, "repository": {"full_name": NAME}}

    def files(self) -> dict[str, bytes]:
        """Every committed file with its content."""
        # The checkout may have been given to another user.
        names = self._repository.git("-c", "safe.directory=*", "ls-files", "-z").split("\0")
        return {name: (self.folder / name).read_bytes() for name in names if name}


@dataclass(frozen=True, slots=True)
class Repositories:
    """Makes repositories.

    Args:
        project: this project's checkout.
        folder: where they go.
    """

    project: Path
    folder: Path

    def consumer(self, more: Mapping[str, str | bytes | None] | None = None) -> ConsumerRepository:
        """The example of a repository that uses the action, with packages and recordings of its own.

        Args:
            more: files to write over it before the first commit.
        """
        return self.made_of(self.project / "examples" / "consumer", more or {})

    def small(
        self, message: str = "say Bonjour", expect: str = "SAID", more: Mapping[str, str | bytes | None] | None = None
    ) -> ConsumerRepository:
        """A repository with the small system, which needs no packages and asks no model, and one scenario.

        Args:
            message: what the customer says.
            expect: the state that is expected after it.
            more: files to write over it before the first commit.
        """
        turn = f"  - user: {json.dumps(message)}\n    expect: {{state: {expect}}}"
        files: dict[str, str | bytes | None] = {
            ".github/ratiba.yml": CONFIGURATION.format(timeout=120),
            WORKFLOW: (self.project / "examples" / "consumer" / WORKFLOW).read_bytes(),
            PROMPT: "Say Bonjour.\n",
            "scenarios/greeting.yaml": SCENARIO.format(name="greeting", turns=turn),
            **(more or {}),
        }
        return self.made_of(self.project / "tests" / "end_to_end" / "small_system", files)

    def made_of(self, source: Path, more: Mapping[str, str | bytes | None]) -> ConsumerRepository:
        """A repository with a copy of a folder.

        Args:
            source: the folder.
            more: files to write over it before the first commit.
        """
        return ConsumerRepository(source, self.folder / uuid.uuid4().hex[:8], more)
