"""The files that a step hands to the runner: its outputs and its summary.

The system under test may run as the gate's own user. What it writes there while it runs must not be published.
"""

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.errors import PublishError
from ratiba_action.github.workflow import random_token

_MOUNT_POINT = (errno.EBUSY, errno.EXDEV)


@dataclass(frozen=True, slots=True)
class StepFile:
    """A file as it was before any code of the change ran; made by ``remember``.

    Args:
        path: links of that moment followed.
        content: what it held; empty when it was not there.
        plain: whether it may be replaced; a device or a pipe is only written to.
    """

    path: Path
    content: bytes = b""
    mode: int = 0o644
    plain: bool = True

    def publish(self, added: bytes, what: str) -> None:
        """Write what the file had and what is added, nothing else, whatever lies there by now.

        Call it when every process of the change has ended. A second call drops what the first one added; where it
        fails, as on a full disk, what the first one added stays.

        Args:
            added: stands behind the remembered content.
            what: the file's purpose in words, for a message.

        Raises:
            PublishError: it could not be written.
        """
        try:
            if self.plain:
                self._replace(self.content + added)
            else:
                with self.path.open("ab") as file:
                    file.write(added)
        except OSError as error:
            raise _unwritable(self.path, what, error) from error

    def _replace(self, content: bytes) -> None:
        try:
            number, name = tempfile.mkstemp(prefix=".ratiba-", dir=self.path.parent)
        except PermissionError:  # a file that may be written to in a folder that may not
            self._rewrite(content)
            return
        staged = Path(name)
        try:
            with open(number, "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(content)
            staged.chmod(self.mode)
            self._move(staged, content)
        finally:
            staged.unlink(missing_ok=True)

    def _move(self, staged: Path, content: bytes) -> None:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(self.path.lstat().st_mode):
                shutil.rmtree(self.path)
        try:
            staged.replace(self.path)
        except OSError as error:
            if error.errno not in _MOUNT_POINT:
                raise
            # Nobody else can have renamed anything over it either; only its content may be forged.
            self._rewrite(content)

    def _rewrite(self, content: bytes) -> None:
        number = os.open(self.path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(number, "wb") as file:  # noqa: PTH123 - a descriptor
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise OSError("it is no plain file")
            try:
                file.write(content)
                file.flush()
            except OSError:
                os.ftruncate(number, len(self.content))  # half an output would fail the step
                raise
            file.truncate(len(content))


def remember(path: Path) -> StepFile:
    """The file as it is now; call it before any code of the change runs.

    A file that is missing or cannot be read holds nothing: publishing says what is wrong with its place.
    """
    resolved = Path(os.path.realpath(path))
    try:
        mode = resolved.stat().st_mode
        if not stat.S_ISREG(mode):
            return StepFile(resolved, plain=False)
        return StepFile(resolved, resolved.read_bytes(), stat.S_IMODE(mode))
    except OSError:
        return StepFile(resolved)


def reserve_space(folder: Path, size: int) -> int | None:
    """Take room on a folder's disk, so that something can be written when the disk is full.

    Args:
        size: in bytes.

    Returns:
        A descriptor of a file without a name, which gives the room back when it is closed; None where there is none.
    """
    try:
        number, name = tempfile.mkstemp(prefix=".ratiba-", dir=folder)
    except OSError:
        return None
    try:
        Path(name).unlink()
        if os.write(number, bytes(size)) == size:
            return number
    except OSError:
        pass
    os.close(number)
    return None


def _unwritable(path: Path, what: str, error: OSError) -> PublishError:
    """The error for a file that could not be written."""
    problem = f"The step's {what} could not be written to {str(path)!r}: {error.strerror or error}."
    return PublishError(problem, "Check that the runner's file is mounted and writable.")


SUMMARY_LIMIT = 1_048_576
"""Bytes of a step's summary; the runner drops the whole of a longer one."""

_CUT = "\n\nThe summary was cut here at the runner's limit; the rest is in the report directory.\n"


def write_outputs(file: StepFile, values: Mapping[str, str], new_token: Callable[[], str] = random_token) -> None:
    """Add a step's outputs to the file named by ``GITHUB_OUTPUT``.

    Args:
        values: by the output's name; a value may hold any text.
        new_token: makes the word that ends a value.

    Raises:
        PublishError: the file could not be written, or a value holds the word that should end it.
    """
    text = "".join(_output(name, value, f"ratiba_{new_token()}") for name, value in values.items())
    file.publish(text.encode("utf-8", "replace"), "outputs")


def _output(name: str, value: str, delimiter: str) -> str:
    if delimiter in value or delimiter in name:
        raise PublishError(f"The output {name!r} was not written: its value holds the delimiter.", "Run the job again.")
    if not name or not all(char.isalnum() or char in "-_" for char in name):
        raise PublishError(f"The output {name!r} was not written: its name is not one.")
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


def write_summary(file: StepFile, markdown: str, limit: int = SUMMARY_LIMIT) -> None:
    """Add to the file named by ``GITHUB_STEP_SUMMARY`` what still fits.

    Args:
        file: as it was when the step began; what other programs of the step wrote before counts too.
        limit: most bytes of the whole file.

    Raises:
        PublishError: the file could not be written.
    """
    text = markdown if markdown.endswith("\n") else f"{markdown}\n"
    file.publish(trim(text, limit - len(file.content)).encode("utf-8", "replace"), "summary")


def trim(markdown: str, limit: int) -> str:
    """The text in at most ``limit`` bytes of UTF-8, cut at a blank line outside folded parts and code blocks.

    Args:
        markdown: whose paragraphs are separated by blank lines.
        limit: in bytes; where not even the notice of the cut fits, nothing is left.
    """
    if len(markdown.encode("utf-8", "replace")) <= limit:
        return markdown
    left = limit - len(_CUT.encode())
    kept_lines, size, safe = [], 0, 0
    depth, fence = 0, ""
    for line in markdown.splitlines(keepends=True):
        size += len(line.encode("utf-8", "replace"))
        if size > left:
            break
        kept_lines.append(line)
        fence = _fence_after(line, fence)
        if not fence:
            depth += line.startswith("<details>") - line.startswith("</details>")
            safe = len(kept_lines) if not line.strip() and depth == 0 else safe
    return ("".join(kept_lines[:safe]).rstrip() + _CUT) if left >= 0 else ""


def _fence_after(line: str, fence: str) -> str:
    text = line.strip()
    ticks = text[: len(text) - len(text.lstrip("`"))]
    if not fence:
        return ticks if len(ticks) >= len("```") else ""
    return "" if text == ticks and len(ticks) >= len(fence) else fence
