"""A small real git repository for tests."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_IDENTITY = {
    "GIT_AUTHOR_NAME": "A Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.invalid",
    "GIT_COMMITTER_NAME": "A Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.invalid",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    # A repository of a test is small, and gone before the machine could lose it.
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "maintenance.auto",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "core.fsync",
    "GIT_CONFIG_VALUE_1": "none",
}


class GitRepository:
    """Makes commits; the first branch is ``main``.

    Args:
        folder: an empty or missing folder.
        path: value of ``PATH`` to find git with.
    """

    def __init__(self, folder: Path, path: str = os.environ["PATH"]) -> None:
        self.folder = folder
        self.environment = {"PATH": path}
        """Enough for what runs git in it."""
        self._environment = {**_IDENTITY, **self.environment, "HOME": str(folder)}
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, date: str = "") -> str:
        """Run git; returns its output without surrounding white space.

        Args:
            date: at which a commit is made; empty for now.
        """
        environment = self._environment | ({"GIT_COMMITTER_DATE": date} if date else {})
        done = subprocess.run(["git", *arguments], cwd=self.folder, env=environment, check=True, capture_output=True)
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Write files of the work tree; None removes one."""
        for name, content in files.items():
            path = self.folder / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))

    def commit(self, files: Mapping[str, str | bytes | None]) -> str:
        """Write files and commit them; returns the commit's id."""
        self.write(files)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", "A change")
        return self.git("rev-parse", "HEAD")

    def merge(self, branch: str) -> str:
        """Merge a branch with a merge commit, as GitHub does for a pull request; returns its id."""
        self.git("merge", "--quiet", "--no-ff", "--message", "A merge", branch)
        return self.git("rev-parse", "HEAD")
