"""``results.json``: everything about a run, for programs."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ratiba_action.errors import ConfigurationError, PublishError
from ratiba_action.model.codec import CodecError, RepeatedRecords, decode, encode
from ratiba_action.model.measurement import Scored
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.report_formats import ExactFormats
from ratiba_action.reporting.results_file import COMPRESSED, MAX_BYTES, RESULTS
from ratiba_action.reporting.summary import ReportSummary, outputs_of
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.strict_json import refuse_constant, unique_keys
from ratiba_action.util.whole_files import write_whole_files

SCHEMA = 1
"""Version of the file's format; increased when a field changes its meaning or is removed."""

_GZIP = b"\x1f\x8b"
_ONE_LINE = json.JSONEncoder(ensure_ascii=True, allow_nan=False)
_NO_RESULTS = '\n  "results": []'
_MAX_DIGITS = 300


def render_results(summary: ReportSummary) -> str:
    """The text of ``results.json``; ASCII, so that no byte of a reply can break it."""
    return b"".join(results_parts(summary)).decode("ascii")


def results_parts(summary: ReportSummary) -> Iterator[bytes]:
    """The same, part by part: the text of a large suite takes more memory than its results."""
    report = encode(replace(summary.report, results=()))
    content = {"schema": SCHEMA, "outputs": summary.outputs, "report": report}
    text = json.dumps(content, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
    if not summary.report.results:
        yield text.encode("ascii")
        return
    before, _, after = text.partition(_NO_RESULTS)
    yield f'{before}\n  "results": ['.encode("ascii")
    # A result is one line: Python indents ten times more slowly than it writes. No string has a line's end in it.
    for number, result in enumerate(summary.report.results):
        line = _ONE_LINE.encode(encode(result))
        yield f"{',' if number else ''}\n   {line}".encode("ascii")
    yield f"\n  ]{after}".encode("ascii")


def load_report(
    text: str | bytes, *, exact: bool = False, maximum: int | None = None, repeated: RepeatedRecords | None = None
) -> Report:
    """The report that ``render_results`` wrote.

    Args:
        text: content of a ``results.json``, or of a ``results.json.gz``.
        exact: refuse anything that this version of the gate cannot have written, down to the format of each field.
            For a file from an untrusted source.
        maximum: bytes that it may have when it is unpacked; None for those of its kind.
        repeated: scenarios of other reports; None for a single report.

    Raises:
        ConfigurationError: the text is not JSON, of another version, or lacks a field; says which.
    """
    remedy = "Write the file again with this version: ratiba gate"
    if isinstance(text, bytes):
        text = unpacked(text, _maximum(exact=exact) if maximum is None else maximum)
    try:
        content = _STRICT.decode(text if isinstance(text, str) else text.decode("utf-8")) if exact else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"results.json could not be read as JSON: {error}.", remedy) from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        version = content.get("schema") if isinstance(content, dict) else content
        raise ConfigurationError(
            f"results.json has schema {version!r:.80}, but this version reads schema {SCHEMA}.", remedy
        )
    try:
        report: Report = decode(Report, content.get("report"), "$.report", ExactFormats() if exact else None, repeated)
        if exact:
            _require_own_outputs(content, report)
    except CodecError as error:
        raise ConfigurationError(f"results.json could not be read: {error}", remedy) from error
    return report


def is_compressed(content: bytes) -> bool:
    """Whether it begins as a ``results.json.gz`` does."""
    return content.startswith(_GZIP)


def unpacked(content: bytes, maximum: int) -> bytes:
    """What one gzip stream holds, at most so many bytes: a small file can name gigabytes. Other content as it is.

    Raises:
        ConfigurationError: it is no whole stream, or more than one.
    """
    if not is_compressed(content):
        return content
    stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = stream.decompress(content, maximum + 1)
    except zlib.error as error:
        raise _not_unpacked(f"it is damaged ({error})") from error
    if len(text) > maximum:
        raise _not_unpacked(f"it has more than {maximum:,} bytes when it is unpacked")
    if not stream.eof:
        raise _not_unpacked("its end is missing")
    if stream.unused_data:
        raise _not_unpacked("something follows its end")
    return text


def _not_unpacked(why: str) -> ConfigurationError:
    return ConfigurationError(
        f"{COMPRESSED} could not be read: {why}.", "Write it again from results.json: ratiba report --compress"
    )


def _require_own_outputs(content: Mapping[str, Any], report: Report) -> None:
    unknown = sorted(content.keys() - {"schema", "outputs", "report"})
    if unknown:
        raise CodecError(f"$ has the field {unknown[0]!r:.80}, which is unknown.")
    if content.get("outputs") != outputs_of(report):
        raise CodecError("$.outputs are not those of the report.")


def _short_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits")
    return int(digits)


_STRICT = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=refuse_constant, parse_int=_short_int)


def write_baseline(summary: ReportSummary, path: Path) -> None:
    """Write ``results.json`` under the given name; an existing file is replaced atomically.

    Args:
        summary: with its secrets and identifiers masked already.
        path: its folder is created if missing. A name that ends with ``.gz`` is written compressed.

    Raises:
        PublishError: nothing was measured, or the file cannot be written; what was there before is unchanged.
    """
    if not any(isinstance(result, Scored) for result in summary.report.results):
        raise PublishError(f"No baseline was written to {str(path)!r}: nothing was measured.")
    content = b"".join(results_parts(summary))
    try:
        write_whole_files({path: packed(content) if path.name.endswith(".gz") else content})
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PublishError(f"The baseline could not be written to {str(path)!r}: {reason}.") from error


def packed(content: bytes) -> bytes:
    """The content compressed; the same bytes for the same content."""
    return gzip.compress(content, mtime=0)


MAX_EXACT_BYTES = 20_000_000
"""The same of a file from an untrusted source."""


def _maximum(*, exact: bool) -> int:
    return MAX_EXACT_BYTES if exact else MAX_BYTES


def results_in_folder(folder: Path) -> Path:
    """The results in a report directory: ``results.json``, or ``results.json.gz`` where only that is there."""
    plain, compressed = folder / RESULTS, folder / COMPRESSED
    return compressed if compressed.exists() and not plain.exists() else plain


def read_results(path: Path, *, exact: bool = False) -> Report:
    """The report in a file.

    Args:
        path: relative to the working folder, or absolute.
        exact: as in ``load_report``.

    Raises:
        ConfigurationError: it is missing, not a plain file, too large, or has no report; says which.
    """
    return load_report(results_content(path, _maximum(exact=exact)), exact=exact)


def results_content(path: Path, maximum: int = MAX_BYTES) -> bytes:
    """The content of a file of results, as it lies there.

    Args:
        path: relative to the working folder, or absolute.
        maximum: bytes that it may have.

    Raises:
        ConfigurationError: it is missing, not a plain file, or too large; says which.
    """
    inside = not path.is_absolute() and ".." not in path.parts
    root, name = (Path.cwd(), str(path)) if inside else (path.parent, path.name)
    try:
        return read_plain_file(root, name, maximum)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(
            f"The results {str(path)!r} cannot be read: {reason}.", "Write them with: ratiba gate"
        ) from error
