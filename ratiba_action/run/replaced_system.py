"""What names another system than the base's: its place, code and addresses."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from typing import Any

from ratiba_action.config.system_block import SystemBlock

_ADDRESSES = {"langgraph": "graph", "langchain": "runnable", "llamaindex": "engine"}
"""The key of a framework's section that names the system; the other keys only configure the connection."""
_LOADED = re.compile(
    # Loaders and interpreters
    r"LD_\w+|DYLD_\w+|GCONV_PATH|OPENSSL_(?:CONF|MODULES|ENGINES)|PYTHON\w*|NODE_(?:OPTIONS|PATH|REPL_\w+)|BUN_\w+|DENO_\w+"
    r"|RUBY(?:OPT|LIB)|GEM_(?:HOME|PATH)|BUNDLE_\w+|PERL(?:5\w+|LIB)|LUA_(?:INIT|C?PATH)\w*|PHPRC|PHP_INI_SCAN_DIR"
    r"|R_(?:LIBS|PROFILE|ENVIRON)\w*|JULIA_\w+|ERL_\w+|ELIXIR_\w+|GUILE_\w*PATH|TCLLIBPATH|MONO_PATH"
    # The .NET runtime, and virtual machines with what starts them
    r"|DOTNET_\w+|COR(?:ECLR)?_\w*PROFIL\w+|CLASSPATH|LOADER_PATH|(?:\w*_)?(?:JAVA|JDK|JVM)_(?:\w+_)?(?:OPTIONS|OPTS|ARGS)"
    r"|(?:JRUBY|MAVEN|GRADLE|SBT|SCALA|KOTLIN|GROOVY|CATALINA)_OPTS"
    # Shells
    r"|BASH_ENV|BASHOPTS|SHELLOPTS|PS4|ZDOTDIR|FPATH"
    # What installs or runs packages
    r"|(?:NPM_CONFIG|YARN|PNPM|COREPACK|UV|PIP|POETRY|PDM|PIPENV|CONDA|CARGO)_\w+|VIRTUAL_ENV|RUSTC\w*|GO(?:FLAGS|PATH|ROOT)"
    r"|DJANGO_SETTINGS_MODULE|FLASK_APP|CELERY_APP|UVICORN_\w+|GUNICORN_CMD_ARGS|PYTEST_(?:ADDOPTS|PLUGINS)",
    re.IGNORECASE,
)
"""Variables that decide which code is loaded."""
_CODE = re.compile(
    r"\.(?:py[cdwz]?|so|dylib|dll|[cm]?[jt]s|jsx|rb|p[lm]|php|phar|jar|class|lua|(?:ba|z)?sh|exs|beam|wasm|jl)(?=$|[\s:;,#'\"|&)])",
    re.IGNORECASE,
)
"""The end of a file of code in a value: whatever reads such a variable may run the file."""
_LONGEST, _BEFORE = 120, 30

Leads = Callable[[str], tuple[str, str]]
"""Resolves a path's symbolic links at base and head."""


def replaced_system(head: SystemBlock, base: SystemBlock, leads: Leads) -> tuple[str, ...]:
    """A phrase for each setting that names another system than at the base."""
    before, after = _names(base), _names(head)
    phrases = [
        f"system.{key} is {_setting_text(new, old)} (base: {_setting_text(old, new)})"
        for key, new, old in _different(after, before)
    ]
    return (*phrases, *_led_elsewhere(head, leads))


def _different(after: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Each setting that differs, as deep as both sides have blocks: its key with dots, and both values."""
    for key in dict.fromkeys((*after, *before)):
        new, old = after.get(key), before.get(key)
        if isinstance(new, dict) and isinstance(old, dict):
            yield from ((f"{key}.{below}", *values) for below, *values in _different(new, old))
        elif new != old or (key in after) != (key in before):
            yield key, new, old


def _names(system: SystemBlock) -> dict[str, Any]:
    """The settings that name the system; a prompt's file and model are excluded, since the gate compares them."""
    kind = system.kind
    block = getattr(system, kind)
    given = block.model_dump(mode="json") if hasattr(block, "model_dump") else block
    if kind in _ADDRESSES:
        given = {_ADDRESSES[kind]: given[_ADDRESSES[kind]]}
    names: dict[str, Any] = {"root": system.root, kind: "a prompt" if kind == "prompt" else given}
    names |= {"python": system.python} if system.python is not None else {}
    names |= {"serve": system.serve.command} if system.serve is not None else {}
    if system.container is not None:
        names |= {"container": system.container.model_dump(mode="json", exclude={"ready", "seconds", "build_seconds"})}
    names |= {f"environment.{name}": value for name, value in _code_and_addresses(system.environment)}
    for variant, changed in system.variants.items():
        found = _code_and_addresses(changed.environment)
        names |= {f"variants.{variant}.environment.{name}": value for name, value in found}
    return names


def _code_and_addresses(environment: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Variables that decide which code is loaded, or the address of a called system."""
    for name, value in environment.items():
        if _LOADED.fullmatch(name) or "://" in value or _CODE.search(value):
            yield name, value


def _led_elsewhere(system: SystemBlock, leads: Leads) -> Iterator[str]:
    """Symbolic links with the same name that point to other files."""
    address = getattr(system, system.kind)
    address = getattr(address, _ADDRESSES.get(system.kind, ""), address)
    module = address.partition(":")[0].replace(".", "/") if isinstance(address, str) else ""
    for path in dict.fromkeys((system.root, *(f"{system.root}/{module}{end}" for end in (".py", "") if module))):
        before, after = leads(path)
        if before != after:
            yield f"{path!r} leads to {after!r} (base: {before!r})"
            return


def _setting_text(value: Any, other: Any) -> str:
    """The value in quotes; of a long one the part where it begins to differ from the other side's."""
    if value is None:
        return "not set"
    text, compared = _written(value), _written(other)
    if len(text) <= _LONGEST:
        return repr(text)
    start = max(
        sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, compared, strict=False))) - _BEFORE, 0
    )
    end = start + _LONGEST
    return f"{'…' if start else ''}{text[start:end]!r}{'…' if end < len(text) else ''}"


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
