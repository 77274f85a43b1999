"""Who grades a run: recorded judges, live ones, a vote near the threshold, a second judge for a sample."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ratiba_action.checks.conversation_events import place_of
from ratiba_action.llm.recordings.lines import JudgeRecording
from ratiba_action.metrics.judging.voting_rule import VotingRule
from ratiba_action.metrics.registry import is_judged, load_judged_metric, load_metric, question_stride
from ratiba_action.model.conversation import Party, Usage
from ratiba_action.model.event import Event, JudgeCalled
from ratiba_action.model.measurement import Case
from ratiba_action.model.scenario import Assertion
from ratiba_action.model.values import Usd
from ratiba_action.money.budget import Ledger
from ratiba_action.ports import Judge, JudgedMetric, Metric, PaidCalls, Prices
from ratiba_action.run.inputs import ArmInputs, RunLog
from ratiba_action.run.paid_run import PaidRun

_CROSS_CHECK_INPUT, _CROSS_CHECK_OUTPUT = 8_000, 2_048


class Grading:
    """Makes a run's metrics, each with the judges that it needs.

    Args:
        paid: the way to live models; None when every score is replayed.
        second: model and provider of the cross-check; None for none.
        fallback: a model is called where no recording fits; without it, always.
        cache: folder of the judge cache; None to judge everything anew.
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
        ledger: Ledger,
        log: RunLog,
    ) -> None:
        from ratiba_action.metrics.judging.cross_check import CrossCheck  # noqa: PLC0415 - the same
        from ratiba_action.metrics.judging.grade_collector import GradeCollector  # noqa: PLC0415 - the same
        from ratiba_action.metrics.judging.judge_chain import ArmJudge  # noqa: PLC0415 - not needed to decide

        described = arm.configuration.judge
        self._described, self._prices, self._paid = described, prices, paid
        self._fallback, self._cache, self._ledger, self._log = fallback, cache, ledger, log
        self._rule = VotingRule(described.band, described.votes)
        self._turn = asyncio.Lock()
        self.collector: GradeCollector = GradeCollector()
        self._judge = ArmJudge(arm.arm.name, self._primary(arm))
        self._second = self._cross_checker(second)
        share = described.cross_check.share if described.cross_check is not None and second is not None else 0.0
        self.cross_check: CrossCheck = CrossCheck(share)

    @property
    def second_model(self) -> str:
        """Model of the second judge; empty where there is none."""
        return self._second.model if self._second is not None else ""

    def add_arm(self, arm: ArmInputs) -> None:
        """Let the conversations of another arm be graded, from its own recordings where they fit."""
        self._judge.add(arm.arm.name, self._primary(arm))

    def metric(self, assertion: Assertion) -> Metric:
        """A fresh metric: paced, cross-checked, cached, voted on, as far as it is judged and the run pays."""
        from ratiba_action.metrics.judging.cached_metric import (  # noqa: PLC0415 - loaded where it is used
            PacedMetric,
            VotingMetric,
        )
        from ratiba_action.metrics.judging.cross_check import CrossCheckedMetric  # noqa: PLC0415 - not needed to decide
        from ratiba_action.metrics.judging.judge_chain import (  # noqa: PLC0415 - loaded where it is used
            RepeatedJudge,
            WatchedJudge,
        )

        name, parameters = assertion.metric, assertion.parameters
        if not is_judged(name):
            return load_metric(name, None, parameters)
        questions, judge = question_stride(name), WatchedJudge(self._judge)

        def measurement(number: int) -> JudgedMetric:
            return load_judged_metric(name, RepeatedJudge(judge, number, questions), parameters)

        metric: JudgedMetric = VotingMetric(measurement, self._rule, replayed=self._paid is None)
        if self._paid is None:
            return metric
        metric = self._cached(metric, self._judge.model, self._rule, lambda: judge.fresh)
        second = self._second
        if second is not None:
            checker = partial(self._second_opinion, assertion, second)
            metric = CrossCheckedMetric(metric, checker, self.cross_check, lambda: judge.fresh)
        return PacedMetric(metric, self._turn)

    def _second_opinion(self, assertion: Assertion, second: Judge) -> Metric:
        """A metric of the second judge, asked once and kept as its own."""
        metric = load_judged_metric(assertion.metric, second, assertion.parameters)
        return self._cached(metric, second.model, VotingRule(votes=1), lambda: True)

    def _cached(self, metric: JudgedMetric, model: str, rule: VotingRule, fresh: Callable[[], bool]) -> JudgedMetric:
        from ratiba_action.metrics.judging.cache import JudgeCache  # noqa: PLC0415 - not needed to decide
        from ratiba_action.metrics.judging.cached_metric import CachedMetric  # noqa: PLC0415 - the same

        if self._cache is None:
            return metric
        began = self._paid.began if self._paid is not None else None
        cache = JudgeCache(self._cache, self._log.note, began)
        on_hit = partial(self._note_hit, metric.name, metric.version, model)
        return CachedMetric(metric, cache, model, rule, on_hit=on_hit, fresh=fresh)

    def _note_hit(self, metric: str, version: str, model: str, case: Case) -> None:
        self._ledger.count_cache_hit()
        place = place_of(case.arm, case.scenario.id, case.trial)
        self._log.events.emit(Event(JudgeCalled(metric, version, model, cost_usd=Usd(0), cached=True), place))

    def _primary(self, arm: ArmInputs) -> Judge:
        from ratiba_action.metrics.judging.judge_chain import FallbackJudge  # noqa: PLC0415 - not needed to decide

        described = self._described
        recorded: Judge = _replay_judge(arm, self._ledger, self._prices)
        if self._paid is None:
            return self._logged(recorded, described.provider, Party.JUDGE)
        live: Judge = self._live(self._paid.calls, described.provider, described.model, Party.JUDGE)
        judge = FallbackJudge(recorded, live, arm.free) if self._fallback else live
        return self._logged(judge, described.provider, Party.JUDGE)

    def _logged(self, judge: Judge, provider: str, party: Party) -> Judge:
        from ratiba_action.observability.logged_ports import LoggedJudge  # noqa: PLC0415 - not needed to decide

        return LoggedJudge(judge, provider, party, self._prices, self._log.events)

    def _cross_checker(self, second: tuple[str, str] | None) -> Judge | None:
        if self._paid is None or second is None:
            return None
        model, provider = second
        upper = self._prices.upper_bound(model, provider, _CROSS_CHECK_INPUT, _CROSS_CHECK_OUTPUT)
        checker = self._live(self._paid.spare_calls(upper), provider, model, Party.CROSS_CHECK)
        return self._logged(checker, provider, Party.CROSS_CHECK)

    def _live(self, calls: PaidCalls, provider: str, model: str, party: Party) -> Judge:
        from ratiba_action.metrics.judging.answer import JudgeModel  # noqa: PLC0415 - not needed to decide
        from ratiba_action.metrics.judging.live_judge import LiveJudge  # noqa: PLC0415 - the same

        collect = self.collector.collect if party is Party.JUDGE else None
        return LiveJudge(calls, JudgeModel(provider, model), party, collect)


def _replay_judge(arm: ArmInputs, ledger: Ledger, prices: Prices) -> Judge:
    from ratiba_action.metrics.judging.judge_chain import BookedReplayJudge  # noqa: PLC0415 - on demand
    from ratiba_action.metrics.judging.replay_judge import ReplayJudge  # noqa: PLC0415 - on demand

    described = arm.configuration.judge
    lines = [line for lines in arm.recordings.values() for line in lines if isinstance(line, JudgeRecording)]
    recorded = {line.key: line.body for line in lines}
    usages = {line.key: Usage(line.usage["input_tokens"], line.usage["output_tokens"]) for line in lines}
    replay = ReplayJudge(described.model, recorded)
    return BookedReplayJudge(replay, described.provider, usages, ledger, prices)
