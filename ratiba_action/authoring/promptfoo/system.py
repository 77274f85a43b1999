"""The system of a promptfoo configuration: its prompts and providers as ``system.prompt`` or as a written program.

Nothing is executed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from ratiba_action.authoring.imported_suite import starter
from ratiba_action.authoring.imports import Import, ImportedPair, ImportedSystem, ImportOutcome, NotImportedError, slug
from ratiba_action.authoring.promptfoo.prices import ASSUMED_USD, price_of, price_of_transform
from ratiba_action.authoring.promptfoo.prompts import CONVERSATION, LISTED, PROGRAM, Prompt, PromptReader
from ratiba_action.authoring.promptfoo.providers import Provider, ProviderReader
from ratiba_action.authoring.source_folder import SourceFolder
from ratiba_action.errors import SuiteError
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.settings.provider_keys import is_key_name
from ratiba_action.util.strict_yaml import YamlDocument
from ratiba_action.util.validation import shorten

_DEFAULT_PROMPT = "{{prompt}}"
"""promptfoo's own, of a configuration without prompts."""
_NUMBERS = ("PROMPTFOO_PROMPT", "PROMPTFOO_PROVIDER")


_Pair = tuple[Prompt, Provider]


@dataclass(slots=True)
class _SystemReader:
    folder: SourceFolder
    document: YamlDocument
    found: Import
    prefix: str
    environment: Mapping[str, str]
    affixes: bool

    def read(self) -> ImportedSystem | None:
        """The system, if at least one prompt and one provider can be imported."""
        data = self.document.data
        key = "providers" if "providers" in data else "targets"
        usual = _DEFAULT_PROMPT if data.get(key) else None
        prompt_reader = PromptReader(self.folder, self.found, self.prefix, self.environment, self.affixes)
        prompts = list(self._each("prompts", _listed(data.get("prompts", usual)), prompt_reader.read))
        reader = ProviderReader(self.folder, self.found, self.environment)
        providers = list(self._each(key, data.get(key), reader.read))
        for provider in providers:
            labels = [prompt.labels for prompt in prompts]
            unknown = [each for each in provider.prompts if not any(names_any((each,), known) for known in labels)]
            if unknown:
                which = "not imported" if len(unknown) == len(provider.prompts) else "runs with its other prompts"
                result = f"{which}: no prompt is named {', '.join(map(shorten, unknown))}"
                self.found.note((self.document.name, 1), ImportOutcome.MANUAL, f"providers: {provider.label}", result)
        # A role is of texts only, and a variant has none of its own.
        prompts.sort(key=lambda prompt: prompt.is_chat)
        pairs = [
            (prompt, provider)
            for provider in providers
            for prompt in prompts
            if not provider.prompts or names_any(provider.prompts, prompt.labels)
        ]
        needs_program = any(prompt.entry is not None or provider.needs_program for prompt, provider in pairs)
        pairs = self._of_one_route([each for each in pairs if not needs_program or self._program_runs(each[1])])
        if not pairs:
            return None
        names = frozenset().union(*(prompt.names for prompt, _ in pairs))
        files = {prompt.path: prompt.content for prompt, _ in pairs if prompt.content is not None}
        declared = {name: block for _, provider in pairs for name, block in provider.declared.items()}
        more: dict[str, Any] = {"providers": declared} if declared else {}
        free = {
            str(provider.block["model"]): {"free": True}
            for _, provider in pairs
            if provider.block and provider.declared and not any("key" in each for each in provider.declared.values())
        }
        more |= {"prices": free} if free else {}
        parses = self._parses([provider for _, provider in pairs])
        if needs_program:
            return replace(self._by_program(pairs, files, names, more), parses=parses)
        variants = self._variants(pairs, _block_of_variant)
        block = {"prompt": _block(*pairs[0]), **({"variants": variants} if variants else {})}
        return ImportedSystem(block, files, names, more=more, pairs=_named(pairs, variants), parses=parses)

    def _parses(self, providers: Sequence[Provider]) -> bool:
        """Whether code of assertions gets the replies as data, as promptfoo gives those of a ``json_schema``."""
        as_data = [provider for provider in providers if provider.parses]
        if as_data and len(as_data) < len(providers):
            result = "code of assertions gets replies as text here, since not all providers have a `json_schema`"
            self.found.note((self.document.name, 1), ImportOutcome.MANUAL, "providers: response_format", result)
        return len(as_data) == len(providers)

    def _program_runs(self, provider: Provider) -> bool:
        if provider.entry is None:
            result = "not imported: the written program calls models in OpenAI's and Anthropic's format"
            self.found.note((self.document.name, 1), ImportOutcome.MANUAL, f"providers: {provider.label}", result)
        return provider.entry is not None

    def _of_one_route(self, pairs: Sequence[_Pair]) -> list[_Pair]:
        """Those whose calls the gateway can tell apart: all in one format go to one provider."""
        routes: dict[str, Mapping[str, Any]] = {}
        kept: list[_Pair] = []
        for prompt, provider in pairs:
            if provider.wire and routes.setdefault(provider.wire, provider.declared) != provider.declared:
                name = next(iter(routes[provider.wire]), provider.wire)
                result = f"not imported: the gate sends all calls in this format to {name}; import it as another suite"
                self.found.note((self.document.name, 1), ImportOutcome.MANUAL, f"providers: {provider.label}", result)
            else:
                kept.append((prompt, provider))
        return kept

    def _by_program(
        self, pairs: Sequence[_Pair], files: Mapping[str, bytes], names: frozenset[str], more: Mapping[str, Any]
    ) -> ImportedSystem:
        """A program that runs every pair."""
        folder = self.folder.below_top(self.document.name.rpartition("/")[2]) or ""
        if self.folder.repository != self.folder.top:
            place = (self.document.name, 1)
            result = "not imported: the files that it runs are outside the repository"
            self.found.note(place, ImportOutcome.MANUAL, "providers", result)
            return ImportedSystem({}, {}, names)
        prompts = list({json.dumps(prompt.for_program): prompt for prompt, _ in pairs}.values())
        providers = list({provider.label: provider for _, provider in pairs}.values())
        listed = {
            "folder": str(PurePosixPath(folder).parent),
            "prompts": [prompt.for_program for prompt in prompts],
            "providers": [provider.entry for provider in providers],
        }

        def numbers(pair: _Pair) -> dict[str, str]:
            found = (prompts.index(pair[0]), [each.label for each in providers].index(pair[1].label))
            return dict(zip(_NUMBERS, map(str, found), strict=True))

        watched = [prompt.path for prompt in prompts if prompt.path]
        block: dict[str, Any] = {"command": ["python3", PROGRAM], "environment": numbers(pairs[0])}
        block["environment"] |= self._own_environment(providers)
        block |= {"prompts": watched} if watched else {}
        result = f"`system.command`: {PROGRAM} runs all of them, since `system.prompt` runs models and files only"
        self.found.note((self.document.name, 1), ImportOutcome.MAPPED, "prompts and providers", result)
        prices = self._prices(prompts, providers)
        block |= self._price(prices, prompts, providers)
        variants = self._variants(pairs, lambda pair, _: {"environment": numbers(pair)})
        block |= {"variants": variants} if variants else {}
        named = _named(pairs, variants)
        if "price_per_turn_usd" not in block:
            named = tuple(
                replace(each, calls_nothing=not _is_model(pair[1]) and _calls_nothing(pair, prices))
                for each, pair in zip(named, pairs, strict=True)
            )
        content = json.dumps(listed, ensure_ascii=False, indent=2) + "\n"
        written = {**files, LISTED: content.encode(), PROGRAM: starter("promptfoo_system.py.j2")}
        return ImportedSystem(block, written, names, more=more, pairs=named)

    def _prices(self, prompts: Sequence[Prompt], providers: Sequence[Provider]) -> Mapping[str, float | None]:
        """What a turn of each code costs, by its name; None where it calls models that the gate may see."""
        names = {name for prompt in prompts for name in _code_of(prompt)}
        names |= {name for provider in providers for name in _code_of(provider)}
        changes = {str(each.entry["transform"]) for each in providers if each.entry and each.entry.get("transform")}
        return {
            **{name: price_of(self.folder, name, names | changes, self.environment) for name in sorted(names)},
            **{code: price_of_transform(self.folder, code) for code in sorted(changes)},
        }

    def _price(
        self, prices: Mapping[str, float | None], prompts: Sequence[Prompt], providers: Sequence[Provider]
    ) -> dict[str, Any]:
        """What a turn costs, where the gate does not see it."""
        # Beside others, a call that the gate sees of one says nothing about what another calls past it.
        alone = len(providers) == 1 and not any(prompt.entry is not None for prompt in prompts)
        seen = [name for name, price in prices.items() if price is None and alone and len(prices) == 1]
        unknown = [name for name, price in prices.items() if price != 0 and name not in seen]
        place = (self.document.name, 1)
        if unknown:
            result = (
                f"USD {ASSUMED_USD} a turn is assumed: the gate does not see what {', '.join(map(shorten, unknown))} "
                "calls. Write what a turn costs, or 0 if it calls no model"
            )
            self.found.note(place, ImportOutcome.MANUAL, "system.price_per_turn_usd", result)
            return {"price_per_turn_usd": ASSUMED_USD}
        if seen:
            result = (
                f"not written: {', '.join(map(shorten, seen))} calls models, whose cost the gate counts if they are "
                "called at the address that it gives, such as OPENAI_BASE_URL"
            )
            self.found.note(place, ImportOutcome.APPROXIMATED, "system.price_per_turn_usd", result)
        if seen or any(map(_is_model, providers)):
            return {}
        result = f"0: the code of {', '.join(map(shorten, prices))} calls nothing"
        self.found.note(place, ImportOutcome.APPROXIMATED, "system.price_per_turn_usd", result)
        return {"price_per_turn_usd": 0}

    def _own_environment(self, providers: Sequence[Provider]) -> dict[str, str]:
        """Variables of the configuration for the program; those that it lacks are findings."""
        missing = frozenset().union(*(provider.environment for provider in providers))
        for name in sorted(missing):
            result = f"set `system.environment.{name}` if it is no secret: the gate passes no variable of the runner"
            self.found.note((self.document.name, 1), ImportOutcome.MANUAL, f"env.{name}", result)
        return {
            name: value
            for name, value in self.environment.items()
            if not find_credentials(value) and not is_key_name(name) and "{{" not in value
        }

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

    def _variants(self, pairs: Sequence[_Pair], changed: Any) -> dict[str, Any]:
        """What each further pair of prompt and provider changes."""
        variants = dict[str, Any]()
        several = len({prompt.for_program.get("file") or str(prompt.entry) for prompt, _ in pairs}) > 1
        for prompt, provider in pairs[1:]:
            stem = PurePosixPath(prompt.path).stem if several else ""
            name = slug(f"{provider.label} {stem}", 40).replace("_", "-") or "variant"
            while name in variants or name in {"head", "base"}:
                name = f"{name[:37]}-{len(variants) + 2}"
            variants[name] = changed((prompt, provider), pairs[0])
        if variants:
            result = f"{len(variants)} `system.variants`: every test is a scenario of each, as in promptfoo"
            self.found.note((self.document.name, 1), ImportOutcome.MAPPED, "prompts and providers", result)
        return variants


