"""``strategy: statistical`` through the gate: a scenario that passes and fails by the history of its own scores."""

import asyncio
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from ratiba_action.history.data_branch import DataBranch, append_run
from ratiba_action.history.keeping import keep_run
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Subject
from ratiba_action.model.measurement import Scored
from ratiba_action.model.verdict import Report
from tests.support.live_repository import CONFIGURATION, LiveRepository, report_of
from tests.support.small_repository import Ended

FILE = "scenarios/asks.yaml"
STRATEGY = "strategy: {type: statistical, baseline_window: 20, confidence_level: 0.95}\n"


def runs_before(like: Report, values: list[float]) -> list[Report]:
    """Runs of main before a run, each with one value of its scenario."""
    (result,) = like.results
    assert isinstance(result, Scored)
    earlier = []
    for number, value in enumerate(values, 1):
        scores = tuple(replace(score, value=value, votes=(), voters=()) for score in result.scores)
        run = replace(
            like,
            subject=Subject(like.subject.repository, head=f"{number:040x}", run_id=number, event="push", branch="main"),
            commit=f"{number:040x}",
            started_at=like.started_at - timedelta(days=number),
            results=(replace(result, scores=scores),),
            llm=AnswerOrigin.LIVE,
        )
        earlier.append(run)
    return earlier


def keep_values(database: str, like: Report, values: list[float]) -> None:
    """The same, in the ledger's database."""
    for report in runs_before(like, values):
        assert keep_run(report, database)


async def test_a_scenario_passes_and_fails_by_its_own_history_and_by_its_threshold_without_one(
    live: LiveRepository, ledger_url: str
) -> None:
    configuration = CONFIGURATION.replace("share: 1.0", "share: 0.0") + "attribution: {enabled: false}\n"
    live.small.write(".github/ratiba.yml", configuration)
    live.talk.scores = (7,)
    live.scenario("asks", "Hello")
    scenario = (live.small.folder / FILE).read_text()
    base = live.git.commit({FILE: scenario + STRATEGY})
    live.git.git("checkout", "-q", "-b", "change")
    head = live.git.commit({"prompts/asks.md": "Be very friendly.", FILE: scenario})

    async def gate(run: str) -> Ended:
        own = live.pull_request(base, head) | {"GITHUB_RUN_ID": run, "RATIBA_LEDGER_URL": ledger_url}
        return await live.gate("--mode", "blocking", "--no-deepeval-cache", **own)

    short = await gate("1001")
    assert short.code == 1, "0.70 is below the threshold of 0.80"
    assert "own history is too short: asks EnglishFluencyMetric (0 of 20 values)" in short.comment.replace("\\", "")
    assert "what its own history decides is as at the base" in short.comment, "the change takes the strategy away"

    await asyncio.to_thread(keep_values, ledger_url, report_of(short), [0.7 + day / 100 for day in range(20)])
    passed = await gate("1002")
    assert passed.code == 0, passed.printed
    text = "(threshold 0.80, own history 0.70: 20 values of 'main', confidence 95.0%)"
    assert (
        "Below the threshold, and passed by the scenario's own history: asks EnglishFluencyMetric 0.70"
        in passed.comment
    )
    assert text in passed.comment.replace("\\", "")

    live.talk.scores = (6,)
    failed = await gate("1003")
    assert failed.code == 1, failed.printed
    assert "Below the scenario's own history, and failed: asks EnglishFluencyMetric 0.60" in failed.comment
    (result,) = report_of(failed).results
    assert isinstance(result, Scored)
    assert [score.threshold for score in result.scores] == [0.7], "frozen in the report"


async def test_without_a_database_the_branch_that_the_base_names_is_the_history_and_a_change_names_no_other(
    live: LiveRepository, tmp_path: Path
) -> None:
    server, environment = tmp_path / "server", {"PATH": os.environ["PATH"]}
    configuration = CONFIGURATION.replace("share: 1.0", "share: 0.0") + "attribution: {enabled: false}\n"
    live.talk.scores = (7,)
    live.scenario("asks", "Hello")
    scenario = (live.small.folder / FILE).read_text() + STRATEGY
    named = {".github/ratiba.yml": f"{configuration}history: {{branch: ratiba-history}}\n"}
    base = live.git.commit({FILE: scenario, **named})
    live.git.git("checkout", "-q", "-b", "change")
    of_change = {".github/ratiba.yml": f"{configuration}history: {{branch: evil}}\n"}
    head = live.git.commit({"prompts/asks.md": "Be very friendly.", **of_change})

    async def gate(run: str) -> Ended:
        own = live.pull_request(base, head) | {"GITHUB_RUN_ID": run, "GITHUB_SERVER_URL": f"file://{server}"}
        return await live.gate("--mode", "blocking", "--no-deepeval-cache", **own)

    lost = await gate("1001")
    assert lost.code == 1, "0.70 is below the threshold of 0.80"
    assert "because the history could not be read" in lost.comment
    like = report_of(lost)
    remote = server / like.subject.repository
    remote.parent.mkdir(parents=True)
    live.git.git("init", "--quiet", "--bare", str(remote))
    for branch, values in (("ratiba-history", [0.7 + day / 100 for day in range(20)]), ("evil", [0.2] * 20)):
        for report in runs_before(like, values):
            await asyncio.to_thread(append_run, report, DataBranch(f"file://{remote}", branch), environment)
    live.talk.scores = (6,)
    failed = await gate("1002")
    assert failed.code == 1, failed.printed
    assert "Below the scenario's own history, and failed: asks EnglishFluencyMetric 0.60" in failed.comment
    live.talk.scores = (7,)
    passed = await gate("1003")
    assert passed.code == 0, passed.printed
    assert "Earlier runs were read from the branch 'ratiba-history' (20 runs)" in passed.comment
    (trend,) = report_of(passed).trends
    assert (trend.metric, round(trend.points[-1].mean, 2)) == ("EnglishFluencyMetric", 0.7)
