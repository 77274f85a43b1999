"""A critical scenario whose recordings no longer fit, in a run that cannot call its model."""

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
