"""Which files the configuration and the scenarios name: prompts, captured replies, adapter, ``touches``.

Read without a YAML library, on the runner's bare Python. Most prompts are Markdown, which the default rules take for
documentation: a prompt outside a folder called ``prompts`` must block all the same.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ratiba_action.model.change import Mode, Rule

_TOUCHES_KEY = re.compile(r"(?P<indent>\s*(?:-\s+)*)(?P<quote>[\"']?)touches(?P=quote)\s*:(?:\s+(?P<value>.*))?")
_INLINE = re.compile(r"[{,]\s*([\"']?)touches\1\s*:")
_WORD = re.compile(
    r"\"(?P<double>(?:[^\"\\]|\\[\"\\/])*)\"|'(?P<single>(?:[^']|'')*)'"
    r"|(?P<plain>[^\s,\[\]{}#&*!|>'\"%@`-](?:[^,\[\]{}#\n]|(?<=\S)#)*|-(?=\S)(?:[^,\[\]{}#\n]|(?<=\S)#)*)"
)
_BETWEEN = re.compile(r"(?:\s|(?:(?<=\s)|^)#[^\n]*)*")


def read_touches(text: str) -> tuple[Rule, ...]:
    """Floors for the files of a scenario's ``touches``: a change to one of them is at least advisory.

    Args:
        text: of a scenario file.

    Raises:
        ValueError: there is a ``touches`` in a form that is not understood, so that its files are not known.
    """
    lines = text.splitlines()
    patterns: dict[str, None] = {}
    for number, line in enumerate(lines):
        key = _TOUCHES_KEY.fullmatch(line)
        if key is not None:
            patterns |= dict.fromkeys(_list(key, lines[number + 1 :]))
        elif _INLINE.search(line) and not line.lstrip().startswith("#"):
            raise ValueError("'touches' stands in braces")
    return tuple(Rule(Mode.ADVISORY, pattern) for pattern in patterns if pattern)


def _list(key: re.Match[str], following: Sequence[str]) -> list[str]:
    value = _without_comment(key["value"] or "")
    if value.startswith("["):
        return _flow("\n".join([key["value"], *following]))
    if value in ("~", "null"):
        return []
    if value:
        raise ValueError(f"'touches' is {value[:80]!r}, not a list")
    return _items(len(key["indent"]), following)


def _items(indent: int, following: Sequence[str]) -> list[str]:
    """The ``- pattern`` lines below the key; comments and empty lines may stand between them."""
    found: list[str] = []
    for line in following:
        bare = _without_comment(line.strip())
        if not bare:
            continue
        depth = len(line) - len(line.lstrip())
        item = re.fullmatch(r"-\s+(.*)", bare)
        if item is None or depth < indent:
            if depth > indent:
                raise ValueError(f"the line {bare[:80]!r} below 'touches' is no '- pattern'")
            break
        found.append(_word(item[1]))
    return found


def _flow(text: str) -> list[str]:
    """The entries of ``[a, 'b', "c"]``, which may go over several lines with comments."""
    found: list[str] = []
    place = _skip(text, text.index("[") + 1)
    while not text.startswith("]", place):
        word = _WORD.match(text, place)
        if word is None:
            raise ValueError("the list of 'touches' is not a plain one")
        found.append(_plain(word))
        place = _skip(text, word.end())
        if text.startswith(",", place):
            place = _skip(text, place + 1)
        elif not text.startswith("]", place):
            raise ValueError("the list of 'touches' is not a plain one")
    return found


def _skip(text: str, place: int) -> int:
    found = _BETWEEN.match(text, place)
    return found.end() if found else place


def _word(text: str) -> str:
    word = _WORD.fullmatch(text)
    if word is None and re.fullmatch(r"[^\s\[\]{}&*!|>'\"%@`-].*", text) and ": " not in text:
        return text  # a plain item may hold commas and brackets
    if word is None:
        raise ValueError(f"the entry {text[:80]!r} of 'touches' is not a plain one")
    return _plain(word)


def _plain(word: re.Match[str]) -> str:
    if word["double"] is not None:
        return re.sub(r"\\(.)", r"\1", word["double"])
    return (word["plain"] or (word["single"] or "").replace("''", "'")).strip()


def _without_comment(text: str) -> str:
    """A line without its comment, which no quotes hold."""
    quoted = re.match(r"(?:-\s+)?(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')", text)
    start = quoted.end() if quoted else 0
    return (text[:start] + re.sub(r"(^|\s)#.*", "", text[start:])).strip() if start or text else ""


_TOP_LEVEL = re.compile(r"[A-Za-z_]+\s*:(?:\s.*)?|-\s.*|---")
_KEY = re.compile(r"([A-Za-z_]+)\s*:(?:\s+(.*))?")
_VARIANT = re.compile(r"((?:[\w.-]+|'[\w.-]+'|\"[\w.-]+\"))\s*:(?:\s+(.*))?")
_PLAIN = re.compile(r"(['\"]?)([\w./*?:-]+)\1")
_QUOTED = re.compile(r"(['\"])(.*?)\1")
_FRAMEWORKS = {"langgraph": "graph", "langchain": "runnable", "llamaindex": "engine"}


@dataclass(frozen=True, slots=True)
class _Line:
    indent: int
    text: str


@dataclass(frozen=True, slots=True)
class _Entry:
    """One key of a block: the text behind it, and the lines below it."""

    key: str
    value: str
    below: list[_Line]


def read_system_paths(text: str) -> tuple[Rule, ...]:
    """Floors for the files of the ``system`` block: prompts and captured replies block, code is at least advisory.

    Only the plain forms are understood: entries in lines below ``system:`` or in its braces on one line, lists as
    ``[a, b]`` on one line or as ``- name`` lines.

    Raises:
        ValueError: there is a ``system`` block in another form, so that its prompts are not known.
    """
    block = _block_in(text)
    root = _root_of(block)
    below = f"/{root}/" if root else "/"
    blocking = [*_words(block, "prompts"), *_prompt_files(block)]
    blocking += [f"{folder}/" for folder in _words(_inner(block, "replay"), "transcripts")]
    rules = [Rule(Mode.BLOCKING, below + _normal(pattern)) for pattern in blocking]
    for address in (*_words(block, "adapter"), *_framework_addresses(block)):
        module = address.partition(":")[0].replace(".", "/")
        rules += [Rule(Mode.ADVISORY, f"{below}{module}{ending}") for ending in (".py", "/")]
    for key in ("command", "setup", "setup_reads", "python"):
        # What is started is code, whatever it is called; a word that is no file of the repository matches none.
        rules += [Rule(Mode.ADVISORY, below + _normal(word)) for word in _files_among(block, key)]
    return tuple(rules)


def read_root(text: str) -> str:
    """Folder of the system, from the repository's root; empty for that root itself.

    Raises:
        ValueError: as ``read_system_paths``.
    """
    return _root_of(_block_in(text))


def _root_of(block: dict[str, _Entry]) -> str:
    return "/".join(part for part in (_words(block, "root") or ["."])[0].split("/") if part not in {"", "."})


def _block_in(text: str) -> dict[str, _Entry]:
    lines = [_Line(len(raw) - len(raw.lstrip()), _bare(raw)) for raw in text.splitlines() if _bare(raw)]
    for line in lines:
        if not line.indent and not _TOP_LEVEL.fullmatch(line.text):
            raise ValueError(f"the line {line.text!r} is not in the plain form")
    if lines and lines[0].indent:
        raise ValueError("its first line is indented")
    return _system_block(lines)


def _files_among(block: dict[str, _Entry], key: str) -> list[str]:
    """Words of a command that may be files below root."""
    if key not in block:
        return []
    text = " ".join([block[key].value, *(line.text for line in block[key].below)])
    return [word for word in re.findall(r"[\w./-]*[\w-]", text) if not word.startswith(("-", "/")) and ".." not in word]


def _prompt_files(block: dict[str, _Entry]) -> list[str]:
    """The file of the entry ``prompt``, and those that variants put instead.

    Raises:
        ValueError: ``prompt`` names no file in the plain form, or a variant is in another form.
    """
    files = _words(_inner(block, "prompt"), "file")
    if "prompt" in block and len(files) != 1:
        raise ValueError("the entry 'prompt' of the block 'system' names no file in the plain form")
    for variant in _inner(block, "variants", _VARIANT).values():
        files += _words(_inner(_block_of(variant), "prompt"), "file")
    return files


def _framework_addresses(block: dict[str, _Entry]) -> list[str]:
    """The code that a framework's entry names, as its text or in its own entries."""
    addresses = []
    for name, key in _FRAMEWORKS.items():
        if name in block and _PLAIN.fullmatch(block[name].value):
            addresses += _words(block, name)
        else:
            inner = _inner(block, name)
            addresses += [*_words(inner, key), *_words(inner, "migrate")]
    return addresses


