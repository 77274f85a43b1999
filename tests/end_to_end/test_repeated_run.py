"""A red run that is run again on the same commit: its data is added to, not replaced."""

from pathlib import Path
from statistics import fmean

import pytest

from ratiba_action.model.comparison import Tier
from ratiba_action.model.measurement import Scored
from ratiba_action.model.verdict import Conclusion, Report
from tests.support.judge_of_arms import JudgeOfArms
from tests.support.live_repository import LiveRepository, report_of
from tests.support.small_repository import Ended

MIN = 10


def scores(report: Report) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for one in report.results:
        if isinstance(one, Scored) and one.trial.arm.name == "head":
            found.setdefault(one.trial.scenario.id, []).append(fmean(score.value for score in one.scores))
    return found


async def test_a_red_run_that_is_run_again_adds_its_data(live: LiveRepository, tmp_path: Path) -> None:
    judge, file = JudgeOfArms(), tmp_path / "earlier.json"
    live.talk.instead = judge
    adapter = live.small.folder / "adapter.py"
    text = '"text": text'
    adapter.write_text(adapter.read_text().replace(text, '"text": text + " (base)"'))
    for number in range(MIN):
        live.scenario(f"asks_{number}", f"Hello {number}")
    assert (await live.gate("--baseline-out", str(file))).code == 0
    live.git.commit({})
    live.git.git("checkout", "-q", "-b", "change")
    live.git.commit({"adapter.py": adapter.read_text().replace("(base)", "(head)")})

    async def again() -> Ended:
        return await live.gate("--baseline", str(file), "--no-deepeval-cache", RATIBA_MODE="blocking")

    red = await again()
    first = report_of(red)
    assert red.code == 1, red.printed
    assert first.verdict.conclusion is Conclusion.FAILED
    assert first.verdict.comparison is not None
    assert first.verdict.comparison.tier is Tier.REGRESSION
    assert first.commit

    judge.of_the_change = 9
    second = report_of(await again())
    assert second.commit == first.commit
    compared = second.verdict.comparison
    assert compared is not None
    ours, before = scores(second), scores(first)
    assert ours["asks_0"][0] > before["asks_0"][0]
    for one in compared.scenarios:
        assert one.head == pytest.approx(fmean([*before[one.scenario_id], *ours[one.scenario_id]]))
