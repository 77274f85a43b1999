"""The passwords of a PostgreSQL connection string, which no message repeats, and what a failed connection means."""

import re
from urllib.parse import unquote

_URL = re.compile(r"postgres(?:ql)?://")
_USER_INFO = re.compile(r"postgres(?:ql)?://[^:@/]*:([^@/]*)@")
_QUERY = re.compile(r"[?&]password=([^&]*)")
_KEYWORD = re.compile(r"\bpassword\s*=\s*('(?:[^'\\]|\\.)*'?|(?:[^\s\\]|\\.)*)", re.DOTALL)


def passwords_in(dsn: str) -> tuple[str, ...]:
    """Each password as it is written and as it is meant, the longest first; none of a string without one.

    Args:
        dsn: a URL or ``keyword=value`` pairs, as libpq reads them; it may be malformed.
    """
    if _URL.match(dsn):
        written = [*_USER_INFO.findall(dsn), *_QUERY.findall(dsn)]
        meant = [unquote(value) for value in written]
    else:
        written = _KEYWORD.findall(dsn)
        bare = [value.removeprefix("'").removesuffix("'") if value.startswith("'") else value for value in written]
        meant = [*bare, *(re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL) for value in bare)]
    return tuple(sorted({password for password in (*written, *meant) if password}, key=len, reverse=True))


_REFUSED = re.compile(
    r"connection refused|could not translate host name|failed to resolve host|name or service not known"
    r"|network is unreachable|no such file or directory|invalid response to ssl negotiation|does not support ssl"
    r"|certificate",
    re.IGNORECASE,
)
_MAY_ANSWER = re.compile(
    r"timeout|temporary failure in name resolution|too many (clients|connections)|connection slots are reserved"
    r"|starting up|shutting down|in recovery mode",
    re.IGNORECASE,
)


def is_refused(message: str) -> bool:
    """Whether a failed connection says that nobody listens there, or that whoever does will not have us.

    Args:
        message: libpq's, of one attempt or of several addresses.
    """
    return bool("FATAL:" in message or _REFUSED.search(message)) and not _MAY_ANSWER.search(message)
