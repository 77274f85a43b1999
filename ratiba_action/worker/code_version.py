"""Whether a server that runs already runs the code that is evaluated, by the commit that it names itself."""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING, Any

from .http_call import AnswerError, call

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECONDS = 10.0
_COMMIT = re.compile(r"(?<![0-9a-z])[0-9a-f]{7,64}(?![0-9a-z])")
_MAX_READ = 2000
_SHOWN = 100


def require_path(options: Mapping[str, Any]) -> None:
    """Read the path at which a server names its commit, if there is one, and compare.

    Args:
        options: ``url``, and ``version``: ``path``, ``header`` and ``commits`` that the server may name, or nothing.

    Raises:
        AnswerError: it is not answered, or names another commit or none.
    """
    version = options.get("version")
    if version is not None and version["path"] is not None:
        address = urllib.parse.urljoin(options["url"], version["path"])
        text = call("GET", address, {}, None, seconds=_SECONDS).decode("utf-8", "replace")
        _require(text, f"GET {address}", version["commits"])


def require_header(options: Mapping[str, Any], headers: Mapping[str, str]) -> None:
    """Compare the commit in the header of an answer, if there is to be one; as ``require_path``."""
    version = options.get("version")
    if version is not None and version["header"] is not None:
        _require(headers.get(version["header"]), f"the header {version['header']}", version["commits"])


def _require(reported: str | None, place: str, commits: list[str]) -> None:
    """Compare; at least seven digits name a commit."""
    named = _COMMIT.findall((reported or "")[:_MAX_READ].lower())
    if not any(commit.startswith(word) for word in named for commit in commits):
        found = "nothing" if reported is None else repr(reported.strip()[:_SHOWN])
        raise AnswerError(
            f"the server runs other code than what is evaluated: {place} says {found}, and the commit is "
            f"{' or '.join(commits)}"
        )
