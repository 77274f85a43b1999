"""What a set-up command needs to download through the runner's proxy and past its own certificate authority."""

import re
from collections.abc import Mapping

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_AS_THEY_ARE = ("NO_PROXY", "no_proxy", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS")
_USER_INFORMATION = re.compile(r"(?P<scheme>[a-zA-Z0-9+.-]+://)?(?:.*@)?(?P<rest>[^@]*)", re.DOTALL)


def download_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """The gate's variables that name proxies and certificates, for the set-up command alone.

    A proxy's user and password are the runner's secret and stay out: whoever writes ``system.setup`` in a pull
    request could send them away.
    """
    found = {name: without_user(inherited[name]) for name in _PROXIES if inherited.get(name)}
    return found | {name: inherited[name] for name in _AS_THEY_ARE if inherited.get(name)}


def without_user(proxy: str) -> str:
    """A proxy's address without user and password, however they are spelled."""
    parts = _USER_INFORMATION.fullmatch(proxy)
    return f"{parts['scheme'] or ''}{parts['rest']}" if parts else ""


def withheld(inherited: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the proxy variables that lost their user and password."""
    return tuple(name for name in _PROXIES if without_user(inherited.get(name, "")) != inherited.get(name, ""))
