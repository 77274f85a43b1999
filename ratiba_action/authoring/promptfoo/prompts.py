"""The prompts of a promptfoo configuration: as files of the repository, or as code that a written program runs."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ratiba_action.authoring.imports import Import, ImportOutcome, NotImportedError
from ratiba_action.authoring.promptfoo.providers import with_environment
from ratiba_action.authoring.promptfoo.templates import as_jinja, template_names
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.util.validation import shorten

_MAX_PROMPTS = 50
_CODE = (".py", ".js", ".cjs", ".mjs", ".ts")
_OTHER_CODE = (".rb", ".sh", ".go")
_ROWS = (".csv", ".jsonl")
_FILES = (".txt", ".md", ".j2", ".json", ".yaml", ".yml", *_CODE, *_OTHER_CODE, *_ROWS)
_CHATS = (".json", ".yaml", ".yml")
_PLAIN_PATH = re.compile(r"[\w./-]+")
CONVERSATION = "_conversation"
"""promptfoo's name for what was said before in a conversation."""
PREFIX, SUFFIX = "prompt_prefix", "prompt_suffix"
"""Inputs that stand before and behind a prompt."""
_INLINE = "prompts/{prefix}_{number}{suffix}"
PROGRAM, LISTED = "promptfoo_system.py", "promptfoo_system.json"
"""The program that runs what ``system.prompt`` cannot, and what it runs."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as a file of the repository, or as code.

    Args:
        content: of a file that is to be written; None for one that is there.
        labels: by which providers name it.
        entry: what the written program is given of a prompt that code makes.
    """

    path: str
    names: frozenset[str]
    content: bytes | None = None
    labels: frozenset[str] = frozenset()
    entry: Mapping[str, Any] | None = None

    @property
    def is_chat(self) -> bool:
        """Whether its file lists messages."""
        return self.path.endswith(_CHATS)

    @property
    def for_program(self) -> Mapping[str, Any]:
        """What the written program is given of it."""
        return self.entry or {"file": self.path}


