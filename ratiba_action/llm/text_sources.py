"""Which files the texts that a model was sent stand in.

Both are compared as runs of words, so that white space, punctuation, markup and letter case do not matter. A file is
cut into pieces of a few words, since a template fills gaps in a text and a search shows parts of it; one piece that
stands in a request is enough. Pieces that are too short to say where a text is from count for nothing.
"""

import ast
import contextlib
import html
import io
import itertools
import json
import re
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ratiba_action.util.comparable import comparable

_UNSPACED = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Scripts that put no space between words: each of their characters counts as one."""
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+")
_MIN_WORDS, _MIN_CHARACTERS, _MAX_WORDS = 4, 18, 12
_KEY_WORDS, _MAX_JOINED = 3, 4
_MAX_CHARACTERS = 1 << 20
"""Of a file, and of a text that was sent."""
_GAP = "\0"
_GAPS = re.compile(
    r"\{\{[^{}]{0,300}\}\}|\{%[^%]{0,300}%\}|\{#[^#]{0,2000}#\}|\{[^{}\s\"']{0,80}\}"
    r"|\$\{[^{}\n]{0,80}\}|\$[A-Za-z_]\w*|%\(\w{0,80}\)[a-z]|%[sdrf]\b|\0"
)
"""Where Jinja, ``str.format``, f-strings, ``%``, shells and JavaScript put a value."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrt])|(.))", re.DOTALL)
_FRAGMENT = re.compile(r"[\n\r\t\"'`<>|;,:=]")
_ZIP, _MAX_MEMBERS = b"PK\x03\x04", 1_000
_BINARY_TEXT = re.compile(rb"[^\x00-\x08\x0e-\x1f\x7f]{16,}")
_SPOKEN_BY_MODEL = frozenset({"assistant", "model"})
_MADE_BY_MODEL = frozenset({"function_call", "reasoning", "tool_use", "functionCall"})


