"""The providers of a promptfoo configuration: models that ``system.prompt`` calls, or what a written program runs."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ratiba_action.authoring.imports import Import, ImportOutcome, NotImportedError, slug
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.settings.provider_keys import is_key_name
from ratiba_action.util.installation import page
from ratiba_action.util.validation import shorten

_TOKENS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens")
_DEFAULT_TOKENS = 1024
"""promptfoo's own, ``OPENAI_MAX_TOKENS`` and ``ANTHROPIC_MAX_TOKENS``; so is temperature 0."""
_UNLIMITED_TOKENS = 8192
"""Of providers whose requests have no limit there; the gate's own default."""
_REASONS = re.compile(r"o\d|gpt-5")
"""Models that take no temperature."""
_REQUEST = frozenset(
    {
        *("frequency_penalty", "logit_bias", "parallel_tool_calls", "presence_penalty", "reasoning_effort"),
        *("response_format", "seed", "stop", "stop_sequences", "thinking", "tool_choice", "tools", "top_k", "top_p"),
        "verbosity",
    }
)
_GENERATION = {"topP": "topP", "top_p": "topP", "topK": "topK", "top_k": "topK", "stopSequences": "stopSequences"}
_INFERENCE = {"top_p": "topP", "topP": "topP", "stop": "stopSequences", "stopSequences": "stopSequences"}
_LEFT_OUT = frozenset(
    {
        *("apiBaseUrl", "apiHost", "apiKey", "apiKeyEnvar", "apiVersion", "cost", "inputCost", "organization"),
        *("outputCost", "region", "projectId", "basePath"),
    }
)
_KEY = re.compile(r"key|token|secret|passw|authorization|cookie", re.IGNORECASE)
_KEY_OPTION = re.compile(r"-(?:api-?)?(?:key|token|secret|password|passwd)[= ]", re.IGNORECASE)
"""An option of a command that is given a key."""
ENVIRONMENT = re.compile(r"\{\{-?\s*env\.(\w+)\s*-?\}\}|\{\{-?\s*env\[['\"](\w+)['\"]\]\s*-?\}\}")
"""A place for a variable of the environment."""
_SCRIPTS = (".py", ".js", ".cjs", ".mjs", ".ts")


@dataclass(frozen=True, slots=True)
class _Host:
    """A host that speaks OpenAI's format.

    Args:
        temperature: promptfoo's default; None if it sends none.
    """

    base_url: str
    key: str | None
    limit: str = ""
    temperature: float | None = 0


