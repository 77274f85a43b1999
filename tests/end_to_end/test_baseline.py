"""A run that is to be compared with nothing; what is done with a named baseline is in ``tests/commands``."""

from tests.support.live_repository import LiveRepository, report_of


async def test_a_baseline_of_none_compares_with_nothing_and_holds_no_base(live: LiveRepository) -> None:
    for name in ("asks", "greets"):
        live.scenario(name, f"Hello from {name}")
    await live.record()
    base = live.git.commit({})
    head = live.git.commit({"prompts/unused.md": "Nobody reads this."})
    ended = await live.gate("--baseline", "none", **live.pull_request(base, head), RATIBA_LLM="replay")
    report = report_of(ended)
    assert ended.code == 0, ended.printed
    assert (report.verdict.comparison, report.baseline) == (None, None)
    assert {result.trial.arm.name for result in report.results} == {"head"}
    assert "asks.base" not in ended.printed
    assert "Compared with the base" not in ended.comment
