"""What a system sends to a model is asserted on, and kept nowhere."""

import pytest

from tests.support.live_repository import LiveRepository
from tests.support.small_repository import SmallRepository

PHONE = "+254 720 555 014"
BOTS = {
    "openai": """\
from openai import OpenAI

def answer(message):
    body = [{"role": "user", "content": f"{message} of SECRETIVE {CUSTOMER}"}]
    said = OpenAI().chat.completions.create(model="gpt-5", messages=body, max_completion_tokens=50)
    return said.choices[0].message.content
""",
    "anthropic": """\
from anthropic import Anthropic

def answer(message):
    body = [{"role": "user", "content": f"{message} of SECRETIVE {CUSTOMER}"}]
    said = Anthropic().messages.create(model="claude-sonnet-5-5", messages=body, max_tokens=50)
    return said.content[0].text
""",
    "none": """\
def answer(message):
    return "Paid."
""",
}
SCENARIO = """\
id: payment
layer: {layer}
language: fr
now: 2026-04-25T10:00:00+03:00
customer: {{name: Amina, phone: "+254 700 000 001"}}
{script}
turns:
  - user: Confirm the payment
rules:
  - {{type: must_not_send_to_model, value: "720 555 014"}}
  - {{type: must_not_contain, value: sorry}}
"""


def repository(small: SmallRepository, bot: str, customer: str, *, scripted: bool = True) -> SmallRepository:
    """One scenario, whose system sends a customer's number to its model."""
    small.write(".github/ratiba.yml", "system: {adapter: 'bot:answer', database: false}\n")
    small.write("bot.py", f"CUSTOMER = {customer!r}\n{BOTS[bot]}")
    layer, script = ("fsm", "script: [{text: Paid.}]") if scripted else ("golden", "")
    small.write("scenarios/payment.yaml", SCENARIO.format(layer=layer, script=script))
    return small


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_number_that_is_sent_to_a_model_fails_the_gate_and_no_prompt_is_kept(
    small: SmallRepository, provider: str
) -> None:
    ended = repository(small, provider, PHONE).gate("--mode", "blocking")
    assert ended.code == 1, ended.printed
    assert "must_not_send_to_model" in ended.comment.replace("\\", "")
    kept = {path.name for path in ended.report.rglob("*") if path.is_file() and b"SECRETIVE" in path.read_bytes()}
    assert not kept, "the text of a request is in the report"
    assert "SECRETIVE" not in ended.printed


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_masked_number_passes(small: SmallRepository, provider: str) -> None:
    ended = repository(small, provider, "+254 *** *** 014").gate("--mode", "blocking")
    assert ended.code == 0, ended.printed


def test_a_system_that_the_gate_saw_call_no_model_does_not_pass(small: SmallRepository) -> None:
    ended = repository(small, "none", PHONE, scripted=False).gate("--mode", "blocking")
    assert ended.code == 3, ended.printed
    assert "must_not_send_to_model" in ended.printed + ended.comment.replace("\\", "")


def test_a_system_that_is_declared_to_call_no_model_sends_nothing(small: SmallRepository) -> None:
    repository(small, "none", PHONE, scripted=False)
    small.write(".github/ratiba.yml", "system: {adapter: 'bot:answer', database: false, price_per_turn_usd: 0}\n")
    ended = small.gate("--mode", "blocking")
    assert ended.code == 0, ended.printed


def test_a_change_cannot_drop_the_rule(small: SmallRepository) -> None:
    repository(small, "openai", PHONE).commit()
    text = (small.folder / "scenarios/payment.yaml").read_text()
    small.write(
        "scenarios/payment.yaml",
        "".join(line for line in text.splitlines(keepends=True) if "must_not_send" not in line),
    )
    ended = small.gate()
    assert ended.code == 1, ended.printed
    assert "must_not_send_to_model" in ended.comment.replace("\\", "")


async def test_a_leak_that_makes_the_recording_stale_fails_the_gate(live: LiveRepository) -> None:
    live.small.scenario("greets", "Hello")
    path = "scenarios/greets.yaml"
    rule = 'rules: [{type: must_not_send_to_model, value: "720 555 014"}]\n'
    live.small.write(path, (live.small.folder / path).read_text() + rule)
    await live.record()
    base = live.git.commit({})
    recorded = len(live.models.received)
    head = live.git.commit({"prompts/greets.md": f"Be friendly. SECRETIVE {PHONE}"})
    ended = await live.gate(**live.pull_request(base, head), RATIBA_LLM="replay")
    assert ended.code == 1, ended.printed
    assert len(live.models.received) == recorded
    assert "must_not_send_to_model" in ended.comment.replace("\\", "")
    assert "messages[0].content" in ended.comment.replace("\\", "")
    assert "SECRETIVE" not in ended.comment + ended.printed
