"""The one file of an artifact that is read, taken out of its archive in memory: nothing is unpacked anywhere."""

import io
import stat
import zipfile
import zlib
from pathlib import PurePosixPath

from ratiba_action.errors import ConfigurationError

RESULTS, COMPRESSED = "results.json", "results.json.gz"
MOST_BYTES = 20_000_000
"""As much as is read of a ``results.json`` that is named."""

_MOST_ENTRIES = 100
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x1


def results_in(archive: bytes) -> bytes:
    """The bytes of ``results.json`` in a zip archive, or of ``results.json.gz`` where only that is there.

    Args:
        archive: whole; its own size is bounded by whoever fetched it.

    Raises:
        ConfigurationError: it is no zip archive or a damaged one, holds no such file or several, a link or a path
            that leads out of it, or what is too large.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            entry = _entry(opened.infolist())
            with opened.open(entry) as file:
                content = file.read(MOST_BYTES + 1)
    except ConfigurationError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, NotImplementedError) as error:
        raise _refused(f"it is damaged ({type(error).__name__})") from error
    if len(content) > MOST_BYTES:
        raise _too_large()
    return content


def _entry(entries: list[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    if len(entries) > _MOST_ENTRIES:
        raise _refused(f"it has {len(entries):,} entries, and {_MOST_ENTRIES} at most are looked at")
    for entry in entries:
        path = PurePosixPath(entry.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise _refused(f"its entry {entry.filename!r:.80} leads out of it")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise _refused(f"its entry {entry.filename!r:.80} is a link")
    found = [entry for entry in entries if entry.filename == RESULTS]
    found = found or [entry for entry in entries if entry.filename == COMPRESSED]
    if len(found) != 1:
        raise _refused(f"it holds {RESULTS!r} {len(found)} times, and must hold it once")
    if found[0].file_size > MOST_BYTES:
        raise _too_large()
    if found[0].compress_type not in _METHODS or found[0].flag_bits & _ENCRYPTED:
        raise _refused(f"{RESULTS!r} is encrypted, or packed by an unusual method")
    return found[0]


def _too_large() -> ConfigurationError:
    return _refused(f"{RESULTS!r} has more than {MOST_BYTES:,} bytes")


def _refused(why: str) -> ConfigurationError:
    return ConfigurationError(f"The artifact was not read: {why}.")
