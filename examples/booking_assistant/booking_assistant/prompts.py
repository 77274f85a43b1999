"""Which prompt a conversation gets, and which version of it that is."""

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from booking_assistant.rollouts import Rollouts

STABLE = "@stable"
CANARY = "@canary"
_GIT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt.

    Args:
        version: ``<name>@<short sha>`` of the commit that last touched the file, or of its content.
        blob: ``<name>@<blob id>``, which depends on the text alone. The gate's traces have the same as ``prompt_blob``.
    """

    name: str
    version: str
    text: str
    blob: str


@dataclass(frozen=True, slots=True)
class Alias:
    """What a role's aliases point to.

    Args:
        stable: file name of the prompt that everyone gets.
        canary: file name of the prompt that is being tried, None without one.
        percentage: share of conversations that get the canary, 0 to 100.
    """

    stable: str
    canary: str | None = None
    percentage: int = 0


class PromptLibrary:
    """The prompts of a folder, by role.

    Args:
        folder: holds ``aliases.yaml`` and the prompts.
        rollouts: say which share gets a canary; None for the percentages in ``aliases.yaml``.

    Raises:
        ValueError: an alias in ``aliases.yaml`` is wrong.
        OSError: a file cannot be read.
    """

    def __init__(self, folder: Path, rollouts: Rollouts | None = None) -> None:
        self._rollouts = rollouts
        raw = yaml.safe_load((folder / "aliases.yaml").read_text(encoding="utf-8"))
        self._aliases = {role: _read_alias(role, value) for role, value in raw.items()}
        names = {name for alias in self._aliases.values() for name in (alias.stable, alias.canary) if name}
        self._prompts = {name: load_prompt(folder / name) for name in names}

    def resolve(self, role: str, tenant_id: str, conversation_id: str) -> Prompt:
        """The prompt of a role for a conversation; the same one as long as the percentage is the same.

        Raises:
            KeyError: the role has no alias.
        """
        alias = self._aliases[role]
        if alias.canary is None:
            return self._prompts[alias.stable]
        percentage = alias.percentage if self._rollouts is None else self._rollouts.percentage(role)
        is_canary = canary_bucket(tenant_id, conversation_id) < percentage
        return self._prompts[alias.canary if is_canary else alias.stable]


def canary_bucket(tenant_id: str, conversation_id: str) -> int:
    """A conversation's place from 0 to 99, by hash: the same on every machine, without a store."""
    return int(hashlib.sha256(f"{tenant_id}:{conversation_id}".encode()).hexdigest(), 16) % 100


def load_prompt(path: Path) -> Prompt:
    """Read a prompt and find its version."""
    content = path.read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    version = _commit(path) or blob[:12]
    return Prompt(path.stem, f"{path.stem}@{version}", content.decode("utf-8"), f"{path.stem}@{blob}")


def _commit(path: Path) -> str | None:
    """The commit that last touched the file; None when git cannot tell, or the file differs from it."""
    last = _git(path, "log", "-1", "--format=%h", "--abbrev=7", "--", path.name)
    if not last or _git(path, "rev-parse", "--is-shallow-repository") != "false":
        return None
    return last if _git(path, "status", "--porcelain", "--", path.name) == "" else None


def _git(path: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(path.parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _read_alias(role: str, value: Any) -> Alias:
    try:
        canary = value.get(CANARY) or {}
        alias = Alias(value[STABLE], canary.get("prompt"), canary.get("percentage", 0))
    except (AttributeError, KeyError, TypeError):
        raise ValueError(f"cannot read the alias of {role!r}, {value!r}: give {STABLE!r} a file name") from None
    if type(alias.percentage) is not int or not 0 <= alias.percentage <= 100:  # noqa: PLR2004  (a percentage)
        raise ValueError(f"cannot send {alias.percentage!r} percent of {role!r} to the canary: use 0 to 100")
    return alias
