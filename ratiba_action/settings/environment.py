"""The process's variables, with every secret taken out before a child can read or inherit one.

Imports little and starts nothing, since it runs before the program's other modules are imported. See
``docs/decisions/0028-secrets-and-seal.md``.
"""

import os
import re
import select
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, MutableMapping

from ratiba_action.errors import InfrastructureError

FROM_STDIN = "RATIBA_SECRETS"
"""Set to ``stdin``, it says that variables arrive on standard input, each as ``NAME=value`` and a NUL byte."""

SECRET_NAMES = re.compile(
    r"(.*_)?(KEY|TOKEN|SECRET|PASSWORD)|AWS_ACCESS_KEY_ID|AWS_BEARER_TOKEN_BEDROCK"
    r"|RATIBA_((DATABASE|LEDGER|REDIS|(SLACK_)?WEBHOOK)_URL|PROVIDER_KEYS|OTLP_HEADERS)",
    re.IGNORECASE,
)
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
_USER_AND_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]*:[^/?#\s]*@.*", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")

_MAX_BYTES = 4_000_000
_SECONDS = 20.0

_PR_SET_DUMPABLE = 4


class Environment(MutableMapping[str, str]):
    """Looks up plain variables and secrets; iterates, and so copies, the plain ones alone.

    Args:
        plain: the process's own variables, without secrets; written to.
    """

    def __init__(self, plain: MutableMapping[str, str], secrets: Mapping[str, str]) -> None:
        self._plain = plain
        self._secrets = dict(secrets)

    def __getitem__(self, name: str) -> str:
        """The value of a variable or of a secret."""
        return self._secrets[name] if name in self._secrets else self._plain[name]

    def __setitem__(self, name: str, value: str) -> None:
        """Set a variable; one that is a secret never becomes a plain one."""
        target = self._secrets if is_secret(name, value) else self._plain
        target[name] = value

    def __delitem__(self, name: str) -> None:
        """Forget a variable or a secret."""
        del (self._secrets if name in self._secrets else self._plain)[name]

    def credentials(self) -> Mapping[str, str]:
        """Every secret by its name, for whoever is to find one that a configuration names; never for a child."""
        return dict(self._secrets)

    def __iter__(self) -> Iterator[str]:
        """Names of the plain variables: what is copied for a child holds no secret."""
        return iter(self._plain)

    def __len__(self) -> int:
        """Number of the plain variables."""
        return len(self._plain)

    def __repr__(self) -> str:
        """Names alone."""
        return f"Environment({sorted(self)})"


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds a credential: by its name, as a proxy with a user, or as an address with a password."""
    if SECRET_NAMES.fullmatch(name):
        return True
    return ("@" in value) if name in PROXIES else _USER_AND_PASSWORD.fullmatch(value) is not None


def take_secrets(variables: MutableMapping[str, str], stdin: int = 0) -> Environment:
    """Read standard input where that is asked for, and take the secrets out. Call ``protect_process`` first.

    Args:
        variables: the process's own; secrets are removed from it.
        stdin: file descriptor of the standard input; afterwards it is empty.

    Raises:
        InfrastructureError: standard input errored, did not end in time, or is not what was expected.
    """
    if variables.get(FROM_STDIN) == "stdin":
        variables.update(_read_variables(stdin))
    return _parted(variables, {name for name, value in variables.items() if is_secret(name, value)})


def take_inputs(variables: MutableMapping[str, str]) -> Environment:
    """The same in a process that is not the gate's own, such as pytest's: only the gate's secrets are taken out.

    Args:
        variables: the process's own; what its other code needs stays there.
    """
    names = {name for name, value in variables.items() if name.startswith("RATIBA_") and is_secret(name, value)}
    if names:
        protect_process()
    return _parted(variables, names)


def _parted(variables: MutableMapping[str, str], names: Iterable[str]) -> Environment:
    found = {name: variables.pop(name) for name in names}
    return Environment(variables, {name: value for name, value in found.items() if value})


def _read_variables(stdin: int) -> dict[str, str]:
    try:
        content = b"" if os.isatty(stdin) else _read_to_end(stdin)
    except OSError:
        content = b""  # it is closed
    finally:
        _leave_empty(stdin)
    if content and not content.endswith(b"\0"):
        raise _unreadable("it ends in the middle of a record")
    records = [record.partition(b"=") for record in content.split(b"\0")[:-1]]
    if not all(separator and _NAME.fullmatch(name) for name, separator, _ in records):
        raise _unreadable("a record is not NAME=value")
    return {name.decode("ascii"): os.fsdecode(value) for name, _, value in records}


def _read_to_end(stdin: int) -> bytes:
    content, end = b"", time.monotonic() + _SECONDS
    while True:
        if not select.select([stdin], [], [], max(0.0, end - time.monotonic()))[0]:
            raise _unreadable(f"it did not end within {_SECONDS:g} s")
        chunk = os.read(stdin, 65_536)
        if not chunk:
            return content
        content += chunk
        if len(content) > _MAX_BYTES:
            raise _unreadable(f"it is longer than {_MAX_BYTES} bytes")


def _leave_empty(stdin: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    if nothing != stdin:
        os.dup2(nothing, stdin, inheritable=True)
        os.close(nothing)


def _unreadable(why: str) -> InfrastructureError:
    return InfrastructureError(
        f"The variables could not be read from standard input: {why}.",
        f"Write each as NAME=value followed by a NUL byte, or leave {FROM_STDIN} out.",
    )


def has_proxy_password(environment: Mapping[str, str]) -> bool:
    """Whether a proxy's variable holds a user and a password."""
    return any(is_secret(name, environment.get(name, "")) for name in PROXIES)


def protect_process() -> bool:
    """Make this process unreadable to others of the same user, and never write its memory to a core file.

    Call it before anything else: afterwards ``/proc/<pid>/environ``, ``mem`` and ``fd`` of this process belong to
    root, and a debugger of the same user is refused.

    Returns:
        Whether the kernel did it; False on anything but Linux.
    """
    if sys.platform == "win32":
        return False
    import resource  # not on every platform

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform != "linux":
        return False
    import ctypes  # Linux alone needs it

    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_SET_DUMPABLE, ctypes.c_ulong(0), 0, 0, 0) == 0)
