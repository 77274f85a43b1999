"""Write a recording file so that its diff can be reviewed: one line an answer, in the order of first use."""

import contextlib
import dataclasses
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
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
    write_all({path: recordings})


def write_all(recordings: Mapping[Path, Sequence[Recording]]) -> None:
    """Replace several recording files; every one is checked and lies beside its place before the first is replaced.

    Raises:
        SuiteError: recordings would not be read back; nothing is written.
        RecordingError: a file cannot be written. Unless it says otherwise nothing is written.
    """
    contents = {path: render_recordings(lines) for path, lines in recordings.items()}
    for path, content in contents.items():
        parse_recordings(content, str(path))
    written: list[Path] = []
    with contextlib.ExitStack() as stack:
        staged = {path: _stage(path, content, stack) for path, content in contents.items()}
        for path, temporary in staged.items():
            with _told(path, written):
                temporary.replace(path)
            written.append(path)


def render_recordings(recordings: Sequence[Recording]) -> bytes:
    """The bytes of a recording file: compact JSON with sorted keys, model answers before judge answers."""
    return b"".join(_render(recording) for recording in in_file_order(recordings))


def in_file_order(recordings: Sequence[Recording]) -> tuple[Recording, ...]:
    """The recordings as they stand in a file: model answers before judge answers, each in the order given."""
    return tuple(sorted(recordings, key=lambda recording: not isinstance(recording, ModelRecording)))


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


def _stage(path: Path, content: bytes, stack: contextlib.ExitStack) -> Path:
    """Write beside the place; what is still there when the stack closes is removed."""
    with _told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        stack.callback(temporary.unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        return temporary


@contextlib.contextmanager
def _told(path: Path, written: Sequence[Path] = ()) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        before = f" Written before it: {', '.join(one.name for one in written)}." if written else ""
        raise RecordingError(
            f"The recording {str(path)!r} cannot be written: {error.strerror}.{before}", "Make its folder writable."
        ) from error
