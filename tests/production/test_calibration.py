"""People's labels of each month: when they are due, how they are kept, and what they say of a judge."""

import random
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import SuiteError, UsageError
from ratiba_action.model.canonical import digest
from ratiba_action.model.conversation import Exchange, Reply, Transcript
from ratiba_action.model.measurement import ScenarioResult, Score, Scored
from ratiba_action.model.note import Note
from ratiba_action.model.plan import BASE, HEAD, Arm, Trial
from ratiba_action.model.scenario import DEFAULT_NOW, Customer, Scenario, Turn
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.calibration import (
    CRITERIA,
    CalibrationCandidate,
    CalibrationSet,
    CriterionBlock,
    LabelBlock,
    added_to,
    first_monday,
    labelled,
    read_calibration,
    schedule,
    write_calibration,
)
from ratiba_action.production.judge_calibration import (
    GoldenScores,
    JudgeMark,
    _write_marks,
    agreements,
    biases_of_arms,
    calibration_notes,
    read_marks,
    thresholds,
)
from ratiba_action.verdict.agreement import cohen_kappa, gwet_coefficient, quadratic
from ratiba_action.verdict.human_agreement import MIN, human_agreement

BEGUN = date(2026, 1, 5)
MASK = Redactor()
ONE = "conversations:\n- id: a\n  added: 2026-01-05\n  source: s\n  turns: [{user: u, reply: r}]\n"


def empty(**changes: object) -> CalibrationSet:
    return CalibrationSet.model_validate({"owner": "Adrian", **changes})


def one_more(calibration: CalibrationSet, day: date, by: str = "Adrian", score: int = 4) -> CalibrationSet:
    """A conversation that is added and labelled on a day."""
    text = f"message {len(calibration.conversations)}"
    calibration, (name,) = added_to(calibration, [CalibrationCandidate([(text, "Karibu")], "transcript")], MASK, day)
    return labelled(calibration, name, LabelBlock(by=by, day=day, scores=dict.fromkeys(CRITERIA, score)))


@given(st.dates(date(2000, 1, 1), date(2100, 1, 1)))
def test_the_first_monday_is_a_monday_of_the_first_week(day: date) -> None:
    found = first_monday(day)
    assert (found.weekday(), found.month, found.year) == (0, day.month, day.year)
    assert found.day <= 7


def test_twelve_months() -> None:
    mondays = [first_monday(date(2026, month, 1)) for month in range(1, 13)]
    calibration = one_more(empty(), BEGUN)
    reported: dict[date, str] = {}
    # On time in February, a week late in March, April and May skipped and caught up in June; then the owner leaves.
    labels = {mondays[1], mondays[2] + timedelta(days=7), mondays[5] + timedelta(days=2), mondays[6], mondays[7]}
    day = BEGUN
    while day < date(2027, 1, 1):
        if day in labels:
            calibration = one_more(calibration, day)
        if day == mondays[8]:
            calibration = calibration.model_copy(update={"owner_until": day - timedelta(days=1)})
        if day == mondays[10] + timedelta(days=1):
            changed = {"owner": "Njeri", "owner_until": None}
            calibration = one_more(calibration.model_copy(update=changed), day, "Njeri")
        plan = schedule(calibration, day)
        if plan.due is not None or plan.gone is not None:
            reported[day] = plan.sentence
        day += timedelta(days=1)
    late = mondays[2] + timedelta(days=6)
    assert reported.keys() & {BEGUN, mondays[1], mondays[1] + timedelta(days=3)} == set(), "on time"
    assert reported[late] == "The calibration set's session of 2026-03-02 is overdue by 6 days (owner: Adrian)."
    assert late + timedelta(days=1) not in reported, "late by a week, and done"
    assert "of 2026-04-06 is overdue by 30 days, 2 sessions were missed" in reported[mondays[4] + timedelta(days=2)]
    assert reported[mondays[4]].endswith("name another `owner` in calibration/human_labelled.yaml.")
    assert mondays[5] + timedelta(days=2) not in reported, "caught up"
    assert "Adrian owned the set until 2026-09-06: name another `owner`" in reported[mondays[8]]
    assert "3 sessions were missed" in reported[mondays[10]]
    assert mondays[10] + timedelta(days=1) not in reported, "the next owner catches up"
    assert reported[mondays[11]] == "The calibration set's session of 2026-12-07 is due today (owner: Njeri)."


