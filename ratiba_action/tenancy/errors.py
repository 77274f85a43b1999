"""What goes wrong with a database, told as the gate's own error."""

from collections.abc import Iterator
from contextlib import contextmanager

from ratiba_action.errors import DatabaseError, QueryError
from ratiba_action.tenancy.dsn import address, without_password
from ratiba_action.util.printable import printable

_READ, _SHOWN = 20_000, 2_000
"""Characters of an error: a function of a tenant can raise whatever it wants."""


@contextmanager
def database_errors(what: str, dsn: str, remedy: str = "") -> Iterator[None]:
    """Turn the driver's errors into ``DatabaseError``.

    Args:
        what: what is being done, as the end of "could not …".
        dsn: connection string in use; its password never reaches the message.
        remedy: what to do about it.

    Raises:
        DatabaseError: the driver or the network failed; ``QueryError`` where the server refused a statement.
    """
    import psycopg  # noqa: PLC0415 - the pytest plug-in and the command line load without it

    try:
        yield
    except (psycopg.Error, OSError, TimeoutError) as error:
        words = printable(" ".join(without_password(str(error)[:_READ], dsn).split()))[:_SHOWN]
        words = words or ("it took too long" if isinstance(error, TimeoutError) else type(error).__name__)
        told = f"The PostgreSQL server at {address(dsn)!r} could not {what}: {words}."
        if isinstance(error, psycopg.DatabaseError) and not isinstance(error, psycopg.OperationalError):
            raise QueryError(told, remedy, words.partition(" LINE ")[0]) from None
        raise DatabaseError(told, remedy) from None
