"""What a pull request may not decide about its own live run: it is shown, and not obeyed."""

from collections.abc import AsyncIterator
from fractions import Fraction

import pytest

from tests.support.http_stand_in import HttpAnswer, HttpRequest, HttpStandIn, http_answer
from tests.support.live_repository import CONFIGURATION, JUDGE, SECOND_JUDGE, LiveRepository, report_of


@pytest.fixture
async def elsewhere() -> AsyncIterator[tuple[str, list[HttpRequest]]]:
    """A server that no input names, and what it was asked."""
    asked: list[HttpRequest] = []

    async def answer(request: HttpRequest) -> HttpAnswer:
        asked.append(request)
        return HttpAnswer(http_answer(500, b"{}", {"Content-Type": "application/json"}))

    async with HttpStandIn(answer) as server:
        yield server.url, asked


async def test_prices_judges_votes_and_limits_of_a_pull_request_are_shown_and_not_obeyed(live: LiveRepository) -> None:
    live.scenario("greets", "Hello")
    base = live.git.commit({})
    own = (
        CONFIGURATION.replace("input_per_million: 5", "input_per_million: 0.000001")
        .replace("  model: claude-opus-5-5", "  model: claude-haiku-4-5\n  band: 0\n  votes: 1")
        .replace("share: 1.0", "share: 0")
        + "models: {retries: 10, max_output_tokens: 1000000}\n"
    )
    head = live.git.commit({".github/ratiba.yml": own})
    ended = await live.gate(**live.pull_request(base, head))
    assert ended.code == 0, ended.printed
    models = {received.body["model"] for received in live.models.received}
    assert models == {"gpt-5", JUDGE, SECOND_JUDGE}, "the base's judges, both of them"
    assert Fraction(ended.outputs["spent_usd"]) == live.models.bill.total, "at the base's prices"
    notes = " ".join(report_of(ended).notes)
    refused = "Settings that keep the base's value until this change is merged: judge, "
    assert refused in notes
    assert refused in ended.comment
    assert "models.max_output_tokens or models.default_output_tokens, models.retries 3 (this change: 10)" in notes
    assert ", prices." in notes


async def test_a_pull_request_sends_its_system_nowhere_else(
    live: LiveRepository, elsewhere: tuple[str, list[HttpRequest]]
) -> None:
    address, asked = elsewhere
    live.scenario("greets", "Hello")
    base = live.git.commit({})
    sent = f"  environment: {{ANTHROPIC_BASE_URL: '{address}', OPENAI_BASE_URL: '{address}/v1'}}\n  prompts:"
    head = live.git.commit({".github/ratiba.yml": CONFIGURATION.replace("  prompts:", sent)})
    ended = await live.gate(**live.pull_request(base, head))
    assert ended.code == 2, ended.printed
    assert "ANTHROPIC_BASE_URL, OPENAI_BASE_URL cannot be set here" in ended.printed
    assert (asked, live.models.received) == ([], ())


async def test_a_price_of_zero_is_refused_before_anything_is_asked(live: LiveRepository) -> None:
    live.scenario("greets", "Hello")
    base = live.git.commit({})
    head = live.git.commit(
        {".github/ratiba.yml": CONFIGURATION.replace("input_per_million: 5", "input_per_million: 0")}
    )
    ended = await live.gate(**live.pull_request(base, head))
    assert ended.code == 2, ended.printed
    assert live.models.received == ()
    assert "input_per_million" in ended.printed