def test_a_label_before_the_first_monday_belongs_to_the_month_before() -> None:
    plan = schedule(one_more(empty(), date(2026, 3, 1)), date(2026, 3, 2))
    assert (plan.due, plan.overdue_days, plan.following) == (date(2026, 3, 2), 0, date(2026, 4, 6))
    assert schedule(empty(), date(2026, 3, 1)).due is None, "an empty set asks for nothing before its first Monday"


def test_what_is_added_is_masked_once_and_survives_being_written(tmp_path: Path) -> None:
    found = CalibrationCandidate([("Mimi ni Wanjiku, 0712 345 432", "Asante Wanjiku")], "s-1", "sw", names=["Wanjiku"])
    calibration, new = added_to(empty(), [found, found], MASK, BEGUN)
    again, none = added_to(calibration, [found], MASK, BEGUN)
    assert (len(new), none, again) == (1, (), calibration)
    write_calibration(tmp_path, one_more(calibration, BEGUN))
    text = (tmp_path / "calibration/human_labelled.yaml").read_text("utf-8")
    assert "Wanjiku" not in text
    assert "345" not in text
    assert read_calibration(tmp_path) == one_more(calibration, BEGUN)
    assert [path.name for path in (tmp_path / "calibration").iterdir()] == ["human_labelled.yaml"]


def test_names_that_are_known_and_names_of_a_conversation_are_both_masked() -> None:
    found = CalibrationCandidate([("Mimi ni Wanjiku Mwangi", "Karibu, Otieno yuko hapa")], "x", names=("Otieno Ouma",))
    changed, _ = added_to(empty(), [found], Redactor((), ["Wanjiku Mwangi"]), date(2026, 11, 2))
    (turn,) = changed.conversations[0].turns
    assert (turn.user, turn.reply) == ("Mimi ni <name>", "Karibu, <name> yuko hapa")


def test_of_two_labels_of_one_day_the_later_one_counts() -> None:
    day = date(2026, 11, 2)
    corrected = one_more(empty(), day, score=1)
    conversation = corrected.conversations[0]
    again = conversation.labels[0].model_copy(update={"scores": dict.fromkeys(CRITERIA, 5)})
    both = corrected.model_copy(
        update={"conversations": [conversation.model_copy(update={"labels": [*conversation.labels, again]})]}
    )
    assert both.labels(CRITERIA[0]) == {conversation.id: 5}


def test_more_than_the_most_are_not_added() -> None:
    many = [CalibrationCandidate([(f"m {number}", "r")], "s") for number in range(30)]
    assert len(added_to(empty(), many, MASK, BEGUN)[1]) == 10


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("conversations: []\n", "owner: missing"),
        ("owner: A\ncriteria: {}\n", "criteria"),
        ("owner: A\nconversations:\n- {id: a, added: 2026-01-05, source: s, turns: []}\n", "human_labelled.yaml:3"),
        (
            f"owner: A\n{ONE}  labels: [{{by: B, day: 2026-01-05, scores: {{tone: 3}}}}]\n",
            "the labels of 'a' by 'B' must name each of intent comprehension",
        ),
        (
            f"owner: A\ncriteria: {{tone: {{}}}}\n{ONE}  labels: [{{by: B, day: 2026-01-05, scores: {{tone: 6}}}}]\n",
            "less than or equal to 5",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_its_lines(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "calibration").mkdir()
    (tmp_path / "calibration/human_labelled.yaml").write_text(text)
    with pytest.raises(SuiteError) as error:
        read_calibration(tmp_path)
    assert problem in str(error.value)
    (note,) = calibration_notes(tmp_path, ["opus"], BEGUN)
    assert "The calibration of the judges is unknown" in note


def test_a_label_without_a_conversation_or_a_criterion_is_refused() -> None:
    calibration = one_more(empty(), BEGUN)
    name = calibration.conversations[0].id
    for wrong, scores in (("cal_none", dict.fromkeys(CRITERIA, 3)), (name, {"tone": 3})):
        with pytest.raises(UsageError):
            labelled(calibration, wrong, LabelBlock(by="A", day=BEGUN, scores=scores))


# Gwet 2014, table 4.1 (cont3x3abstractors of irrCAC): 100 patients, two abstractors.
ABSTRACTORS = ((13, 0, 0), (0, 20, 7), (0, 4, 56))


def test_the_coefficients_of_gwet_are_the_published_ones() -> None:
    assert gwet_coefficient(ABSTRACTORS) == pytest.approx(0.8493, abs=5e-5)
    assert gwet_coefficient(ABSTRACTORS, quadratic) == pytest.approx(0.9402, abs=5e-5)
    assert gwet_coefficient(((130, 56), (9, 5))) == pytest.approx(0.5326, abs=5e-5)
    assert cohen_kappa(((130, 56), (9, 5))) == pytest.approx(0.022, abs=5e-4)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=60))
