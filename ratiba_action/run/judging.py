"""Judges of a run: recorded, live, votes near the threshold, a second judge for a sample."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.checks.conversation_events import place_of
from ratiba_action.checks.custom_code import is_address
from ratiba_action.llm.chain import keep_nothing
from ratiba_action.llm.recordings.lines import JudgeRecording
from ratiba_action.metrics.judging.voting_rule import VotingRule
from ratiba_action.metrics.registry import is_judged, load_judged_metric, load_metric, question_stride
from ratiba_action.model.conversation import Party, Usage
from ratiba_action.model.event import Event, JudgeCalled
from ratiba_action.model.measurement import Answer, Case, Question, Score
from ratiba_action.model.plan import Trial
from ratiba_action.model.scenario import Assertion
from ratiba_action.model.values import JsonObject, Usd
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import Judge, JudgedMetric, Metric, PaidCalls, Prices
from ratiba_action.run.inputs import ArmInputs, RunLog
from ratiba_action.run.paid_run import PaidRun

if TYPE_CHECKING:
    from ratiba_action.metrics.judging.judging_processes import JudgingProcesses
    from ratiba_action.metrics.judging.run_metric import JudgeChain
    from ratiba_action.metrics.judging.structured_calls import LiveJudge

OF_TESTS = "pytest:1"
"""The metric that recorded answers to a test's questions stand under."""
MAX_CALLS_OF_A_TEST = 1_000
_CROSS_CHECK_INPUT, _CROSS_CHECK_OUTPUT = 8_000, 2_048