def _normal(pattern: str) -> str:
    parts = [part for part in pattern.split("/") if part not in {"", "."}]
    return "/".join(parts) + ("/" if pattern.endswith("/") else "")


def _inner(block: dict[str, _Entry], name: str, pattern: re.Pattern[str] = _KEY) -> dict[str, _Entry]:
    """The entries of an entry; none where it is not there."""
    return _block_of(block[name], pattern) if name in block else {}


def _block_of(entry: _Entry, pattern: re.Pattern[str] = _KEY) -> dict[str, _Entry]:
    """What stands in braces behind an entry, or in lines below it."""
    lines = [_Line(0, part) for part in _braces(entry.value)] if entry.value else entry.below
    return _entries(lines, pattern)


def _words(block: dict[str, _Entry], key: str) -> list[str]:
    """The plain words of an entry; none where it is not there.

    Raises:
        ValueError: it is empty, or holds anything but plain words.
    """
    if key not in block:
        return []
    value = block[key].value
    words = [line.text[1:].strip() for line in block[key].below if line.text.startswith("-")]
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


def _system_block(lines: list[_Line]) -> dict[str, _Entry]:
    starts = [index for index, line in enumerate(lines) if not line.indent and re.match(r"system\b", line.text)]
    if not starts:
        return {}
    if len(starts) > 1:
        raise ValueError("the block 'system' stands there more than once")
    opening = lines[starts[0]].text.partition(":")[2].strip()
    after = lines[starts[0] + 1 :]
    end = next((index for index, line in enumerate(after) if not line.indent), len(after))
    return _block_of(_Entry("system", opening, after[:end]))