@dataclass(slots=True)
class PromptReader:
    """Reads prompts.

    Args:
        prefix: begins the names of new files.
        environment: the configuration's variables by name.
        affixes: tests put texts before or behind the prompts.
    """

    folder: SourceFolder
    found: Import
    prefix: str
    environment: Mapping[str, str]
    affixes: bool
    written: int = field(default=0)

    def read(self, place: tuple[str, int], given: Any) -> Iterator[Prompt]:
        """The prompts that one entry of ``prompts`` names.

        Raises:
            NotImportedError: it is none, or none that Jinja can fill.
            SuiteError: a file cannot be read.
        """
        entry, labels = given, {given} if isinstance(given, str) else set[str]()
        if isinstance(entry, Mapping):
            self._unread(place, entry)
            labels = {str(entry[key]) for key in ("id", "label", "raw") if key in entry}
            entry = entry.get("raw") or entry.get("id") or entry.get("label")
        if not isinstance(entry, str):
            raise NotImportedError(f"{shorten(entry)} is no prompt")
        named = entry.removeprefix("file://").removeprefix("./")
        is_file = entry.startswith(("file://", "exec:")) or ("\n" not in entry and _is_file_name(entry))
        if is_file and "*" in named and not entry.startswith("exec:"):
            path, colon, function = named.partition(":")
            files = self.folder.matching(path, _MAX_PROMPTS)
            if len(files) <= _MAX_PROMPTS and any(each.endswith(_CODE) for each in files):
                for each in files:
                    reference = f"file://{each}" + (f"{colon}{function}" if each.endswith(_CODE) else "")
                    yield from self.read(place, {**given, "raw": reference} if given != entry else reference)
                return
        elif is_file and (entry.startswith("exec:") or (named.partition(":")[0]).endswith(_CODE)):
            yield self._code_prompt(place, entry, given, frozenset(labels))
            return
        for text, path, label in self._texts(named) if is_file else [(entry, "", "")]:
            prompt = self._prompt(text, path, frozenset({*labels, *([label] if label else [])}))
            self.found.note(place, ImportOutcome.MAPPED, "prompts", f"`system.prompt.file`: {prompt.path}")
            yield prompt

    def _unread(self, place: tuple[str, int], entry: Mapping[str, Any]) -> None:
        """A finding for each key of a prompt that nothing is made of."""
        is_code = any(str(entry.get(key)).partition(":")[0].endswith(_CODE) for key in ("id", "raw"))
        is_code = is_code or "file://" in f"{entry.get('id')}{entry.get('raw')}"
        for key in entry:
            if key == "config" and not is_code:
                result = "not imported: give its settings to the provider, in an entry of its own"
                self.found.note(place, ImportOutcome.MANUAL, "prompts: config", result)
            elif key not in {"id", "label", "raw", "config"}:
                result = "not imported: unknown here"
                self.found.note(place, ImportOutcome.MANUAL, f"prompts: {shorten(key)[1:-1]}", result)

    def _code_prompt(self, place: tuple[str, int], entry: str, given: Any, labels: frozenset[str]) -> Prompt:
        """A prompt that code makes, which the written program runs."""
        path = ""
        if not entry.startswith("exec:"):
            name, _, function = entry.removeprefix("file://").removeprefix("./").partition(":")
            self.folder.read(name)
            path = self.folder.below_top(name) or ""
            entry = f"file://{name}" + (f":{function}" if function else "")
        config = given.get("config") if isinstance(given, Mapping) else None
        self.found.note(place, ImportOutcome.MAPPED, "prompts", f"`system.command` with {PROGRAM}: {entry}")
        return Prompt(path, frozenset(), None, labels, {"code": entry, **({"config": config} if config else {})})

    def _texts(self, name: str) -> Iterator[tuple[str, str, str]]:
        """Each prompt of one file or several: text, the file's path where it is the whole file, and label."""
        if name.partition(":")[0].endswith(_OTHER_CODE):
            raise NotImportedError(f"{shorten(name)} makes prompts by code; write an adapter that calls it")
        names = self.folder.matching(name, _MAX_PROMPTS) if "*" in name else [name]
        if not 0 < len(names) <= _MAX_PROMPTS:
            raise NotImportedError(f"{shorten(name)} names {len(names)} files; allowed: 1 to {_MAX_PROMPTS}")
        for each in names:
            if each.endswith(_ROWS):
                yield from self._rows(each)
                continue
            text = self.folder.text(each)
            parts = [part.strip() for part in re.split(r"(?m)^---\s*$", text)] if each.endswith(".txt") else [text]
            path = self.folder.below_top(each) or ""
            whole = len(parts) == 1 and self.folder.repository == self.folder.top and _PLAIN_PATH.fullmatch(path)
            yield from ((part, path if whole else "", "") for part in parts if part)

    def _rows(self, name: str) -> Iterator[tuple[str, str, str]]:
        """The prompts of a file of rows: a column ``prompt`` and maybe ``label``, a chat a line, or a text a line."""
        text = self.folder.text(name)
        if name.endswith(".jsonl"):
            yield from ((line, "", "") for line in text.splitlines() if line.strip())
            return
        head = text.partition("\n")[0].strip()
        if "," not in head:
            lines = [line for line in text.splitlines() if line.strip()]
            yield from ((line, "", "") for line in lines[lines[:1] == ["prompt"] :])
            return
        for row in self.folder.document(name).data:
            if row.get("prompt"):
                yield row["prompt"], "", row.get("label", "")

    def _prompt(self, text: str, path: str, labels: frozenset[str]) -> Prompt:
        """A prompt; where it is no file of its own, or one whose name does not say that it is a chat, a new file.

        Raises:
            NotImportedError: Jinja cannot fill it as Nunjucks does.
        """
        filled = as_jinja(with_environment(text, self.environment))
        is_chat = _is_chat(filled, path)
        if self.affixes and not is_chat:
            filled = f"{{{{ {PREFIX} }}}}{filled}{{{{ {SUFFIX} }}}}"
        names = template_names(filled)
        # What is said before changes with the turn, so that the file is one that an import may change.
        if path and filled == text and is_chat == path.endswith(_CHATS) and CONVERSATION not in names:
            return Prompt(path, names, None, labels)
        self.written += 1
        suffix = PurePosixPath(path).suffix if path.endswith(_CHATS) else ".json" if is_chat else ".txt"
        name = _INLINE.format(prefix=self.prefix, number=self.written, suffix=suffix)
        return Prompt(name, names, filled.encode(), labels)


def _is_file_name(entry: str) -> bool:
    return entry.endswith(_FILES) or entry.rpartition(":")[0].endswith(_CODE)


def _is_chat(text: str, path: str) -> bool:
    if path.endswith(_CHATS):
        return True
    try:
        data = json.loads(text)
    except ValueError:
        return False
    return isinstance(data, list) and all(isinstance(each, Mapping) and "role" in each for each in data)
