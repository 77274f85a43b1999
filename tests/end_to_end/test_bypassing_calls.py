"""Model calls that bypass the gateway: the run claims nothing that it cannot know."""

import http.server
import threading
from collections.abc import Iterator
from decimal import Decimal

import pytest

from tests.support.small_repository import SmallRepository

CALLS = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:{port}/v1/messages', b'x').read(); "
UNKNOWN = "cannot know whether it made any"


@pytest.fixture
def provider() -> Iterator[tuple[int, list[str]]]:
    """A model's provider that the system calls by itself."""
    calls: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            calls.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name is the library's
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, calls
        server.shutdown()


def test_a_system_that_bypasses_the_gateway_is_not_said_to_have_called_no_model(
    small: SmallRepository, provider: tuple[int, list[str]]
) -> None:
    port, calls = provider
    adapter = small.folder / "adapter.py"
    reply = 'return {"text": text, "state": "SAID"}'
    adapter.write_text(adapter.read_text().replace(reply, CALLS.format(port=port) + reply, 1))
    small.scenario("talks", "say hello", "say bye")
    ended = small.gate()
    assert ended.code == 0, ended.printed
    assert len(calls) == 2
    assert UNKNOWN in ended.comment
    assert "no model was" not in ended.comment + ended.printed
    assert "replayed" not in ended.comment.split("###")[0].replace("neither recorded nor replayed", "")


def test_a_system_whose_cost_is_declared_has_said_what_it_calls(small: SmallRepository) -> None:
    small.write(".github/ratiba.yml", "system: {adapter: 'adapter:Adapter', price_per_turn_usd: 0}\n")
    small.scenario("talks", "say hello")
    ended = small.gate()
    assert ended.code == 0, ended.printed
    assert UNKNOWN not in ended.comment


def test_a_turn_whose_declared_price_does_not_fit_the_budget_is_not_sent_without_a_key_either(
    small: SmallRepository, provider: tuple[int, list[str]]
) -> None:
    port, calls = provider
    adapter = small.folder / "adapter.py"
    reply = 'return {"text": text, "state": "SAID"}'
    adapter.write_text(adapter.read_text().replace(reply, CALLS.format(port=port) + reply, 1))
    small.write(".github/ratiba.yml", "system: {adapter: 'adapter:Adapter', price_per_turn_usd: 3}\n")
    small.scenario("talks", "say hello", "say bye")
    ended = small.gate(RATIBA_EVAL_BUDGET_USD="5")
    assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed
    assert len(calls) == 1, "the first turn fits into 5 dollars, and the second does not"
    assert Decimal(ended.outputs["spent_usd"]) == 3
    assert "may cost $3.00: $3.00 is spent" in ended.printed


def test_what_fits_is_booked_and_the_answers_stay_replayed_ones(small: SmallRepository) -> None:
    small.write(".github/ratiba.yml", "system: {adapter: 'adapter:Adapter', price_per_turn_usd: 0.25}\n")
    small.scenario("talks", "say hello", "say bye")
    ended = small.gate()
    assert ended.code == 0, ended.printed
    assert Decimal(ended.outputs["spent_usd"]) == Decimal("0.5")
    assert ended.results["report"]["llm"] == "replay"
