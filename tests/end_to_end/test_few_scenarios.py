"""A change of a suite with one scenario through the gate itself, whose judge gives other scores from call to call."""

from itertools import cycle
from pathlib import Path

import pytest

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.comparison import Tier
from ratiba_action.model.conversation import Usage
from ratiba_action.model.verdict import Conclusion
from tests.end_to_end.test_confirming import comparison_of, measured
from tests.support.judge_of_arms import BASE_SAYS, HEAD_SAYS
from tests.support.live_repository import CONFIGURATION, LiveRepository, is_judged, report_of
from tests.support.model_servers import Received
from tests.support.provider_faults import Served

NAME = "asks_once"


class NoisyJudge:
    """Scores from 0 to 10 that vary around those of each side.

    Args:
        head: of the change's answers, in turn.
    """

    def __init__(self, head: tuple[int, ...]) -> None:
        self._scores = {BASE_SAYS: cycle((9, 10)), HEAD_SAYS: cycle(head)}

    def __call__(self, received: Received) -> Served | None:
        """The score that a request asks for; None where it asks for none."""
        if not is_judged(received):
            return None
        side = HEAD_SAYS if HEAD_SAYS in str(received.body) else BASE_SAYS
        data = {"reason": "Plain.", "score": next(self._scores[side])}
        return Step("anthropic", data=data, usage=Usage(1_000, 100))


async def changed(live: LiveRepository, file: Path, head: tuple[int, ...]) -> tuple[str, ...]:
    """A branch whose answers get these scores, with the base's results in a file; the options of its gate."""
    live.talk.instead = NoisyJudge(head)
    live.small.environment["RATIBA_LLM"] = "auto"
    live.small.write(".github/ratiba.yml", CONFIGURATION.replace("share: 1.0", "share: 0.0") + "pass_rate: 0\n")
    adapter = live.small.folder / "adapter.py"
    adapter.write_text(adapter.read_text().replace('"text": text', f'"text": text + " {BASE_SAYS}"'))
    live.scenario(NAME, "Hello")
    ended = await live.gate("--baseline-out", str(file))
    assert ended.code == 0, ended.printed
    live.git.commit({})
    live.git.git("checkout", "-q", "-b", "change")
    live.git.commit({"adapter.py": adapter.read_text().replace(BASE_SAYS, HEAD_SAYS)})
    return "--baseline", str(file), "--no-deepeval-cache", "--concurrency", "1", "--mode", "blocking"


@pytest.mark.parametrize(
    ("head", "conclusion", "trials"),
    [((6, 7, 5, 6), Conclusion.FAILED, 9), ((9, 10, 10, 9), Conclusion.PASSED, 3)],
    ids=["30 points lower", "as good"],
)
async def test_one_scenario_is_run_on_both_sides_until_pairs_of_trials_show_a_drop_or_speak_against_it(
    live: LiveRepository, tmp_path: Path, head: tuple[int, ...], conclusion: Conclusion, trials: int
) -> None:
    options = await changed(live, tmp_path / "earlier.json", head)
    ended = await live.gate(*options)
    report, found = report_of(ended), comparison_of(ended)
    assert report.verdict.conclusion is conclusion, ended.printed
    assert measured(ended) == [(NAME, number) for number in range(1 + trials)]
    assert found.mean_fell is (conclusion is Conclusion.FAILED)
    assert found.further_trials == 30
    assert report.spending.spent <= report.spending.cap
    assert "With 1 scenario this run can see drops of " in ended.comment
    assert "30 trials cost about USD " in ended.comment


async def test_without_money_for_the_further_trials_a_mild_drop_is_inconclusive_and_a_large_one_incomplete(
    live: LiveRepository, tmp_path: Path
) -> None:
    options = await changed(live, tmp_path / "earlier.json", (9, 5))
    for conclusion, code in ((Conclusion.INCONCLUSIVE, 0), (Conclusion.INCOMPLETE, 3)):
        ended = await live.elsewhere(tmp_path / conclusion).gate(*options, "--budget-usd", "0.20")
        report = report_of(ended)
        assert (ended.code, report.verdict.conclusion) == (code, conclusion), ended.printed
        assert "RATIBA_EVAL_BUDGET_USD" in report.verdict.reason
        assert measured(ended) == [(NAME, 0)]
        assert report.spending.spent <= report.spending.cap
        assert comparison_of(ended).tier is Tier.UNCLEAR
