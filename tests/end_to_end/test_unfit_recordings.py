"""A critical scenario whose recordings no longer fit, in a run that cannot call its model."""

import pytest

from tests.support.live_repository import ADAPTER, LiveRepository
from tests.support.small_repository import Ended

CRITICAL = "\ncritical: true\n"


async def prepared(live: LiveRepository, *, critical: bool) -> None:
    """Two recorded scenarios without tag and `touches`, one of them about the prompt that stands in the code."""
    live.small.write("prompts/other.md", "Be brief.")
    for name, mark in (("constant", CRITICAL if critical else ""), ("other", "")):
        live.small.scenario(name, "Hello")
        path = live.small.folder / f"scenarios/{name}.yaml"
        path.write_text(path.read_text() + mark)
    live.small.commit()
    await live.record()
    live.forget_reads()
    live.small.commit()
    live.small.write(
        "adapter.py",
        ADAPTER.replace('"content": message', '"content": message.upper() if "friendly" in self.prompt else message'),
    )


def headline(ended: Ended) -> str:
    return next(line[2:] for line in ended.comment.splitlines() if line.startswith("> ## "))


async def test_a_run_that_leaves_a_critical_scenario_out_is_incomplete_and_its_headline_says_why(
    live: LiveRepository,
) -> None:
    await prepared(live, critical=True)
    ended = await live.gate("--llm", "replay")
    assert (ended.code, ended.outputs["mode"], ended.outputs["conclusion"]) == (0, "advisory", "incomplete"), (
        ended.printed
    )
    assert "critical scenario constant could not be measured" in headline(ended)
    assert "ratiba record --scenario constant --accept" in ended.comment


async def test_the_line_of_code_is_named_and_to_record_it_again_is_not_the_first_advice(live: LiveRepository) -> None:
    await prepared(live, critical=True)
    before = len(live.models.received)
    ended = await live.gate("--llm", "replay")
    (cause,) = (line for line in ended.comment.splitlines() if line.startswith("**Which line did it:**"))
    assert "`adapter.py` line 19 (" in cause
    assert "leaves constant without a recorded answer" in cause
    assert "('Hello' → 'HELLO')" in cause
    (action,) = (line for line in ended.comment.splitlines() if line.startswith("**What to do:**"))
    assert action.startswith("**What to do:** Fix or revert adapter.py line 19. Only if this change of the request is ")
    assert len(live.models.received) == before


KINDS = {
    "code": ("adapter.py", '"content": message', '"content": message.upper()', "('Hello' → 'HELLO')"),
    "tool schema": (
        "adapter.py",
        '"max_completion_tokens": 400',
        '"max_completion_tokens": 400, "tools": [{"type": "function", "function": {"name": "book"}}]',
        "tools was added (",
    ),
    "clock": (
        "adapter.py",
        '"content": message',
        '"content": message + str(__import__("time").time())',
        "), which is new in each run.",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_careless_edit_of_code_is_named_without_calling_a_model(live: LiveRepository, kind: str) -> None:
    path, old, new, shown = KINDS[kind]
    await prepared(live, critical=False)
    live.small.write(path, f"{ADAPTER.replace(old, new)}\n\n# A harmless note.\n")
    before = len(live.models.received)
    ended = await live.gate("--llm", "replay", "--mode", "blocking")
    assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed
    assert "leaves constant, other without a recorded answer; the other 1 changed part does not." in ended.comment
    assert shown in ended.comment
    (action,) = (line for line in ended.comment.splitlines() if line.startswith("**What to do:**"))
    assert action.startswith("**What to do:** Fix or revert adapter.py line ")
    recorded = (
        "no recording would ever fit" if kind == "clock" else "Only if this change of the request is meant, run: "
    )
    assert recorded in action
    assert len(live.models.received) == before


@pytest.mark.parametrize("beside", ["", "\n\n# A harmless note.\n"], ids=["alone", "beside code"])
async def test_an_edited_prompt_is_to_be_recorded_again(live: LiveRepository, beside: str) -> None:
    await prepared(live, critical=False)
    live.small.write("adapter.py", ADAPTER + beside)
    live.small.write("prompts/other.md", "Be brief and kind.")
    ended = await live.gate("--llm", "replay", "--mode", "blocking")
    assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed
    assert ("Which line did it" in ended.comment) is bool(beside)
    assert "Fix or revert" not in ended.comment
    assert "ratiba record --scenario other --accept" in ended.comment
