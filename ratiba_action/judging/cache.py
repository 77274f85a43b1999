"""Judge scores kept between runs, one small file a key (``seeds/000`` §5)."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.core.canonical import canonical_json


@dataclass(frozen=True, slots=True)
class CachedScore:
    """What is kept of a score: its value, 0 to 1, and the judge's reason."""

    value: float
    reason: str


class JudgeCache:
    """A folder of scores. Several processes may use it at once: files are replaced whole.

    Args:
        directory: ``.deepeval-cache`` or wherever the caller keeps it; outside the workspace in CI.
        warn: told about entries that cannot be read or written; they are ignored.
    """

    def __init__(self, directory: Path, warn: Callable[[str], None]) -> None:
        self._directory = directory
        self._warn = warn

    def get(self, key: str, transcript: str) -> CachedScore | None:
        """The score under a key, if it was given to the same transcript.

        Args:
            key: ``deepeval_cache_key`` of the case.
            transcript: ``transcript_digest`` of the conversation to be judged.
        """
        path = self._path(key)
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
            value, reason, judged = entry["value"], entry["reason"], entry["transcript"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self._warn(f"Ignored the judge cache entry {path.name!r}: {type(error).__name__}. It will be judged anew.")
            return None
        usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
        if not usable or not isinstance(reason, str):
            self._warn(f"Ignored the judge cache entry {path.name!r}: its score {value!r:.40} is not between 0 and 1.")
            return None
        return CachedScore(float(value), reason) if judged == transcript else None

    def put(self, key: str, transcript: str, score: CachedScore) -> None:
        """Keep a score, replacing what was under the key; a failure is a warning."""
        text = canonical_json({"value": score.value, "reason": score.reason, "transcript": transcript})
        temporary: Path | None = None
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self._directory, suffix=".part")
            temporary = Path(name)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            temporary.replace(self._path(key))
        except OSError as error:
            self._warn(f"Could not keep a judge score in {str(self._directory)!r}: {error.strerror or error}.")
            if temporary is not None:
                temporary.unlink(missing_ok=True)

    def clear(self) -> None:
        """Forget every score."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _path(self, key: str) -> Path:
        return self._directory / f"{key}.json"