def _braces(text: str) -> list[str]:
    """The entries of ``{a: b, c: [d, e], f: {g: h}}``.

    Raises:
        ValueError: it is no such text, or a quoted word could be taken for a part of it.
    """
    unclear = any(set(quoted[2]) & set("{}[],") for quoted in _QUOTED.finditer(text))
    if unclear or not (text.startswith("{") and text.endswith("}")):
        raise ValueError(f"the text {text!r} of the block 'system' is not written as a plain block")
    entries, depth = [""], 0
    for mark in text[1:-1]:
        depth += (mark in "{[") - (mark in "}]")
        if depth < 0:
            raise ValueError(f"the braces of {text!r} do not match")
        if mark == "," and not depth:
            entries.append("")
        else:
            entries[-1] += mark
    if depth:
        raise ValueError(f"the braces of {text!r} do not match")
    return [entry.strip() for entry in entries if entry.strip()]


def _entries(lines: list[_Line], pattern: re.Pattern[str]) -> dict[str, _Entry]:
    """Each entry of a block by its key.

    Raises:
        ValueError: a line is no entry, or a key stands there twice.
    """
    found: dict[str, _Entry] = {}
    for line, below in _with_lines_below(lines):
        match = pattern.fullmatch(line.text)
        if match is None:
            raise ValueError(f"the line {line.text!r} of the block 'system' is no entry")
        if match[1] in found:
            raise ValueError(f"the entry {match[1]!r} of the block 'system' stands there more than once")
        found[match[1]] = _Entry(match[1], (match[2] or "").strip(), below)
    return found


def _with_lines_below(lines: list[_Line]) -> Iterator[tuple[_Line, list[_Line]]]:
    """Each line of the least indent with the deeper lines, and the items of a list, that follow it."""
    index = 0
    while index < len(lines):
        line, start = lines[index], index + 1
        index = start
        while index < len(lines) and (lines[index].indent > lines[0].indent or lines[index].text.startswith("-")):
            index += 1
        yield line, lines[start:index]
