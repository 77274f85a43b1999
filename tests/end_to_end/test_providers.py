"""Judges at providers that the configuration names: who is asked, with which key, and what it costs."""

import base64
import json
from collections import Counter
from collections.abc import AsyncIterator
from decimal import Decimal
from fractions import Fraction
from urllib.parse import unquote

import pytest

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.money.pricing import ModelRates
from tests.support.live_calls import service_account, with_tokens_from
from tests.support.live_repository import CONFIGURATION, SYSTEM, LiveRepository, Talk
from tests.support.model_servers import ModelServer, Received
from tests.support.provider_faults import Served

JUDGES_KEY = "planted-key-of-the-judges-provider"
SECRET = "planted/secret/of/aws/0123456789"
MODEL = "judge-of-another-house"
RATES = {MODEL: ModelRates(Decimal(4), Decimal(20), Decimal(4), Decimal(8))}
SYSTEM_RATES = {SYSTEM: ModelRates(Decimal(2), Decimal(10), Decimal(2), Decimal(4))}
NO_KEYS = {"RATIBA_ANTHROPIC_API_KEY": "", "RATIBA_OPENAI_API_KEY": ""}
PRICE = f"  {MODEL}: {{input_per_million: 4, output_per_million: 20}}\n"
BLOCKS = {
    "openai": "{api: openai, base_url: URL/v1, key: ELSEWHERE_API_KEY}",
    "anthropic": "{api: anthropic, base_url: URL, key: ELSEWHERE_API_KEY}",
    "azure": "{api: azure, base_url: URL, key: ELSEWHERE_API_KEY, deployment: judges, api_version: 2024-10-21}",
}
PATHS = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "azure": "/openai/deployments/judges/chat/completions?api-version=2024-10-21",
}


@pytest.fixture
async def judges() -> AsyncIterator[ModelServer]:
    """Another provider, with a key and a bill of its own."""
    async with ModelServer(Talk(), JUDGES_KEY, RATES) as server:
        yield server


def configure(live: LiveRepository, block: str, prices: str = PRICE) -> None:
    """Have the judge stand at the provider ``elsewhere``."""
    own = CONFIGURATION.replace("  model: claude-opus-5-5\n", f"  provider: elsewhere\n  model: {MODEL}\n")
    own = own.replace("cross_check: {model: gpt-5.6, share: 1.0}", "cross_check: null") + prices
    live.small.write(".github/ratiba.yml", f"providers:\n  elsewhere: {block}\n{own}")
    live.scenario("greeting", "Hello")
    live.small.commit()


@pytest.mark.parametrize("cloud", ["bedrock", "vertex"])
async def test_a_judge_of_a_cloud_is_asked_with_its_own_kind_of_credentials(
    live: LiveRepository, judges: ModelServer, cloud: str
) -> None:
    pytest.importorskip("boto3")
    account = with_tokens_from(judges.url, service_account())
    blocks = {
        "bedrock": f"{{api: bedrock, region: eu-west-1, base_url: {judges.url}}}",
        "vertex": f"{{api: vertex, region: europe-west1, project: shop, base_url: {judges.url}/v1, key: ACCOUNT_KEY}}",
    }
    paths = {
        "bedrock": f"/model/{MODEL}/invoke",
        "vertex": f"/v1/projects/shop/locations/europe-west1/publishers/anthropic/models/{MODEL}:rawPredict",
    }
    keys = {
        "bedrock": {"AWS_ACCESS_KEY_ID": JUDGES_KEY, "AWS_SECRET_ACCESS_KEY": SECRET},
        "vertex": {"ACCOUNT_KEY": base64.b64encode(account.encode()).decode()},
    }
    configure(live, blocks[cloud])
    ended = await live.gate("--mode", "blocking", **keys[cloud])
    assert ended.code == 0, ended.printed
    assert {unquote(received.path) for received in judges.received} == {paths[cloud]}
    assert Decimal(ended.outputs["spent_usd"]) == judges.bill.total + live.models.bill.total
    for path in [*live.small.report.iterdir(), *live.journals]:
        assert not any(text in path.read_text(errors="replace") for text in (JUDGES_KEY, SECRET, "PRIVATE KEY")), path
    assert JUDGES_KEY not in ended.printed


