"""A system that asks no model: it does what the customer's message tells it to, good or bad."""

import ctypes
import json
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class Adapter:
    def migrate(self, database_url: str) -> None:
        execute(database_url, "CREATE TABLE notes (id serial PRIMARY KEY, text text NOT NULL)")

    def open(self, context: Any) -> "Conversation":
        return Conversation(context)


class Conversation:
    def __init__(self, context: Any) -> None:
        self._context = context

    def send(self, message: str) -> Any:
        command, _, argument = message.partition(" ")
        return getattr(self, f"_{command}")(argument)

    def _say(self, text: str) -> dict[str, Any]:
        return {"text": text, "state": "SAID"}

    def _reply(self, fields: str) -> Any:
        """The reply that the message holds as JSON."""
        return {"text": "", **json.loads(fields)}

    def _raise(self, text: str) -> None:
        raise RuntimeError(text)

    def _hang(self, seconds: str) -> None:
        time.sleep(float(seconds))

    def _print(self, text: str) -> dict[str, Any]:
        sys.stdout.write(f"{text}\n" * 100)
        sys.stdout.flush()
        return {"text": "printed", "state": "SAID"}

    def _answer_bytes(self, count: str) -> dict[str, Any]:
        return {"text": "x" * int(count)}

    def _answer_list(self, _argument: str) -> list[str]:
        return ["not", "a", "reply"]

    def _exit(self, code: str) -> None:
        os._exit(int(code))

    def _signal(self, folder: str) -> dict[str, Any]:
        """Tell the test that the conversation has begun, and wait until it answers."""
        here = Path(folder)
        (here / f"begun-{os.getpid()}").touch()
        while not (here / "go").exists():
            time.sleep(0.01)
        return {"text": "went on", "state": "SAID"}


def execute(database_url: str, statement: str) -> None:
    """Execute a statement by psycopg's own library: to import psycopg takes a third of a whole run of the gate."""
    found = find_spec("psycopg_binary")
    if found is None or found.origin is None:
        raise RuntimeError("psycopg_binary is not installed")
    (library,) = Path(found.origin).parent.with_name("psycopg_binary.libs").glob("libpq-*")
    libpq = ctypes.CDLL(str(library))
    libpq.PQconnectdb.restype = libpq.PQexec.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(libpq.PQconnectdb(database_url.encode()))
    result = ctypes.c_void_p(libpq.PQexec(connection, statement.encode()))
    succeeded = libpq.PQresultStatus(result) == 1
    libpq.PQfinish(connection)
    if not succeeded:
        raise RuntimeError(f"could not execute {statement!r}")