class Judging:
    """Makes a run's metrics, each with the judges that it needs.

    Args:
        paid: the way to live models; None when every score is replayed.
        second: model and provider of the cross-check; None for none.
        fallback: a model is called where no recording fits; without it, always.
        cache: folder of the judge cache; None to judge everything anew.
        bands: of metrics whose noise under this judge has been measured, by name and version.
        processes: where DeepEval's metrics are measured; None for this process.
    """

    def __init__(
        self,
        arm: ArmInputs,
        prices: Prices,
        paid: PaidRun | None,
        *,
        second: tuple[str, str] | None,
        fallback: bool,
        cache: Path | None,
        bands: Mapping[tuple[str, str], float] | None = None,
        ledger: Ledger,
        log: RunLog,
        processes: "JudgingProcesses | None" = None,
    ) -> None:
        from ratiba_action.metrics.judging.cache import JudgeCache
        from ratiba_action.metrics.judging.cross_check import CrossCheck
        from ratiba_action.metrics.judging.replay_judge import ScoreCollector

        described = arm.configuration.judge
        self._prices, self._paid, self._second = prices, paid, second if paid is not None else None
        self._fallback, self._ledger, self._log = fallback, ledger, log
        began = paid.began if paid is not None else None
        self._cache = JudgeCache(cache, log.note, began) if cache is not None else None
        self._processes = processes
        band, measured = described.band, bands or {}
        default = VotingRule(votes=described.votes, measured=measured, samples=described.samples)
        self._rule = default if band is None else VotingRule(band, described.votes, samples=described.samples)
        self._model = described.model
        self._turn = asyncio.Lock()
        self._wire_of = arm.configuration.wire_of
        self.collector: ScoreCollector = ScoreCollector(described.model)
        self._answers = self._chain((described.model, described.provider), Party.JUDGE, self.collector.keep)
        self._live = self._live_judge(paid.calls, (described.model, described.provider), Party.JUDGE) if paid else None
        if paid is not None and second is not None:
            upper = prices.upper_bound(*second, _CROSS_CHECK_INPUT, _CROSS_CHECK_OUTPUT)
            self._second_answers = self._chain(second, Party.CROSS_CHECK)
            self._second_live = self._live_judge(paid.surplus_calls(upper), second, Party.CROSS_CHECK)
            # A vote decides, so it is paid like every score, and not out of what the scenarios leave.
            self._second_votes = self._chain(second, Party.JUDGE)
            self._second_voter = self._live_judge(paid.calls, second, Party.JUDGE)
        self.add_arm(arm)
        share = described.cross_check.share if described.cross_check is not None and second is not None else 0.0
        self.cross_check: CrossCheck = CrossCheck(share)

    @property
    def second_model(self) -> str:
        """Model of the second judge; empty where there is none."""
        return self._second[0] if self._second is not None else ""

    def add_arm(self, arm: ArmInputs) -> None:
        """Let the scenarios of another arm be judged, from its own recordings where they fit."""
        recorded = _replay_judge(arm, self._ledger, self._prices).answer
        if self._live is None:
            self._answers.add(arm.arm.name, recorded=recorded)
            return
        replayed = recorded if self._fallback else None
        self._answers.add(arm.arm.name, recorded=replayed, live=self._live.answer, never_live=arm.free)
        if self._second is not None:
            self._second_answers.add(arm.arm.name, live=self._second_live.answer)
            self._second_votes.add(arm.arm.name, recorded=replayed, live=self._second_voter.answer, never_live=arm.free)

    def metric(self, assertion: Assertion) -> Metric:
        """A fresh metric: paced, cross-checked, cached, voted on, as far as it is judged and the run pays."""
        name, parameters = assertion.metric, assertion.parameters
        if not is_judged(name, parameters):
            return load_metric(name, None, parameters)
        if is_address(name):
            from ratiba_action.metrics.judging.repository_metric import RepositoryMetric

            return RepositoryMetric(assertion, partial(self._judged, question_stride(name)))
        stride = question_stride(name)

        def load(judge: Judge) -> JudgedMetric:
            metric = load_judged_metric(name, judge, parameters)
            return metric if self._processes is None else self._processes.metric(metric, parameters, judge, stride)

        return self._judged(stride, load)

    def of_test(self, trial: Trial) -> Callable[[Any], Awaitable[JsonObject]]:
        """What answers the judge calls of a trial's test, each known by its own wording."""
        from ratiba_action.metrics.judging.repository_metric import JudgeChannel

        first = Question(trial.scenario.id, OF_TESTS, "", 0, "", trial.number, trial.arm.name)
        return JudgeChannel(self._answers, first, MAX_CALLS_OF_A_TEST, by_wording=True).answer

    def _judged(self, questions: int, load: Callable[[Judge], JudgedMetric]) -> JudgedMetric:
        """A judged metric as the run measures it.

        Args:
            questions: by how much the ordinals of a repeated measurement lie behind those of the one before it.
        """
        from ratiba_action.metrics.judging.run_metric import RunMetric

        last = self._rule.votes - 1 if self._rule.samples == 1 else 0

        def voter(number: int) -> "JudgeChain":
            return self._second_votes if self._second is not None and number == last > 0 else self._answers

        def measurement(number: int) -> JudgedMetric:
            return load(voter(number))

        def voter_of(number: int, metric: str, case: Case) -> str:
            return voter(number).model if voter(number).is_fresh(metric, case) else ""

        def offer(score: Score, case: Case, shown: str) -> None:
            self.cross_check.offer(score, case, shown, partial(self._second_opinion, load))

        if self._paid is None:
            answered = self._answers.answered_by
            return RunMetric(measurement, self._rule, questions=questions, replayed=True, answered=answered)
        return RunMetric(
            measurement,
            self._rule,
            questions=questions,
            cache=self._cache,
            judge_model=self._model,
            voter=voter_of,
            fresh=self._answers.is_fresh,
            answered=self._answers.answered_by,
            on_hit=partial(self._note_hit, self._model),
            offer=offer if self._second is not None else None,
            turn=self._turn,
        )

    def _second_opinion(self, load: Callable[[Judge], JudgedMetric]) -> Metric:
        """A metric of the second judge, asked once and kept as its own."""
        from ratiba_action.metrics.judging.run_metric import RunMetric

        metric = load(self._second_answers)
        on_hit = partial(self._note_hit, self.second_model)
        return RunMetric(
            lambda _: metric,
            cache=self._cache,
            judge_model=self.second_model,
            answered=self._second_answers.answered_by,
            on_hit=on_hit,
        )

    def _note_hit(self, model: str, score: Score, case: Case) -> None:
        self._ledger.count_cache_hit()
        place = place_of(case.arm, case.scenario.id, case.trial)
        called = JudgeCalled(score.metric, score.version, model, cost_usd=Usd(0), cached=True)
        self._log.events.emit(Event(called, place))

    def _live_judge(self, calls: PaidCalls, judge: tuple[str, str], party: Party) -> "LiveJudge":
        from ratiba_action.metrics.judging.answer import JudgeModel
        from ratiba_action.metrics.judging.structured_calls import LiveJudge

        model, provider = judge
        return LiveJudge(calls, JudgeModel(provider, model, wire=self._wire_of(provider)), party)

    def _chain(
        self,
        judge: tuple[str, str],
        party: Party,
        keep: Callable[[Question, Answer], None] = keep_nothing,
    ) -> "JudgeChain":
        from ratiba_action.metrics.judging.run_metric import JudgeChain
        from ratiba_action.observability.logged_ports import judge_logger

        log = judge_logger(*judge, party, prices=self._prices, events=self._log.events)
        return JudgeChain(judge[0], log, keep)


def _replay_judge(arm: ArmInputs, ledger: Ledger, prices: Prices) -> Judge:
    from ratiba_action.metrics.judging.replay_judge import BookedReplayJudge, ReplayJudge

    described = arm.configuration.judge
    lines = [line for lines in arm.recordings.values() for line in lines if isinstance(line, JudgeRecording)]
    recorded = {line.key: line.body for line in lines}
    usages = {line.key: Usage(line.usage["input_tokens"], line.usage["output_tokens"]) for line in lines}
    answered_by = {line.key: line.answered_by for line in lines}
    replay = ReplayJudge(described.model, recorded, answered_by)
    return BookedReplayJudge(replay, described.provider, usages, ledger, prices)