def _is_model(provider: Provider) -> bool:
    return provider.entry is not None and provider.entry["kind"] == "model"


def _code_of(part: Prompt | Provider) -> Sequence[str]:
    """The name of the code of a prompt or a provider; nothing of a text or a model."""
    if isinstance(part, Prompt):
        return [str(part.entry["code"])] if part.entry is not None else []
    return [part.name] if part.entry is not None and not _is_model(part) else []


def _calls_nothing(pair: _Pair, prices: Mapping[str, float | None]) -> bool:
    """Whether no code of a pair calls anything, by its prices."""
    prompt, provider = pair
    change = [str(provider.entry["transform"])] if provider.entry and provider.entry.get("transform") else []
    return all(prices[name] == 0 for name in (*_code_of(prompt), *_code_of(provider), *change))


def _named(pairs: Sequence[_Pair], variants: Mapping[str, Any]) -> tuple[ImportedPair, ...]:
    """The pairs with the names of their variants; a single one needs no name."""
    several = len({id(prompt) for prompt, _ in pairs}) > 1
    found = []
    for (prompt, provider), variant in zip(pairs, ("", *variants), strict=True):
        name = f"{provider.label} {PurePosixPath(prompt.path).stem}" if several else provider.label
        name = name if len(pairs) > 1 else ""
        found.append(ImportedPair(variant, frozenset({provider.label, provider.name}), prompt.labels, name))
    return tuple(found)


