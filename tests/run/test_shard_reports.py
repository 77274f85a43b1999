"""Shards merged: the same as one run, for any order of reports; and what is missing or wrong is never passed over."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import BudgetError
from ratiba_action.history.results import measured_run
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.case_file import CaseFile, CaseThreshold
from ratiba_action.model.change import Mode
from ratiba_action.model.conversation import Document, Exchange, MergeAttempt, ModelCall, Party, Reply, Usage
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult, Scored
from ratiba_action.model.own_history import HistoryBound, Statistical
from ratiba_action.model.plan import BASE, Arm, Plan, Trial
from ratiba_action.model.scenario import Assertion, Expectation, SimulatedUser, Strategy, Turn
from ratiba_action.model.shard import Shard
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Report, ShardReport, Verdict
from ratiba_action.money.budget import Ledger
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.results_json import load_report, render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.run.shard_folders import FoundShard, ShardFolders, report_folders
from ratiba_action.run.shard_reports import Merged, measured_anew, merge_shards, notes_of_merges, paid_by_merges
from ratiba_action.run.shards import shares, with_readable_answers
from ratiba_action.verdict.case_file_scores import score_case_files
from ratiba_action.verdict.decision import next_step
from ratiba_action.verdict.tally import tally
from tests.support.sample_report import sample_check, sample_report, sample_score, sample_scored

IDENTITY = {"commit": "a1b2c3d", "version": "1.0", "ledger": "none", "budget": "20", "judge": "claude-opus-5-5 1f"}
ASSERTION = Assertion("SwahiliFluencyMetric", 0.8)


def result(name: str, *, passed: bool = True, score: float = 0.9, trial: int = 0) -> Scored:
    scored = sample_scored(
        name, checks=(sample_check(passed=passed),), scores=(sample_score(score),), assertions=(ASSERTION,)
    )
    return replace(scored, trial=replace(scored.trial, number=trial))


def call(name: str, cost: str) -> ModelCall:
    return ModelCall(Party.SYSTEM, name, "gpt-5", Usage(10, 10), Decimal(cost), Decimal(cost), replayed=False)


def shard_report(number: int, count: int, results: Sequence[ScenarioResult], **changes: Any) -> Report:
    calls = tuple(call(each.trial.scenario.id, "0.1") for each in results)
    given = {"identity": IDENTITY, "calls": calls} | changes
    return sample_report(results=tuple(results), notes=(), shard=ShardReport(Shard(number, count), **given))


def found(*reports: Report) -> list[FoundShard]:
    return [FoundShard(f"shard-{index}", report) for index, report in enumerate(reports, 1)]


def plan_of(results: Sequence[ScenarioResult]) -> Plan:
    return Plan(tuple(each.trial for each in results))


def merge(shards: Sequence[FoundShard], results: Sequence[ScenarioResult]) -> Merged:
    return merge_shards(shards, plan_of(results), IDENTITY)


def cost_of(merged: Merged) -> Decimal:
    return sum((each.cost for each in (*merged.calls, *merged.discarded)), Decimal(0))


def decide(results: Sequence[ScenarioResult], interruption: str | None = None, way_out: str | None = None) -> Verdict:
    evidence = Evidence(Mode.BLOCKING, tuple(results), Limits(), interruption, way_out=way_out, no_further="none")
    verdict = next_step(evidence)
    assert isinstance(verdict, Verdict)
    return verdict


def verdict_of(merged: Merged) -> Verdict:
    return decide(merged.measured.results, merged.interruption, merged.measured.way_out)


NAMES = st.lists(st.integers(0, 10_000).map(lambda number: f"s{number}"), unique=True, min_size=1, max_size=25)


@given(NAMES, st.integers(1, 6), st.data())
def test_merged_shards_are_what_one_run_would_have_been(names: list[str], count: int, data: st.DataObject) -> None:
    trials = data.draw(st.integers(1, 2))
    whole = [
        result(name, passed=data.draw(st.booleans()), score=data.draw(st.sampled_from([0.2, 0.9])), trial=number)
        for name in names
        for number in range(trials)
    ]
    parts = shares([each.trial.scenario for each in whole if each.trial.number == 0], count)
    reports = [
        shard_report(number, count, [each for each in whole if each.trial.scenario.id in part])
        for number, part in enumerate(parts, 1)
    ]
    merged = merge(data.draw(st.permutations(found(*reports))), whole)
    assert merged.interruption is None
    assert list(merged.measured.results) == whole
    assert verdict_of(merged) == decide(whole)
    of_merged, of_whole = (tally(sample_report(results=tuple(each))) for each in (merged.measured.results, whole))
    assert of_merged == of_whole
    ledger = Ledger(Decimal(20))
    ledger.carry_on(merged.calls, 0, cache_hits=merged.cache_hits, breaches=merged.breaches, discarded=merged.discarded)
    assert (ledger.spent, ledger.snapshot().live_calls) == (Decimal("0.1") * len(whole), len(whole))


FOUR = [result(f"s{number}") for number in range(1, 5)]


def four(**of_third: Any) -> list[Report]:
    return [shard_report(n, 4, [FOUR[n - 1]], **(of_third if n == 3 else {})) for n in range(1, 5)]


def without_third(*more: Report) -> list[Report]:
    return [*(report for report in four() if report.shard is not None and report.shard.shard.number != 3), *more]


def cancelled() -> list[Report]:
    unrun = NotRun(FOUR[2].trial, "the run was cancelled")
    return without_third(shard_report(3, 4, [unrun], interruption="the run was cancelled by SIGTERM"))


def forged(**changes: Any) -> list[Report]:
    return without_third(shard_report(3, 4, [replace(FOUR[2], **changes)]))


FAULTS: Mapping[str, tuple[Callable[[], list[Report]], str, str]] = {
    "missing": (without_third, "Shard 3/4 left no report", "Run shard 3/4 again (on GitHub: Re-run failed jobs)"),
    "cancelled": (
        cancelled,
        "Shard 3/4 did not run to its end: the run was cancelled by SIGTERM",
        "Run shard 3/4 again",
    ),
    "crashed": (
        lambda: without_third(
            sample_report(results=(), shard=ShardReport(Shard(3, 4), problem="The database could not be reached."))
        ),
        "Shard 3/4 measured nothing: The database could not be reached.",
        "Run shard 3/4 again",
    ),
    "another commit": (
        lambda: four(identity=IDENTITY | {"commit": "fffffff"}),
        "Shard 3/4 is of another run: its commit is 'fffffff', here it is 'a1b2c3d'",
        "Run all shards again",
    ),
    "another judge": (lambda: four(identity=IDENTITY | {"judge": "cheap"}), "its judge is 'cheap'", "Run all shards"),
    "twice": (
        lambda: [*four(), four()[2]],
        "There are 2 reports of shard 3/4: 'shard-3' and 'shard-5'",
        "Remove all but the right one",
    ),
    "another count": (
        lambda: [*four(), shard_report(1, 2, [])],
        "is of shard 1/2, and others are of 4",
        "Run all shards",
    ),
    "twice the same scenario": (
        lambda: without_third(shard_report(3, 4, [FOUR[2], FOUR[0]])),
        "shard 1/4 and shard 3/4 ran the same scenarios",
        "Run all shards again",
    ),
    "a scenario that nobody ran": (lambda: without_third(shard_report(3, 4, [])), "No shard ran s3", "Run all shards"),
    "a lower threshold": (
        lambda: forged(scores=(sample_score(0.1, threshold=0.0),)),
        "has a score with another threshold than its scenario asks for",
        "Run all shards again",
    ),
    "no value": (lambda: forged(scores=(sample_score(float("nan")),)), "without a value", "Run all shards again"),
    "no score": (lambda: forged(scores=()), "lacks scores that its scenario asks for", "Run all shards again"),
    "other scores": (
        lambda: forged(scores=(sample_score(), sample_score(1.0, judged=False))),
        "has scores that its scenario does not ask for",
        "Run all shards again",
    ),
    "the same trial twice": (
        lambda: without_third(shard_report(3, 4, [FOUR[2], FOUR[2]])),
        "it has trial 1 of 's3' twice",
        "Run all shards again",
    ),
    "an unplanned scenario": (
        lambda: without_third(shard_report(3, 4, [FOUR[2], result("s9")])),
        "it has trial 1 of 's9', which this run does not plan",
        "Run all shards again",
    ),
    "an unplanned trial": (
        lambda: without_third(shard_report(3, 4, [FOUR[2], result("s3", trial=7)])),
        "it has trial 8 of 's3', which this run does not plan",
        "Run all shards again",
    ),
}


@pytest.mark.parametrize(("threshold", "accepted"), [(0.62, True), (0.8, False), (0.5, False)])
def test_a_score_has_the_bound_of_its_own_history_that_the_merge_reads(threshold: float, *, accepted: bool) -> None:
    bound = HistoryBound("SwahiliFluencyMetric", "1.0.0", 20, 0.62)
    own = Strategy(statistical=Statistical(branch="main", bounds=(bound,)))
    trial = replace(FOUR[2].trial, scenario=replace(FOUR[2].trial.scenario, strategy=own))
    measured = replace(FOUR[2], trial=trial, scores=(sample_score(0.7, threshold=threshold),))
    reports = without_third(shard_report(3, 4, [measured]))
    merged = merge(found(*reports), [*FOUR[:2], measured, FOUR[3]])
    assert (merged.interruption is None) == accepted


@pytest.mark.parametrize("given", ["answers", "budget", "ledger"])
def test_a_merge_that_was_given_less_than_all_of_its_shards_is_what_is_wrong(given: str) -> None:
    others = [replaced_identity(report, given) for report in four()]
    verdict = verdict_of(merge(found(*others), FOUR))
    assert verdict.conclusion is Conclusion.INCOMPLETE
    assert verdict.action == "Give the merge the inputs and keys that its shards had, then merge again."
    one = verdict_of(merge(found(*others[:1], *four()[1:]), FOUR))
    assert one.action.startswith("Run all shards again")


def replaced_identity(report: Report, name: str) -> Report:
    assert report.shard is not None
    return replace(report, shard=replace(report.shard, identity=IDENTITY | {name: "another"}))


def test_what_earlier_attempts_of_a_merge_paid_counts_once_though_later_ones_say_it_again() -> None:
    first, second = MergeAttempt(1, (call("s1", "0.2"),)), MergeAttempt(2, (call("s1", "0.3"), call("s2", "0.1")))
    run = measured_run(sample_report())
    earlier = [replace(run, merges=(first,)), replace(run, merges=(first, second))]
    assert paid_by_merges(earlier, 3) == (first, second)
    assert paid_by_merges(earlier, 2) == (first,), "no attempt is earlier than itself"
    forged = replace(run, merges=(MergeAttempt(0, first.calls), MergeAttempt(1, (call("s1", "0." + "1" * 13),))))
    assert paid_by_merges([forged], 3) == ()
    cheaper = replace(run, merges=(MergeAttempt(1, ()),))
    assert paid_by_merges([*earlier, cheaper], 2) == paid_by_merges([cheaper, *earlier], 2) == (first,)
    assert list(notes_of_merges([MergeAttempt(1, ()), second], 4, Llm.LIVE)) == [
        "Attempt 2 of the merge itself cost $0.40, which is in the sum.",
        "What attempt 3 of the merge itself cost is not known, and not in the sum.",
    ]
    assert list(notes_of_merges([], 2, Llm.REPLAY)) == []


def test_of_an_earlier_merge_those_results_are_new_whose_shards_were_run_again_from_the_start() -> None:
    earlier = replace(measured_run(sample_report(results=tuple(FOUR))), merges=(MergeAttempt(1, ()),))

    def left(*reports: Report) -> list[str]:
        return [each.trial.scenario.id for each in measured_anew(earlier, found(*reports)).results]

    assert left(*four()) == [], "the merge alone was run again"
    assert left(*four(attempt=2)) == ["s3"]
    assert left(*four(attempt=2, resumed=(1,))) == [], "the same answers, from the write-ahead journal"
    anew = [shard_report(n, 4, [FOUR[n - 1]], attempt=2) for n in range(1, 5)]
    assert left(*anew) == ["s1", "s2", "s3", "s4"]
    unknown = replace(earlier, merges=())
    assert measured_anew(unknown, found(*anew)).results == ()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_shard_is_named_with_what_ends_it_and_never_passes(fault: str) -> None:
    make, problem, remedy = FAULTS[fault]
    merged = merge(found(*make()), FOUR)
    verdict = verdict_of(merged)
    assert verdict.conclusion is Conclusion.INCOMPLETE
    assert problem.casefold() in "\n".join((verdict.reason, *merged.notes)).casefold()
    assert remedy in verdict.action
    assert len(merged.measured.results) == 4


def test_several_missing_shards_are_one_problem_with_one_remedy() -> None:
    verdict = verdict_of(merge(found(*four()[:1], *four()[3:]), FOUR))
    assert "shards 2/4 and 3/4 left no report" in verdict.reason
    assert verdict.action == "Run shards 2/4 and 3/4 again (on GitHub: Re-run failed jobs), then merge again."


def test_a_folder_that_is_no_report_is_to_be_removed_where_every_shard_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    verdict = verdict_of(merge([*found(*four()), *read_shards([str(tmp_path / "notes")])], FOUR))
    assert verdict.conclusion is Conclusion.INCOMPLETE
    assert verdict.action == "Give only report folders of this run, then merge again."


def test_without_any_report_nothing_was_measured() -> None:
    assert verdict_of(merge([], FOUR)).reason.endswith("the run cannot pass: there is no report of any shard.")


def test_what_failed_before_a_shard_went_missing_stays_failed() -> None:
    broken = shard_report(1, 4, [result("s1", passed=False)])
    verdict = verdict_of(merge(found(broken, *without_third()[1:]), FOUR))
    assert verdict.conclusion is Conclusion.FAILED
    assert "shard 3/4 left no report" in verdict.reason


def test_a_cancelled_shards_failed_assertion_counts() -> None:
    cut = shard_report(3, 4, [result("s3", passed=False)], interruption="the run was cancelled by SIGTERM")
    assert verdict_of(merge(found(*without_third(cut)), FOUR)).conclusion is Conclusion.FAILED


def test_a_database_that_goes_away_under_a_shard_is_an_error_of_its_scenarios() -> None:
    gone = Errored(FOUR[2].trial, Phase.TENANT, "The server closed the connection.")
    verdict = verdict_of(merge(found(*without_third(shard_report(3, 4, [gone]))), FOUR))
    assert verdict.conclusion is Conclusion.INCOMPLETE
    assert "1 of 4 scenarios could not be measured (s3): tenant error" in verdict.reason
    assert verdict.action == (
        "Fix the tenant error of s3, then run shard 3/4 again (on GitHub: re-run its job, which did not fail), "
        "then merge again."
    )


def test_advice_that_several_shards_give_is_given_once() -> None:
    advice = ("Raise budget-usd.", "Raise budget-usd.", "Raise monthly-budget-usd.")
    unrun = [NotRun(each.trial, "it may cost $3") for each in FOUR]
    reports = [shard_report(n, 3, [unrun[n - 1]], way_out=text) for n, text in enumerate(advice, 1)]
    verdict = verdict_of(merge(found(*reports), FOUR[:3]))
    assert verdict.action == "For shards 1/3 and 2/3: Raise budget-usd. For shard 3/3: Raise monthly-budget-usd."


def test_an_error_with_a_remedy_of_its_own_and_a_failed_assertion_are_left_to_the_verdict() -> None:
    stale = Errored(FOUR[2].trial, Phase.RECORDING, "The request changed.", remedy="Record it: ratiba record.")
    gone = Errored(FOUR[1].trial, Phase.TENANT, "The server closed the connection.")
    reports = [shard_report(1, 3, FOUR[:1]), shard_report(2, 3, [gone]), shard_report(3, 3, [stale])]
    assert merge(found(*reports), FOUR[:3]).measured.way_out is None
    reports[0] = shard_report(1, 3, [result("s1", passed=False)])
    assert verdict_of(merge(found(*reports), FOUR[:3])).conclusion is Conclusion.FAILED


def test_the_last_attempt_of_a_shard_counts_and_every_attempt_costs() -> None:
    first = shard_report(3, 4, [NotRun(FOUR[2].trial, "cancelled")], interruption="the run was cancelled by SIGTERM")
    merged = merge(found(*four(attempt=2), first), FOUR)
    assert verdict_of(merged).conclusion is Conclusion.PASSED
    assert cost_of(merged) == Decimal("0.5")
    assert "Attempt 1 of shard 3/4 cost $0.10; its results do not count." in merged.notes
    assert "Attempt 2 of shard 3/4 cost $0.10; its results count." in merged.notes


def test_calls_of_an_attempt_that_does_not_count_are_money_and_no_answer() -> None:
    first = shard_report(3, 4, [NotRun(FOUR[2].trial, "cancelled")], interruption="the run was cancelled by SIGTERM")
    merged = merge(found(*four(attempt=2, calls=()), first), FOUR)
    ledger = Ledger(Decimal(20))
    ledger.carry_on(merged.calls, 0, cache_hits=merged.cache_hits, breaches=merged.breaches, discarded=merged.discarded)
    assert "s3" not in {each.scenario_id for each in ledger.calls}, "the attempt that counts called no model"
    spending = ledger.snapshot()
    assert (spending.spent, spending.list_price, spending.live_calls) == (Decimal("0.4"), Decimal("0.4"), 3)
    assert sum(spending.by_party.values()) == sum(spending.by_model.values()) == Decimal("0.4")
    with pytest.raises(ValueError, match="cannot carry on"):
        ledger.carry_on((), 0)


def test_the_notes_say_that_shards_without_a_ledger_divide_the_budget() -> None:
    text = (
        "Each of 4 shards had its share of the budget of $20.00: they share one only in a pull request with ledger-url."
    )
    assert text in merge(found(*four()), FOUR).notes
    assert not any("share of the budget" in note for note in merge(found(*four(calls=())[2:3]), FOUR).notes)


def test_thresholds_and_critical_come_from_the_run_that_merges_and_not_from_a_report() -> None:
    lenient = replace(FOUR[2], trial=Trial(replace(FOUR[2].trial.scenario, critical=True), Arm("head", "elsewhere")))
    merged = merge(found(*without_third(shard_report(3, 4, [lenient]))), FOUR)
    assert [each.trial for each in merged.measured.results] == [each.trial for each in FOUR]


def test_base_trials_that_no_shard_ran_are_left_to_the_merge() -> None:
    base = [Trial(each.trial.scenario, Arm("base", "")) for each in FOUR]
    plan = Plan((*plan_of(FOUR).trials, *base))
    beside = [replace(FOUR[0], trial=base[0])]
    shards = found(shard_report(1, 4, FOUR[:1], base_results=tuple(beside)), *without_third()[1:])
    merged = merge_shards(shards, plan, IDENTITY)
    assert [trial.scenario.id for trial in merged.open_base.trials] == ["s2", "s4"], (
        "s3 has nothing to be compared with"
    )
    assert merged.measured.results[4:] == tuple(beside)


def read_shards(named: Sequence[str]) -> tuple[FoundShard, ...]:
    with ShardFolders(report_folders(named)) as folders:
        return folders.read()


def written(folder: Path, report: Report) -> Path:
    folder.mkdir()
    text = render_results(summarise(Redactor().report(report)))
    (folder / "results.json").write_text(text, encoding="ascii")
    return folder


def test_a_written_report_is_read_again_and_merged(tmp_path: Path) -> None:
    folders = [written(tmp_path / f"shard-{n}", report) for n, report in enumerate(four(), 1)]
    for named in ([str(folder) for folder in folders], [str(tmp_path)]):
        merged = merge(read_shards(named), FOUR)
        assert verdict_of(merged).conclusion is Conclusion.PASSED
        assert cost_of(merged) == Decimal("0.4")


def spoil(folder: Path, how: str) -> None:
    path = folder / "results.json"
    text = path.read_text()
    if how == "torn":
        path.write_text(text[: len(text) // 2])
    elif how == "removed":
        path.unlink()
    elif how == "link":
        (folder.parent / "elsewhere").write_text(text)
        path.unlink()
        path.symlink_to(folder.parent / "elsewhere")
    elif how == "large":
        with path.open("ab") as file:
            file.truncate(30_000_000)
    elif how == "negative money":
        path.write_text(text.replace('"cost": "0.1"', '"cost": "-0.1"'))
    elif how == "fractions":
        path.write_text(text.replace('"cost": "0.1"', '"cost": "0.0000000000001"'))
    elif how == "a shard 5 of 4":
        path.write_text(text.replace('"number": 3,\n', '"number": 5,\n'))
    elif how == "a whole run":
        content = json.loads(text)
        content["report"]["shard"] = None
        content["outputs"] = summarise(sample_report(results=(FOUR[2],), notes=())).outputs
        path.write_text(json.dumps(content))
    elif how == "gone":
        path.unlink()
        folder.rmdir()


@pytest.mark.processes
@pytest.mark.parametrize(
    "how", ["torn", "removed", "link", "large", "negative money", "fractions", "a shard 5 of 4", "a whole run", "gone"]
)
def test_a_spoilt_report_is_a_problem_of_its_shard_and_no_traceback(tmp_path: Path, how: str) -> None:
    folders = [written(tmp_path / f"shard-{n}", report) for n, report in enumerate(four(), 1)]
    spoil(folders[2], how)
    merged = merge(read_shards([str(folder) for folder in folders]), FOUR)
    assert verdict_of(merged).conclusion is Conclusion.INCOMPLETE
    assert any("shard-3' is not used" in note for note in merged.notes)
    assert any("Shard 3/4 left no report" in note for note in merged.notes)
    assert len([each for each in merged.measured.results if isinstance(each, Scored)]) == 3


def test_random_bytes_in_place_of_a_report_are_one_problem(tmp_path: Path) -> None:
    drawn = random.Random(22)  # noqa: S311 - no secret
    folder = written(tmp_path / "shard-3", four()[2])
    content = (folder / "results.json").read_bytes()
    for _ in range(40):
        spoilt = bytearray(content)
        for _ in range(drawn.randrange(1, 20)):
            spoilt[drawn.randrange(len(spoilt))] = drawn.randrange(256)
        (folder / "results.json").write_bytes(spoilt)
        (read,) = read_shards([str(folder)])
        assert (read.report is None) == bool(read.problem)
        merge([read], FOUR)


def test_a_base_that_a_shard_could_not_measure_is_not_run_again_and_is_said() -> None:
    base = tuple(replace(each.trial, arm=Arm(BASE, "")) for each in FOUR)
    reports = [shard_report(number, 4, [each], base_failed=FAILED) for number, each in enumerate(FOUR, 1)]
    plan = Plan((*plan_of(FOUR).trials, *base))
    merged = merge_shards(found(*reports), plan, IDENTITY)
    assert (merged.measured.base_failed, merged.open_base) == (FAILED, Plan(()))
    step = next_step(Evidence(Mode.BLOCKING, merged.measured.results, Limits(), base_failed=FAILED))
    assert isinstance(step, Verdict)
    assert step.conclusion is Conclusion.INCOMPLETE
    assert FAILED in step.reason


def test_what_a_shard_says_of_a_base_that_is_missing_does_not_keep_the_merge_from_running_it() -> None:
    base = tuple(replace(each.trial, arm=Arm(BASE, "")) for each in FOUR)
    reports = [shard_report(number, 4, [each], no_base="there is none") for number, each in enumerate(FOUR, 1)]
    merged = merge_shards(found(*reports), Plan((*plan_of(FOUR).trials, *base)), IDENTITY)
    assert (merged.measured.base_failed, merged.open_base) == (None, Plan(base))


FAILED = "it could not be started: set-up ended with exit code 1"


def test_a_report_of_a_shard_leaves_masked() -> None:
    base = replace(FOUR[0], checks=(sample_check(got="ring Wanjiku at +254 712 345 432, key planted-secret-1"),))
    report = shard_report(
        1,
        4,
        FOUR[:1],
        base_results=(base,),
        no_base="planted-secret-1",
        base_failed="the template: planted-secret-1",
        interruption="+254 712 345 432 said no",
    )
    text = render_results(summarise(Redactor(["planted-secret-1"]).report(report)))
    shard = json.dumps(json.loads(text)["report"]["shard"])
    assert "planted-secret-1" not in text
    assert "712 345 432 said" not in shard
    assert "ring Wanjiku" not in shard


def case(name: str, expect: Expectation, reply: Reply) -> Scored:
    turn, plain = Turn(user="Classify this.", expect=expect), result(name)
    scenario = replace(plain.trial.scenario, data_set="codes", turns=(turn,))
    transcript = replace(plain.transcript, exchanges=(Exchange(turn, reply),))
    return replace(plain, trial=replace(plain.trial, scenario=scenario), transcript=transcript)


def labelled(name: str, expected: str, given: str) -> Scored:
    return case(name, Expectation(label=expected), Reply("ok", output={"label": given, "confidence": 0.9}))


def decided(whole: Sequence[Scored], metric: str, merged: Merged | None = None) -> Verdict:
    """What a run and its threshold come to; of shards, whose reports are written and read as they are."""
    case_file = CaseFile("codes", "codes.yaml", "d1", len(whole), gates=(CaseThreshold(metric, 0.9, 1),))
    results = whole if merged is None else merged.measured.results
    scores = score_case_files((case_file,), results, date(2026, 11, 26))
    interruption = None if merged is None else merged.interruption
    evidence = Evidence(
        Mode.BLOCKING,
        tuple(results),
        Limits(),
        interruption,
        way_out=None if merged is None else merged.measured.way_out,
        data_sets=scores,
        no_further="none",
    )
    verdict = next_step(evidence)
    assert isinstance(verdict, Verdict)
    return verdict


def merged_as_written(whole: Sequence[Scored], redactor: Redactor | None = None) -> Merged:
    redactor, reports = redactor or Redactor(), []
    for number, part in ((1, whole[:2]), (2, whole[2:])):
        report = redactor.report(with_readable_answers(shard_report(number, 2, part), redactor.result))
        reports.append(load_report(render_results(summarise(report)), exact=True))
    return merge(found(*reports), whole)


def test_wrong_labels_that_look_alike_once_they_are_masked_never_pass() -> None:
    whole = [labelled(f"case_{n}", f"85171{n}", f"90281{n}") for n in range(3)]
    merged = merged_as_written(whole)
    assert decided(whole, "accuracy").conclusion is Conclusion.FAILED
    verdict = decided(whole, "accuracy", merged)
    assert verdict.conclusion is Conclusion.INCOMPLETE
    assert "Masking would change labels or documents of case_0 and 1 more" in verdict.reason
    assert verdict.action == "Run this suite without shards."
    assert "851712" not in verdict.reason
    assert cost_of(merged) == Decimal("0.3"), "what it cost is counted all the same"


def test_right_labels_that_are_masked_are_no_measured_failure() -> None:
    whole = [labelled(f"case_{n}", f"85171{n}", f"85171{n}") for n in range(3)]
    assert decided(whole, "accuracy", merged_as_written(whole)).conclusion is Conclusion.INCOMPLETE


@pytest.mark.parametrize("given", ["phone", "card"])
def test_labels_that_nothing_masks_are_scored_as_in_one_run(given: str) -> None:
    whole = [labelled(f"case_{n}", "phone", given) for n in range(3)]
    verdict = decided(whole, "accuracy", merged_as_written(whole))
    assert verdict == decided(whole, "accuracy")
    assert verdict.conclusion is (Conclusion.PASSED if given == "phone" else Conclusion.FAILED)


def test_documents_with_long_numbers_are_scored_as_in_one_run() -> None:
    graded = Expectation(documents={"851712": 1.0, "900001": 0.0})
    for ranked, conclusion in (("851712", Conclusion.PASSED), ("900001", Conclusion.FAILED)):
        whole = [case(f"case_{n}", graded, Reply("ok", documents=(Document(ranked, "t"),))) for n in range(3)]
        verdict = decided(whole, "mrr", merged_as_written(whole))
        assert verdict == decided(whole, "mrr")
        assert verdict.conclusion is conclusion


def test_documents_whose_ids_are_masked_are_no_measured_failure() -> None:
    graded = Expectation(documents={"wanjiku.kamau@example.com": 1.0})
    reply = Reply("ok", documents=(Document("wanjiku.kamau@example.com", "t"),))
    whole = [case(f"case_{n}", graded, reply) for n in range(3)]
    assert decided(whole, "mrr").conclusion is Conclusion.PASSED
    assert decided(whole, "mrr", merged_as_written(whole)).conclusion is Conclusion.INCOMPLETE


def test_what_is_expected_of_a_turn_is_never_read_from_a_report() -> None:
    whole = [labelled(f"case_{n}", "phone", "card") for n in range(3)]
    forged = [labelled(f"case_{n}", "card", "card") for n in range(3)]
    merged = merge(found(shard_report(1, 2, forged[:2]), shard_report(2, 2, forged[2:])), whole)
    assert list(merged.measured.results) == whole
    assert decided(whole, "accuracy", merged).conclusion is Conclusion.FAILED


@pytest.mark.parametrize("times", [0, 2])
def test_a_result_with_another_number_of_turns_is_refused(times: int) -> None:
    transcript = replace(FOUR[2].transcript, exchanges=FOUR[2].transcript.exchanges * times)
    verdict = verdict_of(merge(found(*forged(transcript=transcript)), FOUR))
    assert verdict.conclusion is Conclusion.INCOMPLETE
    assert f"trial 1 of 's3' has {times} turns, and its scenario has 1" in verdict.reason


def test_what_a_simulated_customer_wrote_is_kept_and_nothing_is_expected_of_it() -> None:
    scenario = replace(FOUR[2].trial.scenario, simulated_user=SimulatedUser("A hurried guest.", "Book a massage."))
    (exchange,) = FOUR[2].transcript.exchanges
    more = replace(exchange, turn=Turn(user="And tomorrow?", expect=Expectation(label="forged")))
    own = replace(FOUR[2], trial=replace(FOUR[2].trial, scenario=scenario))
    sent = replace(own, transcript=replace(own.transcript, exchanges=(exchange, more)))
    whole = [*FOUR[:2], own, FOUR[3]]
    merged = merge(found(*without_third(shard_report(3, 4, [sent]))), whole)
    kept = merged.measured.results[2]
    assert isinstance(kept, Scored)
    assert merged.interruption is None
    assert kept.transcript.exchanges[1].turn == Turn(user="And tomorrow?")


def two(*reports: Report, run_attempt: int | None = None) -> Merged:
    return merge_shards(found(*reports), plan_of(FOUR[:2]), IDENTITY, run_attempt)


FIRST = shard_report(1, 2, FOUR[:1], calls=(call("s1", "9"),))
SECOND = shard_report(2, 2, FOUR[1:2], calls=(call("s2", "3"),))


def test_what_a_merge_runs_itself_never_spends_what_a_lost_shard_may_have_spent() -> None:
    merged = two(FIRST)
    ledger = Ledger(Decimal(20))
    ledger.carry_on(merged.calls, 0, discarded=merged.discarded)
    ledger.set_aside(merged.unknown_usd)
    assert (ledger.spent, merged.unknown_usd) == (Decimal(9), Decimal(10))
    assert ledger.could_fit(Decimal(1))
    assert not ledger.could_fit(Decimal("1.000001"))
    with pytest.raises(BudgetError):
        ledger.reserve(Party.SYSTEM, "s2", "gpt-5", Decimal("1.000001"))


UNKNOWN: Mapping[str, tuple[Callable[[], Merged], str]] = {
    "none": (lambda: two(FIRST, SECOND), "0"),
    "a ledger knows": (lambda: merge_shards(found(FIRST), plan_of(FOUR), IDENTITY | {"ledger": "shared"}), "0"),
    "no report at all": (two, "20"),
    "an earlier attempt that is not at hand": (
        lambda: two(FIRST, replace(SECOND, shard=replace(shard_of(SECOND), attempt=2))),
        "10",
    ),
    "an earlier attempt that is at hand": (
        lambda: two(FIRST, SECOND, replace(SECOND, shard=replace(shard_of(SECOND), attempt=2))),
        "0",
    ),
    "every attempt of a lost shard": (lambda: two(FIRST, run_attempt=2), "20"),
    "of another run": (
        lambda: two(FIRST, replace(SECOND, shard=replace(shard_of(SECOND), identity={"commit": "other"}))),
        "10",
    ),
    "two of one attempt: of one the calls are known": (lambda: two(FIRST, SECOND, SECOND), "17"),
    "one that cannot be what it says": (
        lambda: two(FIRST, shard_report(2, 2, [result("s9")], calls=(call("s9", "0"),))),
        "10",
    ),
    "damaged": (
        lambda: merge_shards([*found(FIRST), FoundShard("shard-2", None, "torn.")], plan_of(FOUR[:2]), IDENTITY),
        "10",
    ),
    "damaged besides all others": (
        lambda: merge_shards([*found(FIRST, SECOND), FoundShard("x", None, "torn.")], plan_of(FOUR[:2]), IDENTITY),
        "10",
    ),
    "cancelled, with its calls": (
        lambda: two(FIRST, replace(SECOND, shard=replace(shard_of(SECOND), interruption="the run was cancelled"))),
        "0",
    ),
}


def interrupted(cost: str, attempt: int = 1) -> Report:
    """An attempt of the second shard that was cancelled after it had paid for a call."""
    unrun = [NotRun(FOUR[1].trial, "the run was cancelled")]
    given = {"interruption": "the run was cancelled by SIGTERM", "calls": (call("s2", cost),), "attempt": attempt}
    return shard_report(2, 2, unrun, **given)


def gone_on(*attempts: int, attempt: int = 2, carried: str = "2") -> Report:
    """An attempt of the second shard that went on with earlier ones: of its $3, so many were spent there."""
    of = replace(shard_of(SECOND), attempt=attempt, resumed=attempts, carried=Decimal(carried))
    return replace(SECOND, shard=of)


def test_money_of_an_attempt_that_a_later_one_went_on_with_is_counted_once() -> None:
    merged = two(FIRST, interrupted("2"), gone_on(1), run_attempt=2)
    assert (cost_of(merged), merged.unknown_usd) == (Decimal(12), Decimal(0))
    assert verdict_of(merged).conclusion is Conclusion.PASSED
    text = "Attempt 1 of shard 2/2 cost $2.00; its results do not count; a later attempt went on with it, and"
    assert f"{text} its cost includes this one." in merged.notes
    assert cost_of(two(FIRST, interrupted("2"), gone_on(), run_attempt=2)) == Decimal(14), "it started anew"


def test_what_a_killed_attempt_may_have_spent_beyond_what_a_later_one_counts_is_set_aside() -> None:
    merged = two(FIRST, gone_on(1), run_attempt=2)
    assert (cost_of(merged), merged.unknown_usd) == (Decimal(12), Decimal(8)), "its share of 10 but for 2"
    assert two(FIRST, gone_on(2, attempt=3), run_attempt=3).unknown_usd == Decimal(18), "the first attempt is unknown"
    assert two(FIRST, gone_on(1, 2, attempt=3), run_attempt=3).unknown_usd == Decimal(16)


@pytest.mark.parametrize("impossible", [0, 2, 3])
def test_an_attempt_that_says_it_went_on_with_no_earlier_one_is_refused(tmp_path: Path, impossible: int) -> None:
    (read,) = read_shards([str(written(tmp_path / "shard", gone_on(impossible)))])
    assert read.report is None
    assert "it is of attempt 2, and goes on with attempts" in read.problem


def test_an_attempt_that_says_more_came_from_earlier_ones_than_it_cost_is_refused(tmp_path: Path) -> None:
    (read,) = read_shards([str(written(tmp_path / "shard", gone_on(1, carried="3.01")))])
    assert read.report is None
    assert "says that $3.01 came from earlier attempts, more than its calls cost" in read.problem


@pytest.mark.parametrize("carried", ["0", "1.99"])
def test_an_attempt_whose_copy_was_cut_off_is_counted_too(carried: str) -> None:
    assert cost_of(two(FIRST, interrupted("2"), gone_on(1, carried=carried), run_attempt=2)) == Decimal(14)


def shard_of(report: Report) -> ShardReport:
    assert report.shard is not None
    return report.shard


@pytest.mark.parametrize("what", UNKNOWN)
def test_a_share_is_set_aside_for_each_attempt_whose_calls_are_not_known(what: str) -> None:
    make, expected = UNKNOWN[what]
    assert make().unknown_usd == Decimal(expected)


def test_a_report_of_a_later_attempt_than_the_merges_is_not_used() -> None:
    later = replace(SECOND, shard=replace(shard_of(SECOND), attempt=10**9))
    merged = two(FIRST, SECOND, later, run_attempt=1)
    verdict = verdict_of(merged)
    assert verdict.conclusion is Conclusion.INCOMPLETE
    assert "it is of attempt 1000000000, and this is attempt 1" in verdict.reason
    assert cost_of(merged) == Decimal(12)


@pytest.mark.parametrize("field", ["number", "count", "attempt"])
@pytest.mark.parametrize("value", [-1, 0, 257, 3_000_000, 10**30])
def test_a_report_with_impossible_numbers_is_refused_at_once(tmp_path: Path, field: str, value: int) -> None:
    folder = written(tmp_path / "shard", FIRST)
    content = json.loads((folder / "results.json").read_text())
    place = content["report"]["shard"] if field == "attempt" else content["report"]["shard"]["shard"]
    place[field] = value
    (folder / "results.json").write_text(json.dumps(content))
    (read,) = read_shards([str(folder)])
    merged = merge_shards([read], plan_of(FOUR[:2]), IDENTITY, 1)
    assert verdict_of(merged).conclusion is Conclusion.INCOMPLETE
    assert any(isinstance(each, Scored) for each in merged.measured.results) is False


def test_of_many_missing_shards_a_few_are_named() -> None:
    verdict = verdict_of(merge(found(shard_report(1, 256, FOUR[:1])), FOUR))
    assert "shards 2/256, 3/256, 4/256, 5/256, 6/256 and 250 more left no report" in verdict.reason
    assert len(verdict.action or "") < 200


@pytest.mark.parametrize("whose", ["results", "base_results"])
def test_sentences_of_a_shard_do_not_name_the_customers_of_its_scenarios(whose: str) -> None:
    expected = "the base raised KeyError: 'Zawadi Achieng'"
    scenario = replace(FOUR[0].trial.scenario, customer=replace(FOUR[0].trial.scenario.customer, name="Zawadi Achieng"))
    named = (replace(FOUR[0], trial=replace(FOUR[0].trial, scenario=scenario)),)
    sentences = {
        "breaches": (expected,),
        **dict.fromkeys(("interruption", "no_base", "base_failed", "way_out", "problem"), expected),
    }
    report = shard_report(1, 4, FOUR[1:2], base_results=named if whose == "base_results" else (), **sentences)
    report = replace(report, results=named) if whose == "results" else report
    shard = shard_of(Redactor().report(report))
    for text in (*shard.breaches, shard.interruption, shard.no_base, shard.base_failed, shard.way_out, shard.problem):
        assert text is not None
        assert "KeyError" in text
        assert "Zawadi" not in text
