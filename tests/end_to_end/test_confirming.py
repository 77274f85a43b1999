"""An alarm and its confirmation through the gate itself, where no recording fits and models answer."""

import asyncio
import signal
from fractions import Fraction
from pathlib import Path

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.comparison import Comparison, Rules, Tier
from ratiba_action.model.conversation import Usage
from ratiba_action.model.measurement import Scored
from ratiba_action.model.verdict import Conclusion
from tests.support.eventually import eventually_async
from tests.support.judge_of_arms import BASE_SAYS, HEAD_SAYS, JudgeOfArms
from tests.support.live_repository import CONFIGURATION, LiveRepository, is_judged, report_of
from tests.support.model_servers import Received
from tests.support.provider_faults import Served
from tests.support.small_repository import Ended

NAMES = tuple(f"asks_{number}" for number in range(6))
RULES = "comparison: {min_scenarios: 6}\n"
"""Six conversations that all fell are the fewest that no chance explains."""


async def changed(live: LiveRepository, file: Path) -> JudgeOfArms:
    """A branch whose answers are worse than those of the base, and the base's results in a file."""
    judge = JudgeOfArms()
    live.talk.instead = judge
    live.small.environment["RATIBA_LLM"] = "auto"
    live.small.write(".github/ratiba.yml", CONFIGURATION.replace("share: 1.0", "share: 0.0") + RULES)
    adapter = live.small.folder / "adapter.py"
    text = '"text": text'
    adapter.write_text(adapter.read_text().replace(text, f'"text": text + " {BASE_SAYS}"'))
    for name in NAMES:
        live.scenario(name, f"Hello from {name}")
    ended = await live.gate("--baseline-out", str(file))
    assert ended.code == 0, ended.printed
    live.git.commit({})
    live.git.git("checkout", "-q", "-b", "change")
    live.git.commit({"adapter.py": adapter.read_text().replace(BASE_SAYS, HEAD_SAYS)})
    return judge


def comparison_of(ended: Ended) -> Comparison:
    found = report_of(ended).verdict.comparison
    assert found is not None, ended.printed
    return found


def measured(ended: Ended) -> list[tuple[str, int]]:
    """Every trial of the change that was measured."""
    results = report_of(ended).results
    return sorted((one.trial.scenario.id, one.trial.number) for one in results if isinstance(one, Scored))


async def test_an_alarm_is_confirmed_live_on_both_sides_or_incomplete_and_a_resumed_confirmation_pays_nothing_twice(
    live: LiveRepository, tmp_path: Path
) -> None:
    file = tmp_path / "earlier.json"
    judge = await changed(live, file)
    options = ("--baseline", str(file), "--no-deepeval-cache", "--concurrency", "1", "--mode", "blocking")

    poor = live.elsewhere(tmp_path / "poor")
    refused = await poor.gate(*options, "--budget-usd", "0.42")
    report = report_of(refused)
    assert (refused.code, report.verdict.conclusion) == (3, Conclusion.INCOMPLETE), refused.printed
    assert "It cannot be confirmed: " in report.verdict.reason
    assert "RATIBA_EVAL_BUDGET_USD" in report.verdict.reason
    assert comparison_of(refused).tier is Tier.UNCLEAR
    assert measured(refused) == [(name, 0) for name in NAMES], "no further trial is begun"
    assert report.spending.spent <= report.spending.cap

    before = len(live.models.received)
    other = live.elsewhere(tmp_path / "elsewhere")
    whole = await other.gate(*options)
    report, found = report_of(whole), comparison_of(whole)
    assert (whole.code, report.verdict.conclusion, report.llm) == (1, Conclusion.FAILED, "live"), whole.printed
    assert (found.tier, found.mean_fell) == (Tier.REGRESSION, True)
    assert measured(whole) == [(name, number) for name in NAMES for number in range(1 + Rules().confirming_trials)]
    assert report.spending.by_party["baseline"] > 0
    calls = len(live.models.received) - before

    before = len(live.models.received)
    judge.held = lambda received: BASE_SAYS in str(received.body)
    process = live.small.start(*options)

    async def is_held() -> bool:
        return judge.holding > 0

    await eventually_async(is_held)
    process.send_signal(signal.SIGTERM)
    done = await asyncio.to_thread(process.wait)
    cancelled = Ended(done.returncode, done.stdout + done.stderr, live.small.report)
    assert (cancelled.code, report_of(cancelled).verdict.conclusion) == (3, Conclusion.INCOMPLETE), done.stderr
    assert set(measured(cancelled)) >= {(name, 0) for name in NAMES}, "what was measured is kept"
    assert "cancelled" in cancelled.comment

    judge.held = lambda _: False
    resumed = await live.gate(*options, "--resume")
    assert (resumed.code, measured(resumed)) == (1, measured(whole)), resumed.printed
    assert comparison_of(resumed) == found, "what the cancelled run has left is counted once"
    assert len(live.models.received) - before == calls + judge.holding, "what was settled is not asked again"
    assert Fraction(resumed.outputs["spent_usd"]) >= Fraction(whole.outputs["spent_usd"])


async def test_an_unclear_pass_rate_without_a_base_is_measured_again_before_it_fails(live: LiveRepository) -> None:
    def judge(received: Received) -> Served | None:
        poor = "Hello from asks_0" in str(received.body)
        data = {"reason": "Plain.", "score": 2 if poor else 10}
        return Step("anthropic", data=data, usage=Usage(1_000, 100)) if is_judged(received) else None

    live.talk.instead = judge
    live.small.environment["RATIBA_LLM"] = "live"
    live.small.write(".github/ratiba.yml", CONFIGURATION.replace("share: 1.0", "share: 0.0"))
    for name in NAMES[:3]:
        live.scenario(name, f"Hello from {name}")
    ended = await live.gate("--mode", "blocking", "--baseline", "none", "--no-deepeval-cache")
    report = report_of(ended)
    assert (ended.code, report.verdict.conclusion) == (1, Conclusion.FAILED), ended.printed
    assert report.verdict.reason == "67% of 3 trials of each judged scenario pass, and 80% must: asks_0."
    assert measured(ended) == [(name, number) for name in NAMES[:3] for number in (0, 1, 2)]