def test_the_weighted_kappa_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics", exc_type=ImportError)
    found = human_agreement("opus", "tone", pairs)
    if found.kappa is None:
        assert len({label for label, _ in pairs}) == 1
        return
    labels, judged = zip(*pairs, strict=True)
    for weights, mine in (("quadratic", found.kappa), (None, found.unweighted)):
        theirs = metrics.cohen_kappa_score(labels, judged, labels=[1, 2, 3, 4, 5], weights=weights)
        assert mine == pytest.approx(theirs, abs=1e-9)
    if found.low is not None and found.high is not None:
        assert -1 <= found.low <= found.kappa <= found.high <= 1
    assert found.bias == pytest.approx(sum(judged) / len(pairs) - sum(labels) / len(pairs))


def test_the_interval_contains_the_true_kappa_about_as_often_as_it_says() -> None:
    source, hits = random.Random(5), 0  # noqa: S311 - repeatable

    def pair() -> tuple[int, int]:
        label = source.choice((1, 2, 3, 3, 4, 4, 5, 5))
        return label, min(max(label + source.choice((-1, 0, 0, 0, 1)), 1), 5)

    true = human_agreement("j", "c", [pair() for _ in range(20_000)][:5_000]).kappa
    for _ in range(60):
        found = human_agreement("j", "c", [pair() for _ in range(60)])
        hits += found.low is not None and found.high is not None and found.low <= (true or 0) <= found.high
    assert hits >= 52


@pytest.mark.parametrize(
    ("pairs", "status", "advice"),
    [
        ([(4, 4)] * 12, "uncalibrated", "Label 18 more"),
        ([(4, 4)] * 30, "undefined", "of other quality"),
        ([(1, 5), (5, 1), (3, 2)] * 10, "below", "change the criterion's steps"),
        ([(5, 3), (4, 2), (3, 1), (2, 5)] * 10, "below", "stricter than people by"),
        ([(1, 1), (3, 3), (5, 5), (4, 3), (2, 3), (5, 4), (2, 2), (1, 3)] * 4, "unproven", "interval of kappa"),
        ([(1, 1), (3, 3), (5, 5), (4, 4)] * 10, "calibrated", "Nothing"),
    ],
)
def test_what_is_said_of_a_judge(pairs: list[tuple[int, int]], status: str, advice: str) -> None:
    found = human_agreement("opus", "tone", pairs)
    assert (found.status, advice in found.advice) == (status, True), (found.kappa, found.low, found.advice)


def with_judge(folder: Path, count: int, judge_label: int | None = None) -> CalibrationSet:
    """A set whose labels vary, and a judge that agrees, or always gives one label."""
    calibration = empty(criteria={"tone": {"metric": "CoherenceMetric"}})
    marks = []
    for number in range(count):
        label = 1 + number % 5
        calibration, (name,) = added_to(calibration, [CalibrationCandidate([(f"m {number}", "r")], "s")], MASK, BEGUN)
        calibration = labelled(calibration, name, LabelBlock(by="A", day=BEGUN, scores={"tone": label}))
        given_label = label if judge_label is None else judge_label if number % 2 else 6 - label
        text = calibration.conversations[-1].digest
        marks.append(JudgeMark(name, text, "opus", "tone", _asked(), "CoherenceMetric", "1", (given_label - 1) / 4))
    write_calibration(folder, calibration)
    _write_marks(folder, marks)
    return calibration