@pytest.mark.parametrize("api", BLOCKS)
async def test_a_judge_is_asked_at_the_provider_that_its_name_says(
    live: LiveRepository, judges: ModelServer, api: str
) -> None:
    configure(live, BLOCKS[api].replace("URL", judges.url))
    ended = await live.gate("--mode", "blocking", ELSEWHERE_API_KEY=JUDGES_KEY)
    assert ended.code == 0, ended.printed
    assert {received.path for received in judges.received} == {PATHS[api]}
    assert {received.path for received in live.models.received} == {"/v1/chat/completions"}
    spent = Decimal(json.loads((live.small.report / "results.json").read_text())["outputs"]["spent_usd"])
    assert spent == judges.bill.total + live.models.bill.total
    for path in [*live.small.report.iterdir(), *live.journals]:
        assert JUDGES_KEY not in path.read_text(errors="replace"), path
    assert JUDGES_KEY not in ended.printed


async def test_the_key_may_come_by_the_input(live: LiveRepository, judges: ModelServer) -> None:
    configure(live, BLOCKS["openai"].replace("URL", judges.url))
    ended = await live.gate("--mode", "blocking", RATIBA_PROVIDER_KEYS=f"ELSEWHERE_API_KEY={JUDGES_KEY}")
    assert ended.code == 0, ended.printed
    assert judges.received
    assert JUDGES_KEY not in ended.printed


async def test_a_provider_without_its_key_ends_the_run_before_anything_is_paid(
    live: LiveRepository, judges: ModelServer
) -> None:
    configure(live, BLOCKS["openai"].replace("URL", judges.url))
    ended = await live.gate("--mode", "blocking", MISTRAL_API_KEY=JUDGES_KEY)
    assert ended.code == 2, ended.printed
    assert "set ELSEWHERE_API_KEY, or give it by the input provider-keys" in ended.printed
    assert (judges.received, live.models.received) == ((), ())


async def test_a_server_of_ones_own_needs_no_key_and_is_declared_free(live: LiveRepository) -> None:
    async with ModelServer(Talk(), "") as own:
        configure(live, f"{{api: openai, base_url: {own.url}/v1}}", prices=f"  {MODEL}: {{free: true}}\n")
        ended = await live.gate("--mode", "blocking")
    assert ended.code == 0, ended.printed
    assert own.received
    assert all("authorization" not in received.headers for received in own.received)
    spent = Decimal(json.loads((live.small.report / "results.json").read_text())["outputs"]["spent_usd"])
    assert spent == live.models.bill.total


async def test_a_model_without_a_price_is_refused_before_anything_is_paid(
    live: LiveRepository, judges: ModelServer
) -> None:
    configure(live, BLOCKS["openai"].replace("URL", judges.url), prices="")
    ended = await live.gate("--mode", "blocking", ELSEWHERE_API_KEY=JUDGES_KEY)
    assert ended.code == 2, ended.printed
    assert f"No price is known for '{MODEL}'" in ended.printed
    assert (judges.received, live.models.received) == ((), ())


async def test_a_change_cannot_send_the_judges_calls_to_a_provider_of_its_own(
    live: LiveRepository, judges: ModelServer
) -> None:
    configure(live, BLOCKS["openai"].replace("URL", judges.url))
    base = live.small.commit()
    live.small.run(["git", "switch", "--quiet", "--create", "change"], live.small.folder, live.small.environment)
    async with ModelServer(Talk(), JUDGES_KEY, RATES) as thief:
        configure(live, BLOCKS["openai"].replace("URL", thief.url))
        head = live.small.commit()
        ended = await live.gate(**live.pull_request(base, head), ELSEWHERE_API_KEY=JUDGES_KEY)
    assert thief.received == ()
    assert judges.received, ended.printed