def sent_texts(body: Mapping[str, Any], messages: Sequence[str] = ()) -> Iterator[str]:
    """The texts of a request: system prompt, messages, results and descriptions of tools, each whole JSON in one read.

    Args:
        body: of a request to a model, in any provider's format; of any depth.
        messages: what the user has said, which is left out, as are the model's own answers.
    """
    own = [text for text in messages if len(text) >= _MIN_CHARACTERS]
    waiting: list[Any] = [dict(body)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            inner = _decoded(value)
            if inner is not None:
                waiting.append(inner)
                continue
            for text in own:
                value = value.replace(text, _GAP)
            if len(value) >= _MIN_CHARACTERS and not _is_identifier(value):
                yield value
        elif isinstance(value, dict):  # as JSON is read: ``Mapping`` takes ten times as long
            if value.get("role") in _SPOKEN_BY_MODEL or value.get("type") in _MADE_BY_MODEL:
                continue
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value


def files_of(contents: Mapping[str, bytes], texts: Sequence[str]) -> dict[str, frozenset[int]]:
    """For each file that a text stands in, the numbers of these texts.

    Args:
        contents: of files, by path.
        texts: of ``sent_texts``; only the first million characters of each are looked at.
    """
    known: dict[str, dict[str, set[str]]] = {}
    for path, content in contents.items():
        for piece in pieces(path, content):
            known.setdefault(_key(piece), {}).setdefault(piece, set()).add(path)
    found: dict[str, set[int]] = {}
    for number, sent in enumerate(texts):
        text = f" {_GAP} ".join(_words(part) for part in sent[:_MAX_CHARACTERS].split(_GAP))
        words = text.split()
        keys = {" ".join(words[at : at + _KEY_WORDS]) for at in range(len(words) - _KEY_WORDS + 1)}
        for piece, paths in ((piece, paths) for key in keys & known.keys() for piece, paths in known[key].items()):
            if piece in text:
                for path in paths:
                    found.setdefault(path, set()).add(number)
    return {path: frozenset(numbers) for path, numbers in found.items()}


def pieces(path: str, content: bytes) -> frozenset[str]:
    """What a file's text is recognised by: runs of words, each of four words and 18 characters at least."""
    found: set[str] = set()
    fragments: list[list[str]] = []
    for literal in _literals(path, content):
        for part in _GAPS.split(literal):
            cut = [*map(_prose, _FRAGMENT.split(part))]
            fragments += cut
            for words in (_prose(part), *map(_prose, part.splitlines()), *cut):
                found.update(_cut(words))
    found.update(_neighbours(fragments))
    return frozenset(found)


def _neighbours(fragments: Iterable[list[str]]) -> Iterator[str]:
    """What texts one after another are recognised by that are too short alone, as a system joins them."""
    waiting: list[str] = []
    for fragment in fragments:
        words = " ".join(fragment)
        if _is_telling(words):
            waiting = []
        elif words:
            waiting = [*waiting, words][-_MAX_JOINED:]
            each = (" ".join(waiting[start:]) for start in range(len(waiting) - 2, -1, -1))
            yield from itertools.islice(filter(_is_telling, each), 1)


def _literals(path: str, content: bytes) -> Iterable[str]:
    if content.startswith(_ZIP):
        return list(_members(content))
    if b"\0" in content:
        runs = [run.decode("utf-8", "ignore") for run in _BINARY_TEXT.findall(content[:_MAX_CHARACTERS])]
        # What stands before and after a text, such as the lengths of a database's row, may look like letters of it.
        return [*runs, *(" ".join(run.split()[1:-1]) for run in runs)]
    text = content.decode("utf-8-sig", "replace")[:_MAX_CHARACTERS]
    if path.endswith((".py", ".pyi")):
        try:
            return list(_python_strings(text))
        except (SyntaxError, tokenize.TokenError, ValueError):  # of another version of Python, or none at all
            pass
    # Of any other language and format: strings stand in it with escapes or as they are.
    unescaped = [_ESCAPE.sub(_unescaped, text)] if "\\" in text else []
    return [text, *unescaped, *([html.unescape(text)] if "&" in text else [])]


def _members(content: bytes) -> Iterator[str]:
    """The texts of an archive's files, such as a document of an office or a packed resource; of a broken one none."""
    left = _MAX_CHARACTERS
    broken = (zipfile.BadZipFile, zlib.error, OSError, ValueError, RuntimeError, NotImplementedError, EOFError)
    with contextlib.suppress(*broken), zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist()[:_MAX_MEMBERS]:
            with archive.open(member) as file:
                found = file.read(left)
            left -= len(found)
            if not found.startswith(_ZIP):
                yield from _literals(member.filename, found)


def _python_strings(text: str) -> Iterator[str]:
    """The string constants of a module as they evaluate; those that are joined as one, with gaps for values."""
    joined: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING":
            joined.append(_evaluated(token.string))
        elif kind in ("FSTRING_MIDDLE", "TSTRING_MIDDLE"):
            joined.append(_ESCAPE.sub(_unescaped, token.string))
        elif token.type == tokenize.OP and token.string == "{":
            joined.append(_GAP)
        elif kind in ("NL", "COMMENT", "FSTRING_START", "FSTRING_END") or token.string == "+":
            continue
        elif joined and kind != "NAME":
            yield "".join(joined)
            joined = []
        else:
            joined.append(_GAP)
    yield "".join(joined)


def _evaluated(literal: str) -> str:
    quote = re.search("[\"']", literal)
    prefix = literal[: quote.start()].lower() if quote is not None else ""
    value = ast.literal_eval(literal[len(prefix) :] if "f" in prefix else literal)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else " " if found[3] else found[4]


def _decoded(text: str) -> list[Any] | dict[str, Any] | None:
    """The value of a text that is JSON, such as a tool's result."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list | dict) else None


def _words(text: str) -> str:
    return " ".join(_WORD.findall(comparable(text)))


def _prose(text: str) -> list[str]:
    return [] if _is_identifier(text) else _WORD.findall(comparable(text))


def _cut(words: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(words), _MAX_WORDS):
        left = len(words) - start
        if start and left < _MIN_WORDS:
            return
        piece = " ".join(words[start : start + _MAX_WORDS])
        if _is_telling(piece):
            yield piece


def _is_identifier(text: str) -> bool:
    """Whether a text is the name of a model, an address or another that is no prose."""
    return text.isascii() and len(text.split()) < 2  # noqa: PLR2004 - one word for a machine


def _is_telling(words: str) -> bool:
    """Whether words say where they are from, as ``Yes.`` does not."""
    return len(words) >= _MIN_CHARACTERS and words.count(" ") >= _MIN_WORDS - 1


def _key(piece: str) -> str:
    """Words of a piece that stand in a text as they are: its first and last one may be parts of words there."""
    words = piece.split()
    start = 1 if len(words) > _KEY_WORDS + 1 else 0
    return " ".join(words[start : start + _KEY_WORDS])
