"""Which proxy a connection goes through, by the variables that programs agree on."""

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ratiba_action.errors import ConfigurationError

if TYPE_CHECKING:
    import ssl


def trusted_certificates(environment: Mapping[str, str]) -> "ssl.SSLContext":
    """The system's certificates, or those of ``SSL_CERT_FILE`` or ``REQUESTS_CA_BUNDLE``.

    Raises:
        ConfigurationError: the file that is named cannot be read.
    """
    import ssl  # slow to import, and seldom needed by a run that only decides

    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        bundle = environment.get(name)
        if bundle:
            try:
                return ssl.create_default_context(cafile=bundle)
            except OSError as error:
                raise ConfigurationError(
                    f"The certificates of {name}, {bundle!r}, cannot be read ({type(error).__name__}).",
                    "Name a file of certificates in PEM form, or none.",
                ) from error
    return ssl.create_default_context()


_TARGET = re.compile(r"https://(?P<host>\[[^\]/]+\]|[^/:]+)(?::(?P<port>[0-9]+))?(?:/.*)?")
_PROXY = re.compile(
    r"(?:(?P<scheme>[a-z0-9+.-]+)://)?(?:(?P<user>[^/@]*)@)?(?P<address>(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?)/?",
    re.IGNORECASE,
)
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where to connect to.

    Args:
        address: ``host:port``.
        credentials: value of ``Proxy-Authorization``, empty for none.
    """

    address: str
    credentials: str = field(default="", repr=False)


def proxy_for(target: str, environment: Mapping[str, str]) -> Proxy | None:
    """The proxy on the way to an address; None to connect directly.

    Only https goes through a proxy: plain http is spoken with this machine alone.

    Args:
        environment: its ``HTTPS_PROXY`` or ``https_proxy``, ``NO_PROXY`` or ``no_proxy``; small letters win.

    Raises:
        ValueError: the variable does not name a proxy that can be used; its value is not shown.
    """
    found = _TARGET.fullmatch(target)
    value = _variable(environment, "https_proxy")
    if found is None or not value or _is_excepted(found["host"], found["port"] or "443", environment):
        return None
    proxy = _PROXY.fullmatch(value)
    if proxy is None or (proxy["scheme"] or "http").lower() != "http":
        raise ValueError("HTTPS_PROXY does not name a proxy; an address such as http://proxy.example:3128 does")
    address = proxy["address"] if re.search(r":[0-9]+\Z", proxy["address"]) else f"{proxy['address']}:80"
    return Proxy(address, _basic(proxy["user"]) if proxy["user"] else "")


def _variable(environment: Mapping[str, str], name: str) -> str:
    return (environment.get(name) or environment.get(name.upper()) or "").strip()


def _is_excepted(host: str, port: str, environment: Mapping[str, str]) -> bool:
    """Whether ``NO_PROXY`` lists the host, a domain above it, or everything."""
    name = host.lower().strip("[]")
    for entry in _variable(environment, "no_proxy").lower().split(","):
        wanted, _, wanted_port = entry.strip().partition(":") if entry.count(":") == 1 else (entry.strip(), "", "")
        domain = wanted.strip("[]").lstrip("*").lstrip(".")
        if wanted == "*":
            return True
        if domain and wanted_port in {"", port} and (name == domain or name.endswith(f".{domain}")):
            return True
    return False


def _basic(user: str) -> str:
    plain = _PERCENT.sub(lambda match: bytes([int(match[1], 16)]), user.encode())
    return "Basic " + b64encode(plain).decode("ascii")
