"""Write a recording file so that its diff can be reviewed: one line an answer, trial by trial, as first used."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from ratiba_action.errors import RecordingError
from ratiba_action.llm.recordings.lines import ModelRecording, Recording
from ratiba_action.llm.recordings.reader import parse_recordings
from ratiba_action.model.reads import Reads
from ratiba_action.util.whole_files import write_whole_files


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
    try:
        write_whole_files(contents)
    except OSError as error:
        raise RecordingError(
            f"The recording {error.filename!r} cannot be written: {error.strerror}.", "Make its folder writable."
        ) from error


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
