"""Which files the configuration calls prompts and adapter, read without a YAML library.

Most prompts are Markdown, which the default rules take for documentation: a prompt outside a folder called
``prompts`` must block all the same.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ratiba_action.core.model.change import Mode, Rule

_KEY = re.compile(r"([\"']?)([A-Za-z_]+)\1\s*:(?:\s+|$)(.*)")


@dataclass(frozen=True, slots=True)
class _Line:
    indent: int
    text: str


def read_system_paths(text: str) -> tuple[Rule, ...]:
    """Floors for the files of the ``system`` block: its prompts block, its adapter is at least advisory.

    Only the plain forms are understood: ``root``, ``adapter`` and ``prompts`` below ``system:`` or in its braces on one
    line, the prompts as ``[a, b]`` on one line or as ``- name`` lines.

    Raises:
        ValueError: there is a ``system`` block in another form, so that its prompts are not known.
    """
    lines = [_Line(len(raw) - len(raw.lstrip()), _bare(raw)) for raw in text.splitlines() if _bare(raw)]
    values: dict[str, list[str]] = {}
    for key, value, items in _entries(_system_block(lines)):
        values[key] = _flow(value) if value else items
    root = (values.get("root") or ["."])[0].strip("./")
    below = f"/{root}/" if root else "/"
    rules = [Rule(Mode.BLOCKING, below + pattern) for pattern in values.get("prompts", [])]
    for adapter in values.get("adapter", []):
        module = adapter.partition(":")[0].replace(".", "/")
        rules += [Rule(Mode.ADVISORY, f"{below}{module}{ending}") for ending in (".py", "/")]
    return tuple(rules)


def _bare(line: str) -> str:
    return re.sub(r"(^|\s)#.*", "", line).strip()


def _system_block(lines: list[_Line]) -> list[_Line]:
    starts = [index for index, line in enumerate(lines) if not line.indent and re.match(r"[\"']?system\b", line.text)]
    if not starts:
        return []
    opening = re.fullmatch(r"([\"']?)system\1\s*:\s*(.*)", lines[starts[0]].text)
    if len(starts) > 1 or opening is None:
        raise ValueError("the block 'system' is not written as a plain block")
    if opening[2]:
        return [_Line(2, entry) for entry in _braces(opening[2])]
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
            items.append(_unquoted(block[index].text[1:]))
            index += 1
        yield match[2], match[3].strip(), items


def _flow(value: str) -> list[str]:
    if value.startswith("["):
        if not value.endswith("]"):
            raise ValueError(f"the list {value!r} is not on one line")
        return [_unquoted(item) for item in value[1:-1].split(",") if item.strip()]
    return [_unquoted(value)]


def _unquoted(text: str) -> str:
    return re.sub(r"^(['\"])(.*)\1$", r"\2", text.strip())
