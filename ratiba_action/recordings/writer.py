"""Write a recording file so that its diff can be reviewed: one line an answer, in the order of first use."""

import dataclasses
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ratiba_action.errors import RecordingError
from ratiba_action.recordings.lines import ModelRecording, Recording
from ratiba_action.recordings.reader import parse_recordings


def write_recordings(path: Path, recordings: Sequence[Recording]) -> None:
    """Replace a scenario's recording file as a whole: a reader sees the old file or the new one.

    The recordings stay in the order given, that of their first use, with model answers before judge answers.

    Raises:
        SuiteError: the recordings would not be read back, such as two answers under one key.
        RecordingError: the file cannot be written.
    """
    content = render_recordings(recordings)
    parse_recordings(content, str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, content)
    except OSError as error:
        raise RecordingError(
            f"The recording {str(path)!r} cannot be written: {error.strerror}.", "Make its folder writable."
        ) from error


def render_recordings(recordings: Sequence[Recording]) -> bytes:
    """The bytes of a recording file: compact JSON with sorted keys, model answers before judge answers."""
    ordered = sorted(recordings, key=lambda recording: not isinstance(recording, ModelRecording))
    return b"".join(_render(recording) for recording in ordered)


def _render(recording: Recording) -> bytes:
    line = dataclasses.asdict(recording)
    line["kind"] = "model" if isinstance(recording, ModelRecording) else "judge"
    if not line.get("usage_estimated", True):
        del line["usage_estimated"]
    try:
        return _encode(line, ascii_only=False)
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form; escaped it survives the round trip.
        return _encode(line, ascii_only=True)


def _encode(line: dict[str, object], *, ascii_only: bool) -> bytes:
    text = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=ascii_only, allow_nan=False)
    return text.encode("utf-8") + b"\n"


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
