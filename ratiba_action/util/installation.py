"""Where the gate was installed from, and so how its extras are installed and where its documentation is read."""

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution

_NAME = "ratiba-eval-gate"
_GITHUB = re.compile(r"(?:https|ssh)://(?:git@)?github\.com/(?P<repository>[\w.-]+/[\w.-]+?)(?:\.git)?/?")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Source:
    """A repository on GitHub at a commit.

    Args:
        repository: owner and name.
        commit: its full id.
    """

    repository: str = f"OWNER/{_NAME}"
    commit: str = "COMMIT"

    @property
    def action(self) -> str:
        """How a workflow names the action."""
        return f"{self.repository}@{self.commit}"


UNKNOWN = Source()
"""Placeholders, where the gate was not installed from a repository on GitHub."""


def source_in(direct_url: str | None) -> Source:
    """Where a package was installed from, by its ``direct_url.json``; placeholders where it does not say.

    Source: https://packaging.python.org/en/latest/specifications/direct-url/
    """
    try:
        read = json.loads(direct_url or "{}")
        repository = _GITHUB.fullmatch(read["url"])
        commit = _COMMIT.fullmatch(read["vcs_info"]["commit_id"])
    except (ValueError, KeyError, TypeError):
        return UNKNOWN
    return Source(repository["repository"], commit[0]) if repository and commit else UNKNOWN


@cache
def installed_from() -> Source:
    """Where this gate was installed from; placeholders where its metadata does not say."""
    try:
        return source_in(distribution(_NAME).read_text("direct_url.json"))
    except PackageNotFoundError:
        return UNKNOWN


def install_command(extra: str) -> str:
    """The command, from the repository at a commit: the name alone is registered on no package index.

    Args:
        extra: name of an extra in ``pyproject.toml``, or several with commas between them.
    """
    return f'pip install "{_NAME}[{extra}] @ git+https://github.com/{installed_from().action}"'


def page(name: str, section: str = "") -> str:
    """The address of a page of the documentation, as it was at the commit that is installed.

    Args:
        name: of the page, such as ``adapters``.
        section: the anchor of one of its headings; empty for the page as a whole.
    """
    source = installed_from()
    anchor = f"#{section}" if section else ""
    return f"https://github.com/{source.repository}/blob/{source.commit}/docs/{name}.md{anchor}"
