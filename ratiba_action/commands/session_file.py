"""A captured session, read from a file that a person names."""

import json
from pathlib import Path

from ratiba_action.authoring.captured_session import CapturedSession, read_session
from ratiba_action.errors import FileProblem, SuiteError, UsageError

_MOST_BYTES = 4 << 20


def read_session_file(name: str) -> CapturedSession:
    """The session of a file.

    Raises:
        UsageError: it cannot be read, or is no JSON.
        SuiteError: it is no session; every problem.
    """
    session, problems = read_session(_decoded(Path(name)))
    if session is None:
        raise SuiteError([FileProblem(name, 0, problem) for problem in problems])
    return session


def _decoded(path: Path) -> object:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"The session {str(path)!r} cannot be read: {error.strerror}.", "Name a file.") from error
    if len(content) > _MOST_BYTES:
        raise UsageError(f"The session {str(path)!r} has more than {_MOST_BYTES:,} bytes.", "Cut it.")
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The session {str(path)!r} is not JSON in UTF-8: {error}.", "Export it again.") from error
