"""Connection strings: made for a role, and shown without a password."""

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from ratiba_action.errors import ConfigurationError
from ratiba_action.util.dsn import passwords_in

CONNECT_TIMEOUT_SECONDS = 10
_LAST_PORT = 65_535
_KEPT = ("hostaddr", "sslmode", "sslrootcert", "sslnegotiation", "channel_binding", "gssencmode")


def parameters(dsn: str) -> dict[str, str]:
    """The parts of a connection string in either of PostgreSQL's spellings.

    Raises:
        ConfigurationError: it cannot be parsed; its text is not repeated because it may hold a password.
    """
    import psycopg  # noqa: PLC0415 - the pytest plug-in and the command line load without it
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - the same

    try:
        parsed = conninfo_to_dict(dsn)
    except psycopg.Error:
        raise _unreadable("") from None
    parts = {key: str(value) for key, value in parsed.items() if value is not None}
    if not all(_is_port(port) for port in parts.get("port", "").split(",")):
        raise _unreadable(": its port is not a number from 1 to 65535")
    return parts


def _is_port(text: str) -> bool:
    """Whether libpq takes it; an empty one is the default."""
    return not text or (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= _LAST_PORT)  # noqa: PLR2004 - as long as the last one


def _unreadable(why: str) -> ConfigurationError:
    return ConfigurationError(
        f"The database URL cannot be read as a PostgreSQL connection string{why}.",
        "Write it as postgresql://user:password@host:port/database.",
    )


def address(dsn: str) -> str:
    """``host:port/database`` of a connection string, for messages; never its password or user."""
    parts = parameters(dsn)
    host = parts.get("host") or parts.get("hostaddr") or "localhost"
    return f"{host}:{parts.get('port', '5432')}/{parts.get('dbname', parts.get('user', ''))}"


def without_password(text: str, dsn: str) -> str:
    """A server's or a driver's message with the password of ``dsn`` blotted out."""
    for password in passwords_in(dsn):
        text = text.replace(password, "***")
    return text


def for_role(dsn: str, role: str, password: str, search_path: Sequence[str]) -> str:
    """The URL by which ``role`` reaches the same database as ``dsn``, its search path set."""
    parts = parameters(dsn)
    path = ",".join('"' + schema.replace('"', '""') + '"' for schema in search_path)
    # The server splits options at spaces, and takes a backslash for what follows it.
    escaped = path.replace("\\", "\\\\").replace(" ", "\\ ")
    options = f"-c search_path={escaped}"
    query = {"options": options, "connect_timeout": str(CONNECT_TIMEOUT_SECONDS)}
    query |= {key: parts[key] for key in _KEPT if key in parts}
    query["host"] = parts.get("host", "localhost")
    query["port"] = parts.get("port", "5432")
    database = quote(parts.get("dbname", parts.get("user", "postgres")), safe="")
    login = f"{quote(role, safe='')}:{quote(password, safe='')}"
    return f"postgresql://{login}@/{database}?{urlencode(query, quote_via=quote)}"