async def test_the_systems_own_calls_go_to_the_provider_of_the_gateway(
    live: LiveRepository,
) -> None:
    async with ModelServer(Talk(), JUDGES_KEY, SYSTEM_RATES) as house:
        block = f"{{api: openai, base_url: {house.url}/v1, key: ELSEWHERE_API_KEY, gateway: true}}"
        live.small.write(".github/ratiba.yml", f"providers:\n  house: {block}\n{CONFIGURATION}")
        live.scenario("greeting", "Hello")
        live.small.commit()
        live.small.environment["ELSEWHERE_API_KEY"] = JUDGES_KEY
        await live.record()
        ended = await live.gate("--mode", "blocking", RATIBA_LLM="replay", **NO_KEYS)
        assert ended.code == 0, ended.printed
        assert len(house.received) == 1
    assert {received.path for received in live.models.received} == {"/v1/messages"}
    reads, line, *_ = (live.small.folder / "scenarios/recordings/greeting.jsonl").read_text().splitlines()
    assert (json.loads(reads)["kind"], json.loads(line)["provider"]) == ("reads", "house")


GEMINI_SYSTEM = """
from google import genai


class Adapter:
    def migrate(self, database_url):
        pass

    def open(self, context):
        return Conversation()


class Conversation:
    def __init__(self):
        self.client = genai.Client()
        self.chat = self.client.chats.create(model="gemini-2.5-flash", config={"max_output_tokens": 200})

    def send(self, message):
        return {"text": self.chat.send_message(message).text, "state": "SAID"}
"""
GEMINI = """
providers:
  gemini: {{api: gemini, base_url: {url}, key: GEMINI_API_KEY}}
system:
  adapter: adapter:Adapter
judge: {{provider: gemini, model: gemini-2.5-pro, cross_check: null}}
prices:
  gemini-2.5-flash: {{input_per_million: 2, output_per_million: 10}}
  gemini-2.5-pro: {{input_per_million: 4, output_per_million: 20}}
"""
GEMINI_RATES = {
    "gemini-2.5-flash": ModelRates(Decimal(2), Decimal(10), Decimal(2), Decimal(4)),
    "gemini-2.5-pro": ModelRates(Decimal(4), Decimal(20), Decimal(4), Decimal(8)),
}


def gemini_answer(received: Received) -> Served:
    if received.body["model"] == "gemini-2.5-pro":
        return Step("gemini", data={"reason": "Clear and friendly.", "score": 9})
    return Step("gemini", text="Good morning! How may I help you?")


async def test_a_system_and_a_judge_on_gemini_run_live_are_recorded_and_replayed_with_that_key_alone(
    live: LiveRepository,
) -> None:
    async with ModelServer(gemini_answer, JUDGES_KEY, GEMINI_RATES) as google:
        live.small.write("adapter.py", GEMINI_SYSTEM)
        live.small.write(".github/ratiba.yml", GEMINI.format(url=google.url))
        live.scenario("greeting", "Hello", "Thank you")
        live.small.commit()
        live.small.environment.update(NO_KEYS, GEMINI_API_KEY=JUDGES_KEY)
        ended = await live.gate("--mode", "blocking")
        assert ended.code == 0, ended.printed
        assert Fraction(ended.outputs["spent_usd"]) == google.bill.total > 0
        assert Counter(received.path for received in google.received) == {
            "/v1beta/models/gemini-2.5-flash:generateContent": 2,
            "/v1beta/models/gemini-2.5-pro:generateContent": 1,
        }
        await live.record()
        asked = len(google.received)
        replayed = await live.gate("--mode", "blocking", RATIBA_LLM="replay", GEMINI_API_KEY="")
        assert replayed.code == 0, replayed.printed
        assert len(google.received) == asked
    assert live.models.received == ()
    assert JUDGES_KEY not in ended.printed + ended.comment + replayed.printed
