"""Speaks with a system through a template of its requests and JMESPaths into its answers."""

import json
from typing import Any
from uuid import uuid4

from ratiba_action.config.system_kinds import HttpBlock
from ratiba_action.errors import WorkerError
from ratiba_action.model.scenario import Scenario, Turn
from ratiba_action.util.body_template import as_text, fill, input_places, missing_inputs, places
from ratiba_action.util.installation import page
from ratiba_action.util.json_expression import Expression, ExpressionError
from ratiba_action.util.text import cut, plural

MAX_CHARACTERS = 1024 * 1024
_SHOWN = 300
"""Characters of an answer that a message shows."""


def _remedy() -> str:
    return f"Correct `system.http` in the configuration: {page('adapters', 'a-server-with-its-own-interface')}"


class TemplatedDialogue:
    """Implements ``Dialogue``; keeps the history of its conversation."""

    def __init__(self, block: HttpBlock, scenario: Scenario) -> None:
        self._query, self._body = block.query, block.body
        self._takes_events = "event" in places(block.body)
        paths = block.reply.model_dump(exclude_none=True)
        self._paths = {name: Expression(text) for name, text in paths.items()}
        self._piece = Expression(block.stream.text) if block.stream is not None else None
        self._history: list[dict[str, str]] = []
        self._messages: list[dict[str, str]] = []
        self._constant = {
            "conversation_id": str(uuid4()),
            "scenario_id": scenario.id,
            "now": scenario.now.isoformat(),
            "timezone": scenario.timezone,
            "language": scenario.language,
            "vertical": scenario.vertical,
            "customer_name": scenario.customer.name,
            "customer_phone": scenario.customer.phone,
            **input_places(scenario.inputs),
        }
        self._missing = missing_inputs([block.query, block.body], scenario.inputs)

    def request(self, turn: Turn) -> tuple[str, Any]:
        """The filled query and body.

        Raises:
            WorkerError: the turn is an event, and the template has no place for one; or the scenario lacks an input.
        """
        if self._missing:
            raise WorkerError(
                f"`system.http` has places for {plural(len(self._missing), 'input')} that the scenario does not have: "
                f"{', '.join(self._missing)}.",
                f"Add `inputs: {{{self._missing[0]}: VALUE}}` to the scenario.",
            )
        if turn.event is not None and not self._takes_events:
            kind = turn.event.get("type")
            raise WorkerError(
                f"the event {kind!r} cannot be sent to the system: `system.http` has no place ${{event}}.", _remedy()
            )
        self._messages = [] if turn.user is None else [{"role": "user", "content": turn.user}]
        values: dict[str, Any] = {
            **self._constant,
            "message": turn.user,
            "event": None if turn.event is None else dict(turn.event),
            "history": list(self._history),
            "messages": [*self._history, *self._messages],
        }
        query = {name: as_text(value) for name, value in fill(self._query, values).items()}
        return "send", {"query": query, "body": fill(self._body, values)}

    def reply(self, answer: Any) -> Any:
        """A reply of the parts that the expressions find; one that finds nothing leaves its part out.

        Raises:
            WorkerError: an expression does not fit, there is no text, or the reply is too long.
        """
        found = {name: _search(path, answer, f"reply.{name}") for name, path in self._paths.items()}
        if self._piece is not None:
            found["text"] = self._pieces(self._piece, answer)
        elif found["text"] is None:
            raise WorkerError(
                f"`system.http.reply.text` found nothing in {cut(json.dumps(answer), _SHOWN)}.", _remedy()
            )
        reply = {name: value for name, value in found.items() if value is not None}
        if len(json.dumps(reply)) > MAX_CHARACTERS:
            raise WorkerError(f"the reply is longer than {MAX_CHARACTERS} characters.", _remedy())
        self._history += [*self._messages, {"role": "assistant", "content": reply["text"]}]
        return reply

    def _pieces(self, path: Expression, events: Any) -> str:
        pieces = [_search(path, event, "stream.text") for event in events]
        texts = [piece for piece in pieces if piece is not None]
        wrong = next((piece for piece in texts if not isinstance(piece, str)), None)
        if wrong is not None:
            raise WorkerError(
                f"`system.http.stream.text` found {cut(json.dumps(wrong), _SHOWN)}, which is not a text.", _remedy()
            )
        if not texts:
            raise WorkerError(f"`system.http.stream.text` found nothing in {len(events)} events.", _remedy())
        return "".join(texts)


def _search(path: Expression, data: Any, name: str) -> Any:
    try:
        return path.search(data)
    except ExpressionError as problem:
        raise WorkerError(f"`system.http.{name}` cannot be read from the answer: {problem}.", _remedy()) from None