def read_system(
    folder: SourceFolder,
    document: YamlDocument,
    found: Import,
    prefix: str,
    environment: Mapping[str, str],
    *,
    affixes: bool,
) -> ImportedSystem | None:
    """The system of a configuration, if the gate can run it; what it cannot run is a finding.

    Args:
        document: the configuration, a mapping.
        prefix: begins the names of new prompt files.
        environment: the configuration's variables by name.
        affixes: tests put texts before or behind the prompts.
    """
    return _SystemReader(folder, document, found, prefix, environment, affixes).read()


def with_message(system: ImportedSystem, variable: str) -> ImportedSystem:
    """The system where the variable of a test is what the customer says now, turn by turn."""
    first = f"{{% set {variable} = message %}}"
    files = {
        path: (
            first.encode() + content if CONVERSATION.encode() in content and path not in {LISTED, PROGRAM} else content
        )
        for path, content in system.files.items()
    }
    if LISTED in files:
        listed = {**json.loads(system.files[LISTED]), "message": variable}
        files = {**system.files, LISTED: (json.dumps(listed, ensure_ascii=False, indent=2) + "\n").encode()}
    return replace(system, files=files)


def _listed(prompts: Any) -> Any:
    """Prompts as a list; an older form has the label of each file by its path."""
    if isinstance(prompts, Mapping) and not {"raw", "id", "label"} & prompts.keys():
        return [{"id": path, "label": label} for path, label in prompts.items()]
    return prompts


def names_any(references: Sequence[object], labels: frozenset[str]) -> bool:
    """Whether one of promptfoo's references means what has these labels: by itself, ``start*``, or as their group."""
    return any(
        label == reference
        or (reference.endswith("*") and label.startswith(reference[:-1]))
        or label.startswith(f"{reference}:")
        for reference in map(str, references)
        for label in labels
    )


def _block(prompt: Prompt, provider: Provider) -> dict[str, Any]:
    role = {} if prompt.is_chat else {"role": "user"}
    return {"file": prompt.path, "template": "jinja", **role, **(provider.block or {})}


def _block_of_variant(pair: _Pair, first: _Pair) -> dict[str, Any]:
    usual = _block(*first)
    changed = {key: value for key, value in _block(*pair).items() if usual.get(key) != value}
    changed.pop("role", None)
    none: dict[str, Any] = {"request": {}, "temperature": None}
    changed |= {key: none[key] for key in none if key in usual and key not in _block(*pair)}
    return {"prompt": changed}