def _asked() -> str:
    return digest(["CoherenceMetric", {}])


def test_the_gate_says_that_a_judge_disagrees_until_it_is_fixed(tmp_path: Path) -> None:
    with_judge(tmp_path, 40, judge_label=3)
    (low,) = calibration_notes(tmp_path, ["opus"], BEGUN)
    assert isinstance(low, Note)
    assert "opus on tone, quadratic kappa -0.67 is below 0.7 (n = 40)" in low
    with_judge(tmp_path, 40)
    assert calibration_notes(tmp_path, ["opus"], BEGUN) == ()
    assert calibration_notes(tmp_path, ["other"], BEGUN) == (
        f"The judge is uncalibrated: 0 of {MIN} labelled conversations have its score.",
    )
    (late,) = calibration_notes(tmp_path, ["opus"], date(2026, 2, 9))
    assert "of 2026-02-02 is overdue by 7 days" in late
    assert calibration_notes(tmp_path / "none", ["opus"], BEGUN) == ()


def test_scores_of_other_words_or_other_steps_do_not_count(tmp_path: Path) -> None:
    calibration = with_judge(tmp_path, 30)
    marks = read_marks(tmp_path)
    assert agreements(calibration, marks)[0].n == 30
    edited = calibration.model_copy(
        update={
            "criteria": {"tone": calibration.criteria["tone"].model_copy(update={"metric": None, "steps": ["Look."]})}
        }
    )
    assert agreements(edited, marks)[0].n == 0


def test_a_link_in_the_place_of_the_scores_is_not_followed(tmp_path: Path) -> None:
    with_judge(tmp_path, 1)
    (tmp_path / "secret").write_text("sk-live-1234\n")
    path = tmp_path / "calibration/judge_scores.jsonl"
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    (note,) = calibration_notes(tmp_path, ["opus"], BEGUN)
    assert "symbolic link" in note
    assert "sk-live" not in note


def test_a_checkout_whose_folder_is_a_link_has_nothing_written_elsewhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "calibration").symlink_to(elsewhere)
    with pytest.raises(UsageError, match="symbolic link"):
        write_calibration(tmp_path / "calibration", empty())
    assert not any(elsewhere.iterdir())


def test_the_threshold_that_is_suggested_fails_few_good_conversations(tmp_path: Path) -> None:
    calibration = with_judge(tmp_path, 150)
    (found,) = thresholds(calibration, read_marks(tmp_path), GoldenScores(scores={"CoherenceMetric": [0.5, 0.9, 0.7]}))
    assert (found.n, found.good, found.golden) == (150, 60, (0.5, 0.6, 0.7, 0.8, 0.9))
    assert found.suggested == 0.75, "labels of 4 are scores of 0.75 here"
    (row,) = (row for row in found.rows if row.threshold == 0.75)
    assert (row.precision, row.recall, row.false_failures) == (1, 1, 0)


def test_labels_say_what_people_would_give_the_golden_set_where_the_same_judge_has_scored_it(tmp_path: Path) -> None:
    golden = GoldenScores("opus", means={"CoherenceMetric": [0.5, 0.75] * 10})
    (found,) = thresholds(with_judge(tmp_path, 60), read_marks(tmp_path), golden)
    assert found.by_people is not None
    assert (found.by_people.labels, found.by_people.others) == (60, 20)
    assert found.by_people.low is not None
    assert found.by_people.high is not None
    assert found.by_people.low < 0.6 < found.by_people.high
    for other in (
        replace(golden, judge="haiku"),
        replace(golden, means={"FluencyMetric": [0.5, 0.75] * 10}),
        replace(golden, means={"CoherenceMetric": [0.5, 0.75] * 4}),
    ):
        assert thresholds(with_judge(tmp_path, 60), read_marks(tmp_path), other)[0].by_people is None
    (few,) = thresholds(with_judge(tmp_path, 29), read_marks(tmp_path), golden)
    assert few.by_people is None


