"""A system elsewhere with an HTTP interface of its own: the gate fills the template, and reads the answer.

What is sent to it and found in its answer is decided in the gate; here only bytes are exchanged, where nothing is to
be had by an answer that misbehaves.
"""

from __future__ import annotations

import functools
import json
import urllib.parse
from typing import Any

from .code_version import require_header, require_path
from .http_call import AnswerError, call, decode


class Adapter:
    """Every conversation is itself.

    Args:
        options: ``url``, ``method``, ``headers``, ``stream`` (whether events are answered) and ``end`` (data of the
            last event, or None).
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def open(self, _context: Any) -> Adapter:
        """Nothing is to be opened; a path that names the server's commit is read."""
        require_path(self._options)
        return self

    def send(self, request: dict[str, Any]) -> Any:
        """Send one request: its ``query`` and ``body``; returns the JSON of the answer, or that of every event."""
        options = self._options
        query = urllib.parse.urlencode(request["query"])
        address = options["url"] + (f"?{query}" if query else "")
        accept = "text/event-stream" if options["stream"] else "application/json"
        headers = {"Accept": accept, **options["headers"]}
        content = None
        if request["body"] is not None:
            content = json.dumps(request["body"]).encode("ascii")
            headers["Content-Type"] = "application/json"
        place = f"{options['method']} {options['url']}"
        check = functools.partial(require_header, options)
        answer = call(options["method"], address, headers, content, check=check)
        return read_events(answer, options["end"], place) if options["stream"] else decode(answer, place)


def read_events(content: bytes, end: str | None, place: str) -> list[Any]:
    """The JSON of every server-sent event up to the end mark.

    Args:
        content: the stream, by the rules of the HTML standard, section 9.2.
        end: data of the event that ends it; None when the stream's own end is enough.

    Raises:
        AnswerError: an event holds no JSON, or the end mark did not come.
    """
    events: list[Any] = []
    lines = content.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    # What comes after the last blank line is no whole event.
    for block in lines.split("\n\n")[:-1]:
        pairs = (line.partition(":") for line in block.split("\n"))
        data = [value.removeprefix(" ") for name, _, value in pairs if name == "data"]
        if not data:
            continue
        text = "\n".join(data)
        if end is not None and text == end:
            return events
        events.append(decode(text.encode(), place))
    if end is not None:
        raise AnswerError(f"{place} was answered with {len(events)} events and without the end mark {end!r}")
    return events