_HOSTS = {
    "mistral": _Host("https://api.mistral.ai/v1", "MISTRAL_API_KEY", "max_tokens", None),
    "ollama": _Host("http://127.0.0.1:11434/v1", None, "max_tokens", None),
    "groq": _Host("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "openrouter": _Host("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "deepseek": _Host("https://api.deepseek.com", "DEEPSEEK_API_KEY", "max_tokens"),
    "togetherai": _Host("https://api.together.xyz/v1", "TOGETHER_API_KEY", "max_tokens"),
    "xai": _Host("https://api.x.ai/v1", "XAI_API_KEY"),
    "cerebras": _Host("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "fireworks": _Host("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", "max_tokens"),
}
_MODELS = {
    "openai": re.compile(r"openai:(?:(?:chat|responses):)?(?P<model>[\w./:@-]+)"),
    "anthropic": re.compile(r"anthropic:(?:messages:)?(?P<model>[\w.:-]+)"),
    "azure": re.compile(r"azure(?:openai)?:(?:(?:chat|responses):)?(?P<model>[\w.:-]+)"),
    "gemini": re.compile(r"(?:google|vertex|palm):(?P<model>gemini[\w.:-]+)"),
    "converse": re.compile(r"bedrock:(?:converse:|completion:)?(?P<model>[\w.:-]+)"),
    **{name: re.compile(rf"{name}:(?:(?:chat|completion):)?(?P<model>[\w./:@-]+)") for name in _HOSTS},
}
_NO_CHAT = re.compile(
    r"openai:(embedding|embeddings|moderation|image|realtime|assistant|agents|completion|video|transcription)\b"
    r"|\w+:embeddings?:"
)


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider.

    Args:
        block: of ``system.prompt``, without the file; None for what only the written program runs.
        entry: what the written program is given; None for a model that it cannot call.
        declared: the entry of ``providers``, by name; at most one.
        wire: whose format its requests have.
        prompts: labels of the only prompts that it is run with.
        name: its id.
        parses: assertions of code get its replies as data: a schema stands in the configuration itself.
    """

    label: str
    block: Mapping[str, Any] | None = None
    entry: Mapping[str, Any] | None = None
    declared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    wire: str = ""
    prompts: tuple[str, ...] = ()
    environment: frozenset[str] = frozenset()
    name: str = ""
    parses: bool = False

    @property
    def needs_program(self) -> bool:
        """Whether only the written program runs it as promptfoo does."""
        return self.block is None or bool(self.entry and self.entry.get("transform"))


@dataclass(slots=True)
class ProviderReader:
    """Reads the entries of ``providers``.

    Args:
        environment: the configuration's own values for ``{{ env.NAME }}``.
    """

    folder: SourceFolder
    found: Import
    environment: Mapping[str, str]

    def read(self, place: tuple[str, int], entry: Any) -> Iterator[Provider]:
        """What one entry becomes.

        Raises:
            NotImportedError: nothing here can run it; says what a person can do.
            SuiteError: a file that it names cannot be read.
        """
        if isinstance(entry, str) and entry.startswith("file://") and entry.endswith((".yaml", ".yml", ".json")):
            data = self.folder.document(entry.removeprefix("file://").removeprefix("./")).data
            for each in data if isinstance(data, list) else [data]:
                yield from self.read(place, each)
            return
        if isinstance(entry, Mapping) and "id" not in entry and len(entry) == 1:
            ((name, options),) = entry.items()
            entry = {**(options if isinstance(options, Mapping) else {}), "id": name}
        given = entry if isinstance(entry, Mapping) else {"id": entry}
        if not isinstance(given.get("id"), str):
            raise NotImportedError(f"{shorten(given.get('id'))} is no name of a provider")
        yield self._provider(place, given)

    def _provider(self, place: tuple[str, int], given: Mapping[str, Any]) -> Provider:
        name = with_environment(str(given["id"]), self.environment)
        config = given.get("config")
        config = self._resolved(config) if isinstance(config, Mapping) else {}
        label = str(given.get("label") or name)
        listed = given.get("prompts")
        more: dict[str, Any] = {"prompts": tuple(map(str, listed)) if isinstance(listed, list) else (), "name": name}
        for key in given:
            if key not in {"id", "config", "label", "prompts", "transform"}:
                outcome = ImportOutcome.APPROXIMATED if key == "delay" else ImportOutcome.MANUAL
                result = "left out: it does not decide what passes" if key == "delay" else "not imported: unknown here"
                self.found.note(place, outcome, f"providers: {shorten(key)[1:-1]}", result)
        transform = given.get("transform")
        if transform is not None and not isinstance(transform, str):
            raise NotImportedError(f"its transform {shorten(transform)} is no text")
        if not _NO_CHAT.match(name):
            for kind, pattern in _MODELS.items():
                if match := pattern.fullmatch(name):
                    return self._model(place, kind, match["model"], name, config, label, transform, more)
        entry = self._entry(place, name, config)
        entry |= {"id": name, "label": label, **({"transform": transform} if transform else {})}
        missing = frozenset(first or second for first, second in ENVIRONMENT.findall(json.dumps(entry)))
        result = f"`system.command` with promptfoo_system.py: {shorten(name)[1:-1]}"
        self.found.note(place, ImportOutcome.MAPPED, "providers", result)
        return Provider(label, entry=entry, environment=missing, **more)

    def _resolved(self, value: Any) -> Any:
        """A value with the configuration's own values of ``env``."""
        if isinstance(value, str):
            return with_environment(value, self.environment)
        if isinstance(value, Mapping):
            return {key: self._resolved(item) for key, item in value.items()}
        return [self._resolved(item) for item in value] if isinstance(value, list) else value

    def _entry(self, place: tuple[str, int], name: str, config: Mapping[str, Any]) -> dict[str, Any]:
        """What the written program is given for a provider that is no model."""
        if name == "echo":
            return {"kind": "echo"}
        # Code reads its keys from the variables that the gate gives it.
        is_code = name.startswith(("python:", "file://"))
        kept = self._without_secrets(place, config, ImportOutcome.APPROXIMATED if is_code else ImportOutcome.MANUAL)
        if name in {"http", "https"} or name.startswith(("http://", "https://")):
            url = config.get("url") or name
            if "://" not in str(url) and "{{" not in str(url):
                raise NotImportedError(f"{shorten(name)} has no `config.url`; describe it as `system.http`")
            unknown = [key for key in ("auth", "signatureAuth", "tls", "session", "multipart") if config.get(key)]
            if unknown or config.get("request"):
                what = ", ".join(unknown) or "request"
                raise NotImportedError(
                    f"its {what} is not sent; describe it as `system.http`, and let a proxy add keys"
                )
            return {"kind": "http", "config": {**kept, "url": self._address(place, str(url))}}
        if name.startswith("exec:"):
            if _KEY_OPTION.search(name):
                raise NotImportedError("its command holds a key; let the program read it from a variable")
            return {"kind": "exec", "config": kept}
        path, _, _ = name.removeprefix("file://").removeprefix("python:").removeprefix("./").partition(":")
        if name.startswith(("python:", "file://")) and path.endswith(_SCRIPTS):
            self.folder.read(path)
            return {"kind": "code", "config": kept}
        known = ", ".join(sorted(_MODELS))
        advice = "describe it as `system.http`, `system.command` or an adapter"
        raise NotImportedError(f"{shorten(name)} is none of {known}, http, exec, python and JavaScript; {advice}")

    def _without_secrets(
        self, place: tuple[str, int], config: Mapping[str, Any], outcome: ImportOutcome
    ) -> dict[str, Any]:
        """A provider's configuration without what is named like a key, at any depth."""
        kept: dict[str, Any] = self._cleaned(place, config, outcome)
        if find_credentials(json.dumps(kept)):
            raise NotImportedError("its config contains a credential; remove it")
        return kept

    def _cleaned(self, place: tuple[str, int], value: Any, outcome: ImportOutcome) -> Any:
        if isinstance(value, Mapping):
            for key in filter(_is_key, value):
                self.found.note(place, outcome, f"providers: {shorten(key)[1:-1]}", _no_keys())
            return {key: self._cleaned(place, item, outcome) for key, item in value.items() if not _is_key(key)}
        return [self._cleaned(place, item, outcome) for item in value] if isinstance(value, list) else value

    def _address(self, place: tuple[str, int], url: str) -> str:
        """An address without the parameters that are named like keys."""
        base, mark, query = url.partition("?")
        kept = []
        for part in query.split("&") if mark else ():
            name = part.partition("=")[0]
            if _is_key(name):
                self.found.note(
                    place,
                    ImportOutcome.MANUAL,
                    f"providers: {shorten(name)[1:-1]}",
                    _no_keys(),
                )
            else:
                kept.append(part)
        return f"{base}?{'&'.join(kept)}" if kept else base

    def _model(  # noqa: PLR0917 - what was read of one entry
        self,
        place: tuple[str, int],
        kind: str,
        model: str,
        name: str,
        config: Mapping[str, Any],
        label: str,
        transform: str | None,
        more: Mapping[str, Any],
    ) -> Provider:
        if ":responses:" in name:
            result = "similar: by chat completions instead of responses"
            self.found.note(place, ImportOutcome.APPROXIMATED, "providers", result)
        if name.startswith("vertex:"):
            result = "similar: by Gemini's own API instead of Vertex AI's"
            self.found.note(place, ImportOutcome.APPROXIMATED, "providers", result)
        wire = kind if kind in {"anthropic", "gemini", "converse"} else "openai"
        usual = _usual_temperature(kind, model)
        nested = config.get("generationConfig" if wire == "gemini" else "inferenceConfig")
        config = {**(nested if isinstance(nested, Mapping) else {}), **config}
        temperature = config.get("temperature", usual)
        given = next((config[key] for key in _TOKENS if config.get(key) is not None), None)
        tokens = given or (_UNLIMITED_TOKENS if kind in {"gemini", "ollama"} else _DEFAULT_TOKENS)
        request = self._request(wire, config)
        self._rest(place, wire, config)
        block: dict[str, Any] = {"provider": wire, "model": model, "max_output_tokens": tokens}
        block |= {} if temperature is None else {"temperature": temperature}
        block |= {"request": request} if request else {}
        declared = self._declared(place, kind, model, config)
        self.found.note(place, ImportOutcome.MAPPED, "providers", f"`system.prompt`: {shorten(name)[1:-1]}")
        entry: dict[str, Any] | None = None
        if wire in {"openai", "anthropic"}:
            field_name = "max_tokens" if wire == "anthropic" else "max_completion_tokens"
            sent = {"model": model, field_name: tokens, **request}
            sent |= {} if temperature is None else {"temperature": temperature}
            entry = {"id": name, "label": label, "kind": "model", "format": wire, "request": sent}
            entry |= {"transform": transform} if transform else {}
        elif transform:
            raise NotImportedError(f"its transform runs with models in OpenAI's or Anthropic's format, not {wire}")
        form = config.get("response_format")
        parses = wire == "openai" and isinstance(form, Mapping) and form.get("type") == "json_schema"
        return Provider(label, block, entry, declared, wire, parses=parses, **more)

    def _request(self, wire: str, config: Mapping[str, Any]) -> dict[str, Any]:
        if wire == "gemini":
            settings = {_GENERATION[key]: config[key] for key in sorted(_GENERATION.keys() & config.keys())}
            tools = {"tools": self._loaded(config["tools"])} if "tools" in config else {}
            return {**({"generationConfig": settings} if settings else {}), **tools}
        if wire == "converse":
            settings = {_INFERENCE[key]: config[key] for key in sorted(_INFERENCE.keys() & config.keys())}
            return {"inferenceConfig": settings} if settings else {}
        request = {key: self._loaded(config[key]) for key in sorted(_REQUEST & set(config))}
        passed = config.get("passthrough")
        return {**request, **(passed if isinstance(passed, Mapping) else {})}

    def _loaded(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith("file://"):
            return self.folder.document(value.removeprefix("file://").removeprefix("./")).data
        return value

    def _rest(self, place: tuple[str, int], wire: str, config: Mapping[str, Any]) -> None:
        """A finding for each setting of a model that is not sent."""
        sent = {"gemini": {*_GENERATION, "tools", "generationConfig"}, "converse": {*_INFERENCE, "inferenceConfig"}}
        known = {*sent.get(wire, _REQUEST), *_TOKENS, "temperature", "passthrough"}
        for key in config:
            if key not in known:
                outcome = ImportOutcome.APPROXIMATED if key in _LEFT_OUT else ImportOutcome.MANUAL
                result = (
                    "left out: keys and prices are the gate's" if key in _LEFT_OUT else "not imported: unknown here"
                )
                if key in {"apiBaseUrl", "apiHost", "apiVersion", "region"}:
                    result = "an entry of `providers`"
                self.found.note(place, outcome, f"providers: {shorten(key)[1:-1]}", result)

    def _declared(
        self, place: tuple[str, int], kind: str, model: str, config: Mapping[str, Any]
    ) -> dict[str, Mapping[str, Any]]:
        """The entry of ``providers`` by its name; empty for OpenAI and Anthropic themselves."""
        if kind == "gemini":
            return {"gemini": {"api": "gemini", "key": self._key(config, "GEMINI_API_KEY")}}
        if kind == "converse":
            region = config.get("region") or self.environment.get("AWS_BEDROCK_REGION") or "us-east-1"
            return {"converse": {"api": "converse", "region": region, "key": "AWS_BEARER_TOKEN_BEDROCK"}}
        base = config.get("apiBaseUrl") or config.get("apiHost")
        if isinstance(base, str) and "://" not in base:
            base = f"https://{base}"
        if isinstance(base, str) and ENVIRONMENT.search(base):
            raise NotImportedError(f"{shorten(base)} names a variable; write the address, or its value under `env`")
        if kind == "azure":
            if not isinstance(base, str):
                raise NotImportedError(
                    "it has no `config.apiHost`; write your resource's, such as NAME.openai.azure.com"
                )
            version = str(config.get("apiVersion") or "2024-12-01-preview")
            result = f"`providers.azure`; if the gate knows no price of {shorten(model)}, give one under `prices`"
            self.found.note(place, ImportOutcome.APPROXIMATED, "providers", result)
            key = self._key(config, "AZURE_API_KEY")
            more = {"deployment": model, "api_version": version}
            return {"azure": {"api": "azure", "base_url": base, "key": key, **more, "gateway": True}}
        host = _HOSTS.get(kind)
        if host is None and not isinstance(base, str):
            return {}
        address = base if isinstance(base, str) else host.base_url if host is not None else ""
        usual = host.key if host is not None else f"{kind.upper()}_API_KEY"
        key = self._key(config, usual)
        limit = {"output_limit": host.limit} if host is not None and host.limit else {}
        api = "anthropic" if kind == "anthropic" else "openai"
        own = slug(urlsplit(address).hostname or "", 30).replace("_", "-")
        name = kind if host is not None else own if own[:1].isalpha() else f"server-{own}".rstrip("-")
        if host is None:
            result = f"`providers.{name}`; if the gate knows no price of {shorten(model)}, give one under `prices`"
            self.found.note(place, ImportOutcome.APPROXIMATED, "providers", result)
        return {name: {"api": api, "base_url": address, **({"key": key} if key else {}), **limit, "gateway": True}}

    def _key(self, config: Mapping[str, Any], usual: str | None) -> str | None:
        """The name of the variable with the key."""
        given = config.get("apiKeyEnvar")
        placed = ENVIRONMENT.fullmatch(str(config.get("apiKey") or "").strip())
        name = given if isinstance(given, str) else (placed[1] or placed[2]) if placed else usual
        return name if name is None or is_key_name(name) else usual


def with_environment(text: str, environment: Mapping[str, str]) -> str:
    """A text with the values of ``{{ env.NAME }}`` that are known; other places stay."""
    return ENVIRONMENT.sub(lambda match: environment.get(match[1] or match[2], match[0]), text)


def _usual_temperature(kind: str, model: str) -> float | None:
    """Promptfoo's own default; None if it sends none."""
    if kind == "gemini" or (kind in {"openai", "azure"} and _REASONS.match(model)):
        return None
    return _HOSTS[kind].temperature if kind in _HOSTS else 0


def _no_keys() -> str:
    """Why a key is left out, and what to do instead."""
    return f"left out: keys are never written; let a proxy in front of the server add it, or see {page('adapters')}"


def _is_key(name: object) -> bool:
    """Whether a name is one of keys; limits of tokens are none."""
    return isinstance(name, str) and bool(_KEY.search(name)) and not name.lower().endswith("tokens")
