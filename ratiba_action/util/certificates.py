"""The certificates that connections to GitHub and to providers are checked against. Standard library only."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ratiba_action.errors import ConfigurationError

if TYPE_CHECKING:
    import ssl


def trusted_certificates(environment: Mapping[str, str]) -> "ssl.SSLContext":
    """The system's certificates, or those of ``SSL_CERT_FILE`` or ``REQUESTS_CA_BUNDLE``.

    Raises:
        ConfigurationError: the file that is named cannot be read.
    """
    import ssl  # noqa: PLC0415 - slow to import, and seldom needed by a run that only decides

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
