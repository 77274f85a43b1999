"""The few questions that are put to git, each by one subprocess with a bounded time."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from ratiba_action.errors import InfrastructureError

_SECONDS = 60
_OPTIONS = (
    "--no-pager",
    "--literal-pathspecs",
    "-c",
    "core.quotePath=off",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "safe.directory=*",
    "-c",
    "diff.renames=false",
)
_DIFF = ("diff", "--no-renames", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")


class Git:
    """A repository, read-only.

    Args:
        folder: a folder inside the work tree.
        environment: of the caller; its ``GIT_*`` variables are not passed on.

    Raises:
        InfrastructureError: git is missing, or the folder is not in a work tree.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        kept = {name: value for name, value in environment.items() if not name.upper().startswith("GIT_")}
        fixed = {
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "LC_ALL": "C",
        }
        self.environment = {**kept, **fixed}
        self.root = folder
        self.root = Path(self.run("rev-parse", "--show-toplevel").removesuffix("\n"))

    def command(self, *arguments: str) -> list[str]:
        """The argument list of a git command in this repository."""
        return ["git", *_OPTIONS, "-C", str(self.root), *arguments]

    def run(self, *arguments: str) -> str:
        """Output of a git command, decoded with ``surrogateescape``.

        Raises:
            InfrastructureError: git is missing, failed, or took too long.
        """
        try:
            done = subprocess.run(
                self.command(*arguments),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_SECONDS,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise InfrastructureError(
                f"git could not be run in {str(self.root)!r}: {error}.", "Install git and check the folder."
            ) from error
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise InfrastructureError(
                f"'git {arguments[0]}' failed in {str(self.root)!r}: {said[-1] if said else done.returncode}."
            )
        return done.stdout.decode("utf-8", "surrogateescape")

    def commit(self, name: str) -> str | None:
        """Full id of a commit that is in the repository, None when it is not."""
        try:
            return self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
        except InfrastructureError:
            return None

    def parents(self, commit: str) -> tuple[str, ...]:
        """Parents that a commit names, whether a shallow clone holds them or not."""
        header = self.run("cat-file", "commit", commit).partition("\n\n")[0]
        return tuple(line[7:] for line in header.splitlines() if line.startswith("parent "))

    def merge_base(self, one: str, other: str) -> str | None:
        """The best common ancestor, None when there is none or history is cut off before it."""
        try:
            return self.run("merge-base", "--end-of-options", one, other).strip() or None
        except InfrastructureError:
            return None

    def changed(self, base: str, head: str | None = None) -> tuple[str, ...]:
        """Paths that differ between two commits, or between a commit and the work tree with its untracked files."""
        names = self.run(*_DIFF, base, *([head] if head else []), "--").split("\0")
        if head is None:
            names += self.run("ls-files", "--others", "--exclude-standard", "-z").split("\0")
        return tuple(dict.fromkeys(name for name in names if name))
