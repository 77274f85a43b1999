"""Which files the configuration calls prompts and adapter, read without a YAML library.

Most prompts are Markdown, which the default rules take for documentation: a prompt outside a folder called
``prompts`` must block all the same.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from ratiba_action.core.model.change import Mode, Rule

_TOP_LEVEL = re.compile(r"[A-Za-z_]+\s*:(?:\s.*)?|-\s.*|---")
_KEY = re.compile(r"([A-Za-z_]+)\s*:(?:\s+(.*))?")
_PLAIN = re.compile(r"(['\"]?)([\w./*?:-]+)\1")


@dataclass(frozen=True, slots=True)
class _Line:
    indent: int
    text: str


def read_system_paths(text: str) -> tuple[Rule, ...]:
    """Floors for the files of the ``system`` block: its prompts block, its adapter is at least advisory.

    Only the plain forms are understood: ``root``, ``adapter``, ``prompts`` and ``prompt`` below ``system:`` or in its
    braces on one line, the prompts as ``[a, b]`` on one line or as ``- name`` lines.

    Raises:
        ValueError: there is a ``system`` block in another form, so that its prompts are not known.
    """
    lines = [_Line(len(raw) - len(raw.lstrip()), _bare(raw)) for raw in text.splitlines() if _bare(raw)]
    for line in lines:
        if not line.indent and not _TOP_LEVEL.fullmatch(line.text):
            raise ValueError(f"the line {line.text!r} is not in the plain form")
    if lines and lines[0].indent:
        raise ValueError("its first line is indented")
    block = _system_block(lines)
    values = {key: _values(key, value, items) for key, value, items in _entries(block) if key in _NAMES}
    root = "/".join(part for part in (values.get("root") or ["."])[0].split("/") if part not in {"", "."})
    below = f"/{root}/" if root else "/"
    prompts = [*values.get("prompts", []), *_prompt_file(block)]
    rules = [Rule(Mode.BLOCKING, below + _normal(pattern)) for pattern in prompts]
    for adapter in values.get("adapter", []):
        module = adapter.partition(":")[0].replace(".", "/")
        rules += [Rule(Mode.ADVISORY, f"{below}{module}{ending}") for ending in (".py", "/")]
    return tuple(rules)


_NAMES = ("root", "adapter", "prompts")


def _prompt_file(block: list[_Line]) -> list[str]:
    """The file of the entry ``prompt``, whose own entries stand in braces behind it or in lines below it.

    Raises:
        ValueError: the entry names no file in the plain form.
    """
    indent = block[0].indent if block else 0
    files: list[list[str]] = []
    for index, line in enumerate(block):
        match = _KEY.fullmatch(line.text)
        if line.indent != indent or match is None or match[1] != "prompt":
            continue
        below = list(takewhile(lambda other: other.indent > indent, block[index + 1 :]))
        inner = [_Line(indent, entry) for entry in _braces(match[2])] if match[2] else below
        files += [_values(key, value, items) for key, value, items in _entries(inner) if key == "file"] or [[]]
    if len(files) > 1 or files == [[]]:
        raise ValueError("the entry 'prompt' of the block 'system' names no file in the plain form")
    return files[0] if files else []


def _normal(pattern: str) -> str:
    return "/".join(part for part in pattern.split("/") if part not in {"", "."})


def _values(key: str, value: str, items: list[str]) -> list[str]:
    """The plain words of an entry.

    Raises:
        ValueError: it is empty, or holds anything but plain words.
    """
    words = items
    if value.startswith("["):
        if not value.endswith("]"):
            raise ValueError(f"the list {value!r} is not on one line")
        words = [word.strip() for word in value[1:-1].split(",") if word.strip()]
        if not words:
            return []
    elif value:
        words = [value]
    plain = [_PLAIN.fullmatch(word) for word in words]
    if not words or not all(plain):
        raise ValueError(f"the entry {key!r} of the block 'system' is not in the plain form")
    return [match[2] for match in plain if match]


def _bare(line: str) -> str:
    return re.sub(r"(^|\s)#.*", "", line).strip()


def _system_block(lines: list[_Line]) -> list[_Line]:
    starts = [index for index, line in enumerate(lines) if not line.indent and re.match(r"system\b", line.text)]
    if not starts:
        return []
    if len(starts) > 1:
        raise ValueError("the block 'system' stands there more than once")
    opening = lines[starts[0]].text.partition(":")[2].strip()
    if opening:
        return [_Line(2, entry) for entry in _braces(opening)]
    block = []
    for line in lines[starts[0] + 1 :]:
        if not line.indent:
            break
        block.append(line)
    return block


def _braces(text: str) -> list[str]:
    """The entries of ``{a: b, c: [d, e]}``."""
    if not (text.startswith("{") and text.endswith("}")) or text.count("{") > 1:
        raise ValueError("the block 'system' is not written as a plain block")
    return [entry.strip() for entry in re.split(r",(?![^\[]*\])", text[1:-1]) if entry.strip()]


def _entries(block: list[_Line]) -> Iterator[tuple[str, str, list[str]]]:
    """Key, text behind it, and the ``- item`` lines below it, of each entry of the block."""
    indent = block[0].indent if block else 0
    index = 0
    while index < len(block):
        line = block[index]
        index += 1
        if line.indent != indent:
            continue  # deeper lines of an entry that is not asked about
        match = _KEY.fullmatch(line.text)
        if match is None:
            raise ValueError(f"the line {line.text!r} of the block 'system' is no entry")
        items = []
        while index < len(block) and block[index].text.startswith("-"):
            items.append(block[index].text[1:].strip())
            index += 1
        yield match[1], (match[2] or "").strip(), items
