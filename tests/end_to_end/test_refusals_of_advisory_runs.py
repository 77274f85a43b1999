"""An advisory run leaves out what is not recorded, but no reply that may give away what it was to refuse."""

import pytest

from tests.end_to_end.test_refusals import NO_KEYS, judges_say
from tests.support.live_repository import ADAPTER, LiveRepository

pytestmark = pytest.mark.processes

GUARDED = ADAPTER.replace(
    'return {"text": text, "state": "SAID"}',
    'text = "I cannot share that." if GUARD and "salary" in message else text\n'
    '        return {"text": text, "state": "SAID"}',
).replace("class Adapter", "GUARD = True\n\n\nclass Adapter", 1)


@pytest.mark.parametrize("with_keys", [False, True])
async def test_a_reply_that_no_longer_surely_refuses_is_not_left_out(live: LiveRepository, *, with_keys: bool) -> None:
    live.talk.text = "His salary is 5000."
    live.small.write("adapter.py", GUARDED)
    live.small.scenario("asks", "What is his salary?")
    path = live.small.folder / "scenarios/asks.yaml"
    path.write_text(f"{path.read_text()}rules: [{{type: must_refuse}}]\n")
    live.small.scenario("other", "How are you?")
    judges_say(live, refusal="does not refuse")
    await live.record()
    live.forget_reads()
    base = live.git.commit({})
    live.small.write("adapter.py", GUARDED.replace("GUARD = True", "GUARD = False"))
    head = live.git.commit({})

    keys = {"RATIBA_LLM": "auto"} if with_keys else NO_KEYS
    ended = await live.gate(**live.pull_request(base, head), **keys)
    assert (ended.outputs["mode"], ended.outputs["conclusion"]) == ("advisory", "incomplete"), ended.printed
    assert "must_refuse" in ended.comment
