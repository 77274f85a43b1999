"""Keys of providers that the configuration names: where they are found, and which texts are kept from every output."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ratiba_action.settings.environment import Environment

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,99}_(?:KEY|TOKEN)")
_FIXED = frozenset({"AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK"})
"""Names that AWS fixes and that end otherwise."""

_OURS = re.compile(r"(?:RATIBA|GITHUB|ACTIONS|RUNNER)_")
_MIN = 4
"""Characters of a text that is masked; a shorter one would be used and could be seen, so that it is no key."""


def is_key_name(name: str) -> bool:
    """Whether ``providers.*.key`` may name a variable: it ends in ``_KEY`` or ``_TOKEN``, and is not the gate's own."""
    return name in _FIXED or (_NAME.fullmatch(name) is not None and _OURS.match(name) is None)


def parse_provider_keys(text: str) -> Mapping[str, str]:
    """``NAME=value`` pairs with white space between them, as the input ``provider-keys`` has them.

    A secret that a run does not get, such as that of a fork, leaves ``NAME=``: then there is no such key.

    Raises:
        ValueError: a part has another form, a name is not one of a key, stands twice, or a value is too short.
    """
    found: dict[str, str] = {}
    for part in text.split():
        name, _, value = part.partition("=")
        if not is_key_name(name) or 0 < len(value) < _MIN or name in found or "=" not in part:
            raise ValueError("NAME=value pairs, such as GROQ_API_KEY=…, each name once and ending in _KEY or _TOKEN")
        found[name] = value
    return {name: value for name, value in found.items() if value}


SHELL_KEYS: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        "anthropic": ("ANTHROPIC_API_KEY", ("ANTHROPIC_BASE_URL",)),
        "openai": ("OPENAI_API_KEY", ("OPENAI_BASE_URL", "OPENAI_API_BASE")),
    }
)
"""The variable in which a shell has each provider's key, and those that say whose key it is."""

BUILT_IN = tuple(SHELL_KEYS)
"""Providers that need no declaration; their keys and addresses are inputs of the gate."""


def shell_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """The keys that lie in a shell for other programs, by provider.

    A key beside the address of another server is that server's: it is left out, and goes to nobody.
    """
    found = keys_in(environment)
    return {
        provider: found[name]
        for provider, (name, addresses) in SHELL_KEYS.items()
        if name in found and not any(environment.get(address) for address in addresses)
    }


def keys_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Every variable that could be a provider's key; none is used unless the configuration names it."""
    found = {**environment, **(environment.credentials() if isinstance(environment, Environment) else {})}
    return {
        name: value
        for name, value in found.items()
        if is_key_name(name) and len(value) >= _MIN and (value.isprintable() or value.lstrip().startswith("{"))
    }


JUDGES: Mapping[str, str] = MappingProxyType(
    {
        "anthropic": "claude-opus-5-5",
        "openai": "gpt-5.6",
        "gemini": "gemini-2.5-pro",
        "mistral": "mistral-large-latest",
        "groq": "llama-3.3-70b-versatile",
        "openrouter": "google/gemini-2.5-pro",
    }
)
"""The judge of each provider that ``ratiba init`` can set up from the name of a key alone, the preferred ones first."""


def providers_with_keys(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Those of ``JUDGES`` that have a key here; a key that may be another server's does not count. None is used."""
    there, of_shell = keys_in(environment), shell_keys(environment)

    def has_key(provider: str) -> bool:
        if provider in SHELL_KEYS:
            return provider in of_shell or bool(environment.get(f"RATIBA_{provider.upper()}_API_KEY"))
        return f"{provider.upper()}_API_KEY" in there

    return tuple(filter(has_key, JUDGES))