def test_a_criterion_by_steps_is_found_on_the_golden_set_by_its_name(tmp_path: Path) -> None:
    calibration = with_judge(tmp_path, 30)
    criteria = {"tone": CriterionBlock(steps=["Look."])}
    steps = digest(["ConversationalGEval", {"criterion": "tone", "steps": ["Look."]}])
    marks = [replace(mark, asked=steps, metric="ConversationalGEval") for mark in read_marks(tmp_path)]
    golden = GoldenScores(
        scores={"ConversationalGEval": [0.1], "ConversationalGEval tone": [0.9], "CoherenceMetric": [0.5]}
    )
    (by_steps,) = thresholds(calibration.model_copy(update={"criteria": criteria}), marks, golden)
    assert (by_steps.n, by_steps.metric, by_steps.golden) == (30, "ConversationalGEval tone", (0.9,) * 5)
    (by_metric,) = thresholds(calibration, read_marks(tmp_path), golden)
    assert (by_metric.metric, by_metric.golden) == ("CoherenceMetric", (0.5,) * 5)


def of_arm(arm: str, number: int, value: float, reply: str = "Hallo Wanjiku") -> Scored:
    """A judged conversation that people may have labelled."""
    turn = Turn(f"m {number}")
    transcript = Transcript(f"s{number}", (Exchange(turn, Reply(reply)),))
    about = Scenario(f"s{number}", "en", (turn,), DEFAULT_NOW, Customer("Wanjiku", "+254 712 345 432"))
    score = Score("CoherenceMetric", "1", value, 0.5, judged=True)
    return Scored(Trial(about, Arm(arm, arm)), transcript, (), (score,), 1.0)


def both_arms_labelled(folder: Path, *, lenient: float) -> list[ScenarioResult]:
    """Results of twelve scenarios on both arms, all labelled 3, whose judge is more lenient on the change."""
    calibration = empty(criteria={"tone": {"metric": "CoherenceMetric"}})
    results: list[ScenarioResult] = []
    for arm, more in ((BASE, 0.0), (HEAD, lenient)):
        for number in range(12):
            reply = f"Hallo Wanjiku, {arm}"
            turns = [(f"m {number}", reply)]
            calibration, (name,) = added_to(
                calibration, [CalibrationCandidate(turns, "s", names=("Wanjiku",))], MASK, BEGUN
            )
            calibration = labelled(calibration, name, LabelBlock(by="A", day=BEGUN, scores={"tone": 3}))
            results.append(of_arm(arm, number, 0.45 + more + 0.1 * (number % 2), reply))
    write_calibration(folder, calibration)
    return results


def test_a_judge_that_is_more_lenient_with_the_change_is_noted_where_people_labelled_both(tmp_path: Path) -> None:
    results = both_arms_labelled(tmp_path, lenient=0.2)
    *_, note = calibration_notes(tmp_path, ["opus"], BEGUN, results, MASK)
    assert isinstance(note, Note)
    assert "on tone, its score minus people's is +0 points on the base (12 labels) and +20 on the change" in note
    assert "the difference's 95 % interval is +15.6 to +24.4 points" in note
    calibration = read_calibration(tmp_path)
    assert calibration is not None
    alike = [*results[:12], *(of_arm(HEAD, number, 0.5) for number in range(12))]
    assert biases_of_arms(calibration, alike, MASK) == {}, "other words have no label"
    twice = biases_of_arms(calibration, [*results, *results[12:]], MASK)["tone"]
    assert twice.head_labels == 12, "trials with the same words are one conversation"


def test_a_judge_that_treats_both_arms_alike_is_no_note(tmp_path: Path) -> None:
    results = both_arms_labelled(tmp_path, lenient=0.0)
    assert not any("bias" in note for note in calibration_notes(tmp_path, ["opus"], BEGUN, results, MASK))
