"""The way to one provider: address, key, and the headers that carry it."""

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qs, urlsplit, urlunsplit

from ratiba_action.errors import ConfigurationError

DEFAULT_BASE_URLS = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
"""Where each provider is asked when no other address is given."""

_ANTHROPIC_VERSION = "2023-06-01"
_KEY = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class ProviderRoute:
    """Where a provider is, and the key that lets us in.

    Args:
        provider: ``anthropic`` or ``openai``.
        key: the real API key; never shown.
        base_url: another address than the provider's own. With ``?api-version=…`` it is spoken to as Azure wants it:
            the query goes along, the key in a header ``api-key``.

    Raises:
        ConfigurationError: the address is not https (or http on this machine), holds credentials, or the key cannot
            stand in a header.
    """

    provider: str
    key: str = field(repr=False)
    base_url: str = ""

    def __post_init__(self) -> None:
        _checked(self.base_url or DEFAULT_BASE_URLS[self.provider], self.provider)
        if not _KEY.fullmatch(self.key):
            raise ConfigurationError(
                f"The key of {self.provider} is empty or holds a character that no key has, such as a line's end.",
                "Give the key alone.",
            )

    def address(self, endpoint: str) -> str:
        """The URL of an endpoint such as ``messages`` or ``chat/completions``."""
        parts = _checked(self.base_url or DEFAULT_BASE_URLS[self.provider], self.provider)
        path = parts.path.rstrip("/")
        if self.provider == "anthropic" and not path.endswith("/v1"):
            path += "/v1"
        return urlunsplit((parts.scheme, parts.netloc, f"{path}/{endpoint}", parts.query, ""))

    def headers(self) -> dict[str, str]:
        """The headers of every request; they hold the key."""
        if self.provider == "anthropic":
            return {"x-api-key": self.key, "anthropic-version": _ANTHROPIC_VERSION}
        if "api-version" in parse_qs(urlsplit(self.base_url).query):
            return {"api-key": self.key}
        return {"Authorization": f"Bearer {self.key}"}


def _checked(base_url: str, provider: str) -> SplitResult:
    """The parts of a usable address; a wrong one is not shown, it may hold a password."""
    remedy = "Give an address such as https://models.example/v1; plain http is for this machine only."
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ConfigurationError(f"The base URL of {provider} is not an address.", remedy) from None
    secure = parts.scheme == "https" or (parts.scheme == "http" and _is_this_machine(host))
    if not host or not secure or not base_url.isprintable() or " " in base_url:
        raise ConfigurationError(f"The base URL of {provider} is not an https address.", remedy)
    if "@" in parts.netloc or parts.fragment:
        raise ConfigurationError(f"The base URL of {provider} holds credentials or a fragment.", remedy)
    return parts


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
