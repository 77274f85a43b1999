"""The files that a step hands to the runner: its outputs and its summary."""

from collections.abc import Callable, Mapping

from ratiba_action.errors import PublishError
from ratiba_action.github.step_file import StepFile
from ratiba_action.github.workflow import random_token

SUMMARY_LIMIT = 1_048_576
"""Bytes of a step's summary; the runner drops the whole of a longer one."""

_CUT = "\n\nThe summary was cut here at the runner's limit; the rest is in the report directory.\n"


def write_outputs(file: StepFile, values: Mapping[str, str], new_token: Callable[[], str] = random_token) -> None:
    """Add a step's outputs to the file named by ``GITHUB_OUTPUT``.

    Args:
        file: as it was when the step began.
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
        markdown: the text.
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
    room = limit - len(_CUT.encode())
    kept, size, safe = [], 0, 0
    depth, fence = 0, ""
    for line in markdown.splitlines(keepends=True):
        size += len(line.encode("utf-8", "replace"))
        if size > room:
            break
        kept.append(line)
        fence = _fence_after(line, fence)
        if not fence:
            depth += line.startswith("<details>") - line.startswith("</details>")
            safe = len(kept) if not line.strip() and depth == 0 else safe
    return ("".join(kept[:safe]).rstrip() + _CUT) if room >= 0 else ""


def _fence_after(line: str, fence: str) -> str:
    text = line.strip()
    ticks = text[: len(text) - len(text.lstrip("`"))]
    if not fence:
        return ticks if len(ticks) >= len("```") else ""
    return "" if text == ticks and len(ticks) >= len(fence) else fence
