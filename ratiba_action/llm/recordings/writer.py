"""Write a recording file so that its diff can be reviewed: one line an answer, trial by trial, as first used."""

import contextlib
import dataclasses
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ratiba_action.errors import RecordingError
from ratiba_action.llm.recordings.lines import ModelRecording, Recording
from ratiba_action.llm.recordings.reader import parse_recordings
from ratiba_action.model.reads import Reads


def write_recordings(path: Path, recordings: Sequence[Recording]) -> None:
    """Replace a scenario's recording file as a whole: a reader sees the old file or the new one.

    The recordings stay in the order given, that of their first use, with model answers before judge answers.

    Raises:
        SuiteError: the recordings would not be read back, such as two answers under one key.
        RecordingError: the file cannot be written.
    """
    write_all({path: recordings})


def write_all(recordings: Mapping[Path, Sequence[Recording]], reads: Mapping[Path, Reads] | None = None) -> None:
    """Replace several recording files as a whole: all of them hold the new lines afterwards, or none.

    Args:
        recordings: by file.
        reads: what was observed of the scenario of a file; one that is not named says nothing.

    Raises:
        SuiteError: recordings would not be read back; nothing is written.
        RecordingError: a file cannot be written; those replaced before it are put back.
    """
    known = reads or {}
    contents = {path: render_recordings(lines, known.get(path)) for path, lines in recordings.items()}
    for path, content in contents.items():
        parse_recordings(content, str(path))
    with contextlib.ExitStack() as temporary, contextlib.ExitStack() as undo:
        staged = {path: _stage(path, content, temporary) for path, content in contents.items()}
        for path, new in staged.items():
            with _recording_errors(path):
                old = path.read_bytes() if path.exists() else None
                new.replace(path)
            undo.callback(_restore, path, old)
        undo.pop_all()


def render_recordings(recordings: Sequence[Recording], reads: Reads | None = None) -> bytes:
    """The bytes of a recording file: compact JSON with sorted keys; what was read, model answers, judge answers."""
    first = [] if reads is None else [_render_reads(reads)]
    return b"".join([*first, *(_render(recording) for recording in in_file_order(recordings))])


def _render_reads(reads: Reads) -> bytes:
    return _encode({"kind": "reads", "files": list(reads.files), "sent": dict(reads.sent)}, ascii_only=False)


def in_file_order(recordings: Sequence[Recording]) -> tuple[Recording, ...]:
    """The recordings as they stand in a file: model answers by trial, then judge answers, else in the order given."""
    return tuple(sorted(recordings, key=_place))


def _place(recording: Recording) -> tuple[bool, int]:
    return (False, recording.trial) if isinstance(recording, ModelRecording) else (True, 0)


def _render(recording: Recording) -> bytes:
    line = dataclasses.asdict(recording)
    line["kind"] = "model" if isinstance(recording, ModelRecording) else "judge"
    for name in ("usage_estimated", "trial", "answered_by"):
        if not line.get(name, True):
            del line[name]
    for name in ("score", "reason", "answer", "inputs"):
        if line.get(name, "") is None:
            del line[name]
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
    with _recording_errors(path):
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


def _restore(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


@contextlib.contextmanager
def _recording_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RecordingError(
            f"The recording {str(path)!r} cannot be written: {error.strerror}.", "Make its folder writable."
        ) from error
