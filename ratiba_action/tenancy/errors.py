"""What goes wrong with a database, told as the gate's own error."""

from collections.abc import Iterator
from contextlib import contextmanager

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.dsn import address, without_password


@contextmanager
def database_errors(what: str, dsn: str, remedy: str = "") -> Iterator[None]:
    """Turn the driver's errors into ``DatabaseError``.

    Args:
        what: what is being done, as the end of "could not …".
        dsn: connection string in use; its password never reaches the message.
        remedy: what to do about it.

    Raises:
        DatabaseError: the driver or the network failed.
    """
    import psycopg  # noqa: PLC0415 - the pytest plug-in and the command line load without it

    try:
        yield
    except (psycopg.Error, OSError, TimeoutError) as error:
        words = " ".join(without_password(str(error), dsn).split()) or type(error).__name__
        raise DatabaseError(f"The PostgreSQL server at {address(dsn)!r} could not {what}: {words}.", remedy) from None
