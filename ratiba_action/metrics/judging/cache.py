"""Judge scores kept between runs, one small file a key."""

import json
import os
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratiba_action.model.canonical import canonical_json
from ratiba_action.privacy.identifiers import mask_identifiers


@dataclass(frozen=True, slots=True)
class CachedScore:
    """What is kept of a score.

    Args:
        value: 0 to 1.
        votes: each measurement when there were several.
        answered_by: see ``Score.answered_by``.
    """

    value: float
    reason: str
    votes: tuple[float, ...] = ()
    voters: tuple[str, ...] = ()
    answered_by: tuple[str, ...] = ()


_IGNORE = ".gitignore"
_ENTRY = re.compile(r"[0-9a-f]{64}\.json|tmp\w+\.part")


class JudgeCache:
    """A folder of scores. Several processes may use it at once: files are replaced whole.

    A run sees the cache as it was when the run began. So a run that was killed and goes on does not take what it
    has measured itself for an earlier run's, and comes to the same facts as if it had not been killed.

    Args:
        directory: where no change under test can write scores; git ignores what lies in it.
        warn: called about entries that cannot be read or written; they are ignored.
        began: when the run began, in nanoseconds of the epoch; None to use every entry.
    """

    def __init__(self, directory: Path, warn: Callable[[str], None], began: int | None = None) -> None:
        self._directory = directory
        self._warn = warn
        self._began = began

    def get(self, key: str, transcript: str) -> CachedScore | None:
        """The score under a key, if it was given to the same transcript before the run began.

        Args:
            key: ``deepeval_cache_key`` of the case.
            transcript: digest of what the judge would be shown.
        """
        path = self._path(key)
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
            value, reason, judged, votes = entry["value"], entry["reason"], entry["transcript"], entry["votes"]
            earlier = self._began is None or entry["written"] < self._began
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._warn(f"Ignored the judge cache entry {path.name!r}: {type(error).__name__}. It will be judged anew.")
            return None
        if not _is_score(value) or not isinstance(reason, str):
            self._warn(f"Ignored the judge cache entry {path.name!r}: its score {value!r:.40} is not between 0 and 1.")
            return None
        if not isinstance(votes, list) or not all(_is_score(vote) for vote in votes):
            self._warn(f"Ignored the judge cache entry {path.name!r}: its votes {votes!r:.40} are no scores.")
            return None
        fits = earlier and judged == transcript
        voters = tuple(map(str, entry.get("voters", ())))
        answered_by = tuple(map(str, entry.get("answered_by", ())))
        return CachedScore(float(value), reason, tuple(map(float, votes)), voters, answered_by) if fits else None

    def put(self, key: str, transcript: str, score: CachedScore) -> None:
        """Keep a score, replacing what was under the key; a failure is a warning.

        Its reason is kept as a report would show it, since the folder may be kept between jobs.
        """
        reason = mask_identifiers(score.reason)
        entry = {"value": score.value, "reason": reason, "transcript": transcript, "votes": list(score.votes)}
        entry |= {"voters": list(score.voters)} if score.voters else {}
        entry |= {"answered_by": list(score.answered_by)} if score.answered_by else {}
        text = canonical_json({**entry, "written": time.time_ns()})
        temporary: Path | None = None
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            ignored = self._directory / _IGNORE
            if not ignored.exists():
                ignored.write_text("*\n", encoding="utf-8")
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
        """Forget every score; what else lies in the folder stays."""
        for path in self._directory.glob("*") if self._directory.is_dir() else ():
            if _ENTRY.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._directory / f"{key}.json"


def _is_score(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
