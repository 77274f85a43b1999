"""What the results of runs became when a site was made, for the next one.

It lies in the user's cache folder, and only pages are made of it: a verdict never reads it.
"""

import contextlib
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

_FILE = "runs.sqlite3"
_KEPT_DAYS = 30
_DAY = 86_400
_TABLE = "CREATE TABLE IF NOT EXISTS known (key TEXT PRIMARY KEY, content BLOB NOT NULL, used INTEGER NOT NULL)"


class RunCache:
    """Bytes by their key. Where the file cannot be used, nothing is known and nothing kept.

    Args:
        database: None for no file.
        today: days since 1970.
    """

    def __init__(self, database: sqlite3.Connection | None = None, today: int = 0) -> None:
        self._database, self._today = database, today

    def get(self, key: str) -> bytes | None:
        """What was kept; None where nothing was, or it is damaged."""
        if self._database is None:
            return None
        with contextlib.suppress(sqlite3.Error, zlib.error, TypeError):
            row = self._database.execute("SELECT content, used FROM known WHERE key = ?", (key,)).fetchone()
            if row is not None and row[1] != self._today:
                with contextlib.suppress(sqlite3.Error):
                    self._database.execute("UPDATE known SET used = ? WHERE key = ?", (self._today, key))
            return None if row is None else zlib.decompress(row[0])
        return None

    def put(self, key: str, content: bytes) -> None:
        """Keep something under a key that follows from all that it was made of."""
        with contextlib.suppress(sqlite3.Error):
            if self._database is not None:
                row = (key, zlib.compress(content, 1), self._today)
                self._database.execute("INSERT OR REPLACE INTO known VALUES (?, ?, ?)", row)


@contextmanager
def open_cache(folder: Path) -> Iterator[RunCache]:
    """The cache in a folder, which is made where it is missing; what was not used for 30 days is removed."""
    today, database = int(time.time()) // _DAY, None
    with contextlib.suppress(OSError, sqlite3.Error):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A site that is made beside another one reads what is known, and does not wait to add to it.
        database = sqlite3.connect(folder / _FILE, timeout=0)
    try:
        with contextlib.suppress(sqlite3.Error):
            if database is not None:
                database.execute(_TABLE)
                database.execute("DELETE FROM known WHERE used < ?", (today - _KEPT_DAYS,))
        yield RunCache(database, today)
        with contextlib.suppress(sqlite3.Error):
            if database is not None:
                database.commit()
    finally:
        if database is not None:
            database.close()


def product_digest(package: Path) -> str:
    """A digest of the product's own code and templates: another version may make something else of a run.

    Args:
        package: folder of the product.
    """
    found = sha256()
    for path in sorted(package.rglob("*")):
        if path.suffix in {".py", ".j2", ".css", ".js"} and path.is_file():
            found.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()
