"""The system of a promptfoo configuration: its prompts and providers as ``system.prompt``. Nothing is executed."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ratiba_action.authoring.imports import Import, ImportedSystem, ImportOutcome, NotImportedError, SourceFolder, slug
from ratiba_action.errors import SuiteError
from ratiba_action.util.strict_yaml import YamlDocument
from ratiba_action.util.validation import shorten

_MAX_PROMPTS = 50
_CODE = (".py", ".js", ".cjs", ".mjs", ".ts", ".rb", ".sh", ".csv", ".jsonl")
_FILES = (".txt", ".md", ".j2", ".json", ".yaml", ".yml", *_CODE)
_CHATS = (".json", ".yaml", ".yml")
_PLAIN_PATH = re.compile(r"[\w./-]+")
_CONVERSATION = frozenset({"message", "history"})
_OF_PROMPTFOO = {"_conversation": "the conversation", "env": "environment variables"}
_PROVIDERS = {
    "openai": re.compile(r"openai:(?:(?:chat|responses):)?(?P<model>[\w.:-]+)"),
    "anthropic": re.compile(r"anthropic:(?:messages:)?(?P<model>claude[\w.:-]+)"),
}
_TOKENS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_DEFAULT_TOKENS = 1024
"""promptfoo's own, ``OPENAI_MAX_TOKENS`` and ``ANTHROPIC_MAX_TOKENS``; so is temperature 0."""
_REASONS = re.compile(r"o\d|gpt-5")
"""Models that take no temperature."""
_REQUEST = frozenset(
    {
        *("frequency_penalty", "logit_bias", "parallel_tool_calls", "presence_penalty", "reasoning_effort"),
        *("response_format", "seed", "stop", "stop_sequences", "thinking", "tool_choice", "tools", "top_k", "top_p"),
        "verbosity",
    }
)
_LEFT_OUT = frozenset(
    {"apiBaseUrl", "apiHost", "apiKey", "apiKeyEnvar", "cost", "inputCost", "organization", "outputCost"}
)
_INLINE = "prompts/{prefix}_{number}{suffix}"


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt as a file of the repository.

    Args:
        content: of a file that is to be written; None for one that is there.
    """

    path: str
    names: frozenset[str]
    content: bytes | None = None

    @property
    def is_chat(self) -> bool:
        return self.path.endswith(_CHATS)


@dataclass(frozen=True, slots=True)
class _Provider:
    label: str
    values: Mapping[str, Any]


@dataclass(slots=True)
class _SystemReader:
    folder: SourceFolder
    document: YamlDocument
    found: Import
    prefix: str
    written: int = field(default=0)

    def read(self) -> ImportedSystem | None:
        """The system, if at least one prompt and one provider can be imported."""
        data = self.document.data
        prompts = list(self._each("prompts", data.get("prompts"), self._prompts_of))
        key = "providers" if "providers" in data else "targets"
        providers = list(self._each(key, data.get(key), self._providers_of))
        if not prompts or not providers:
            return None
        # A role is of texts only, and a variant has none of its own.
        prompts.sort(key=lambda prompt: prompt.is_chat)
        pairs = [(prompt, provider) for provider in providers for prompt in prompts]
        block = {"prompt": _block(*pairs[0]), **self._variants(pairs)}
        files = {prompt.path: prompt.content for prompt in prompts if prompt.content is not None}
        return ImportedSystem(block, files, frozenset().union(*(prompt.names for prompt in prompts)))

    def _each(self, key: str, value: Any, read: Any) -> Iterator[Any]:
        """What each entry of a list becomes; what cannot be imported is a finding."""
        if value is None:
            return
        for index, entry in enumerate(value if isinstance(value, list) else [value]):
            place = (self.document.name, self.document.line((key, index)))
            try:
                yield from read(place, entry)
            except NotImportedError as error:
                self.found.note(place, ImportOutcome.MANUAL, key, f"not imported: {error}")
            except SuiteError as error:
                self.found.note(place, ImportOutcome.MANUAL, key, f"not imported: {error.problems[0]}")

    def _prompts_of(self, place: tuple[str, int], entry: Any) -> Iterator[_Prompt]:
        if isinstance(entry, Mapping):
            entry = entry.get("raw") or entry.get("id")
        if not isinstance(entry, str):
            raise NotImportedError(f"{shorten(entry)} is no prompt")
        named = entry.removeprefix("file://").removeprefix("./")
        is_file = entry.startswith("file://") or ("\n" not in entry and entry.endswith(_FILES))
        for text, path in self._texts(named) if is_file else [(entry, "")]:
            prompt = self._prompt(text, path)
            self.found.note(place, ImportOutcome.MAPPED, "prompts", f"`system.prompt.file`: {prompt.path}")
            yield prompt

    def _texts(self, name: str) -> Iterator[tuple[str, str]]:
        """Each prompt of one file or several, with the file's path where it is the whole file."""
        if name.rpartition(":")[0].endswith(_CODE) or name.endswith(_CODE):
            raise NotImportedError(f"{shorten(name)} makes prompts by code; write an adapter that calls it")
        names = self.folder.matching(name, _MAX_PROMPTS) if "*" in name else [name]
        if not 0 < len(names) <= _MAX_PROMPTS:
            raise NotImportedError(f"{shorten(name)} names {len(names)} files; allowed: 1 to {_MAX_PROMPTS}")
        for each in names:
            text = self.folder.text(each)
            parts = [part.strip() for part in re.split(r"(?m)^---\s*$", text)] if each.endswith(".txt") else [text]
            path = self.folder.below_top(each) or ""
            whole = len(parts) == 1 and self.folder.repository == self.folder.top and _PLAIN_PATH.fullmatch(path)
            yield from ((part, path if whole else "") for part in parts if part)

    def _prompt(self, text: str, path: str) -> _Prompt:
        """A prompt; where it is no file of its own, or one whose name does not say that it is a chat, a new file.

        Raises:
            NotImportedError: Jinja cannot fill it as Nunjucks does.
        """
        names = template_names(text)
        is_chat = _is_chat(text, path)
        if path and is_chat == path.endswith(_CHATS):
            return _Prompt(path, names)
        self.written += 1
        name = _INLINE.format(prefix=self.prefix, number=self.written, suffix=".json" if is_chat else ".txt")
        return _Prompt(name, names, text.encode())

    def _providers_of(self, place: tuple[str, int], entry: Any) -> Iterator[_Provider]:
        if isinstance(entry, str) and entry.startswith("file://"):
            data = self.folder.document(entry.removeprefix("file://").removeprefix("./")).data
            for each in data if isinstance(data, list) else [data]:
                yield from self._providers_of(place, each)
            return
        if isinstance(entry, Mapping) and "id" not in entry and len(entry) == 1:
            ((name, options),) = entry.items()
            entry = {**(options if isinstance(options, Mapping) else {}), "id": name}
        name = entry.get("id") if isinstance(entry, Mapping) else entry
        config = entry.get("config") if isinstance(entry, Mapping) else None
        label = entry.get("label") if isinstance(entry, Mapping) else None
        provider = self._provider(place, str(name), config if isinstance(config, Mapping) else {}, str(label or name))
        self.found.note(place, ImportOutcome.MAPPED, "providers", f"`system.prompt`: {shorten(name)[1:-1]}")
        yield provider

    def _provider(self, place: tuple[str, int], name: str, config: Mapping[str, Any], label: str) -> _Provider:
        matches = ((provider, pattern.fullmatch(name)) for provider, pattern in _PROVIDERS.items())
        provider, match = next(((provider, match) for provider, match in matches if match), ("", None))
        if match is None:
            raise NotImportedError(
                f"the gate runs prompts of {' and '.join(_PROVIDERS)}; describe {shorten(name)} as `system.http`, "
                "`system.command` or an adapter"
            )
        if ":responses:" in name:
            result = "similar: by chat completions instead of responses"
            self.found.note(place, ImportOutcome.APPROXIMATED, "providers", result)
        model = match["model"]
        temperature = config.get("temperature", None if provider == "openai" and _REASONS.match(model) else 0)
        tokens = next((config[key] for key in _TOKENS if config.get(key) is not None), _DEFAULT_TOKENS)
        request = {key: self._loaded(config[key]) for key in sorted(_REQUEST & set(config))}
        passed = config.get("passthrough")
        request |= passed if isinstance(passed, Mapping) else {}
        for key in config:
            if key not in {*_REQUEST, *_TOKENS, "temperature", "passthrough"}:
                outcome = ImportOutcome.APPROXIMATED if key in _LEFT_OUT else ImportOutcome.MANUAL
                result = (
                    "left out: keys and prices are the gate's" if key in _LEFT_OUT else "not imported: unknown here"
                )
                self.found.note(place, outcome, f"providers: {shorten(key)[1:-1]}", result)
        values = {"provider": provider, "model": model, "max_output_tokens": tokens}
        values |= {} if temperature is None else {"temperature": temperature}
        return _Provider(label, {**values, **({"request": request} if request else {})})

    def _loaded(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith("file://"):
            return self.folder.document(value.removeprefix("file://").removeprefix("./")).data
        return value

    def _variants(self, pairs: Sequence[tuple[_Prompt, _Provider]]) -> dict[str, Any]:
        """What each further pair of prompt and provider changes."""
        first, variants = _block(*pairs[0]), dict[str, Any]()
        several = len({prompt.path for prompt, _ in pairs}) > 1
        for prompt, provider in pairs[1:]:
            changed = {key: value for key, value in _block(prompt, provider).items() if first.get(key) != value}
            changed.pop("role", None)
            stem = PurePosixPath(prompt.path).stem if several else ""
            name = slug(f"{provider.label} {stem}", 40).replace("_", "-") or "variant"
            while name in variants or name in {"head", "base"}:
                name = f"{name[:37]}-{len(variants) + 2}"
            variants[name] = {"prompt": changed}
        if variants:
            place = (self.document.name, 1)
            result = f"{len(variants)} `system.variants`: run them by `ratiba gate --variants`"
            self.found.note(place, ImportOutcome.APPROXIMATED, "prompts and providers", result)
        return {"variants": variants} if variants else {}


def read_system(folder: SourceFolder, document: YamlDocument, found: Import, prefix: str) -> ImportedSystem | None:
    """The system of a configuration, if the gate can run it; what it cannot run is a finding.

    Args:
        document: the configuration, a mapping.
        prefix: begins the names of new prompt files.
    """
    return _SystemReader(folder, document, found, prefix).read()


def template_names(text: str) -> frozenset[str]:
    """Names that a template has places for, without those of the conversation.

    Raises:
        NotImportedError: Jinja cannot fill it; says why.
    """
    import jinja2  # only an import reads templates
    from jinja2 import meta, nodes

    environment = jinja2.Environment(autoescape=True)
    try:
        parsed = environment.parse(text)
    except jinja2.TemplateSyntaxError as error:
        raise NotImportedError(f"line {error.lineno} of the prompt is no Jinja template: {error.message}") from None
    filters = {node.name for node in parsed.find_all(nodes.Filter)} - {*environment.filters, "dump"}
    if filters:
        raise NotImportedError(f"Jinja has no filter {', '.join(sorted(filters))}; write the value into the tests")
    names = meta.find_undeclared_variables(parsed) - set(environment.globals)
    for name, what in _OF_PROMPTFOO.items():
        if name in names:
            raise NotImportedError(f"the prompt has a place for {what} ({name}); write an adapter")
    return frozenset(names) - _CONVERSATION


def _is_chat(text: str, path: str) -> bool:
    if path.endswith(_CHATS):
        return True
    try:
        data = json.loads(text)
    except ValueError:
        return False
    return isinstance(data, list) and all(isinstance(each, Mapping) and "role" in each for each in data)


def _block(prompt: _Prompt, provider: _Provider) -> dict[str, Any]:
    role = {} if prompt.is_chat else {"role": "user"}
    return {"file": prompt.path, "template": "jinja", **role, **provider.values}
