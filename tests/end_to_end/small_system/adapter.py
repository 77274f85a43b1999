"""A system that asks no model: it does what the customer's message tells it to, good or bad."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import psycopg


class Adapter:
    def migrate(self, database_url: str) -> None:
        with psycopg.connect(database_url) as connection:
            connection.execute("CREATE TABLE notes (id serial PRIMARY KEY, text text NOT NULL)")

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
