"""What SCRAM makes of a role's password: worked out once, where a driver does it again for every connection."""

import base64
import hashlib
import hmac
import os
from dataclasses import dataclass

ITERATIONS = 4096
"""PostgreSQL's own number, and the smallest that its driver for Java accepts."""
_SALT_BYTES = 16  # PostgreSQL's own length


@dataclass(frozen=True, slots=True)
class ScramKeys:
    """The keys of RFC 5802 for one password and one salt, in Base64. Who has the client's can log in.

    Args:
        verifier: what the server keeps.
    """

    verifier: str
    client: str
    server: str

    def __repr__(self) -> str:
        return "ScramKeys(…)"


def scram_keys(password: str) -> ScramKeys:
    """The keys for a password, with a random salt.

    Args:
        password: ASCII, so that it needs no normalisation.
    """
    salt = os.urandom(_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, ITERATIONS)
    client, server = (hmac.digest(salted, name, "sha256") for name in (b"Client Key", b"Server Key"))
    stored = hashlib.sha256(client).digest()
    verifier = f"SCRAM-SHA-256${ITERATIONS}:{_text(salt)}${_text(stored)}:{_text(server)}"
    return ScramKeys(verifier, _text(client), _text(server))


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")
