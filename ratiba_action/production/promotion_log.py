"""What has been promoted, kept outside the workspace, so that a run that broke off goes on and nothing comes twice."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ratiba_action.errors import UsageError


@dataclass(slots=True)
class PromotionLog:
    """The scores that were dealt with, one a line in a file; a line is written when its scenario has been.

    Args:
        path: of the file.
        done: ids of the scores.
    """

    path: Path
    done: set[str] = field(default_factory=set)

    def add(self, score_id: str, outcome: str, scenario: str) -> None:
        """Remember a score.

        Args:
            score_id: of the feedback.
            outcome: ``written`` or ``duplicate``.
            scenario: id or path of the scenario that stands for it.

        Raises:
            UsageError: the file cannot be written.
        """
        line = json.dumps({"score": score_id, "outcome": outcome, "scenario": scenario}, ensure_ascii=True)
        try:
            with self.path.open("ab") as file:
                file.write(f"{line}\n".encode("ascii"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _unusable(self.path, error) from error
        self.done.add(score_id)


@contextlib.contextmanager
def promotion_log(path: Path) -> Iterator[PromotionLog]:
    """The log, held by this process alone until the block ends.

    Raises:
        UsageError: another process holds it, or it cannot be read or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unusable(path, error) from error
    with os.fdopen(descriptor, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                f"Another promotion holds {str(path)!r}.", "Wait for its end, or name another file with --state."
            ) from error
        content = file.read()
        if content and not content.endswith(b"\n"):
            # The end of a run that was killed while it wrote: its line is dropped.
            content = content[: content.rfind(b"\n") + 1]
            file.truncate(len(content))
        yield PromotionLog(path, _read(path, content))


def _read(path: Path, content: bytes) -> set[str]:
    done: set[str] = set()
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            done.add(str(json.loads(line)["score"]))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"Line {number} of {str(path)!r} is no line of a promotion.", "Name the right file with --state."
            ) from error
    return done


def _unusable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{str(path)!r} cannot be used: {error.strerror}.", "Name another file with --state.")
