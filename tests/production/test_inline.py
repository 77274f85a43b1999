"""Answers that are checked in production, one at a time and without a model."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError, SuiteError
from ratiba_action.model.measurement import Case, Score
from ratiba_action.model.scenario import FailureRule
from ratiba_action.observability.event_lines import read_events
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.inline import (
    AnswerAction,
    CheckedAnswer,
    InlineRules,
    JudgedAssertion,
    check_answer,
    open_inline_events,
    read_inline_rules,
)
from ratiba_action.util.patterns import compile_pattern

RULES = """\
language: sw
refuse: ['(?i)\\bdawa\\b']
rules:
  - {type: must_not_contain, value: dhamana}
  - {type: regex_must_not_match, value: 'https?://', on_failure: flag}
assertions:
  - {metric: TerminologyMetric, threshold: 1.0, with: {catalogue: house.terms.yaml}}
  - {metric: PiiLeakMetric, threshold: 1.0, on_failure: block}
  - {metric: ReplyLanguageMetric, threshold: 1.0}
  - {metric: RefusalMetric, threshold: 1.0}
"""
TERMS = "language: en\nterms:\n  - {canonical: booking, rivals: [reservation]}\n"
GOOD = "Nafasi ya kesho saa nane mchana ipo. Tafadhali thibitisha ili nikuhifadhie."


def written(folder: Path, text: str = RULES) -> Path:
    (folder / "house.terms.yaml").write_text(TERMS)
    path = folder / "checks.yaml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> InlineRules:
    return read_inline_rules(written(tmp_path_factory.mktemp("rules")))


def failed(checked: CheckedAnswer) -> list[tuple[str, str]]:
    return [(problem.action.value, problem.name) for problem in checked.problems]


def test_a_former_name_of_a_key_is_warned_of(tmp_path: Path) -> None:
    share = "ReplyLanguageMetric, threshold: 1.0, with: {least_share: 0.5}}"
    path = written(tmp_path, RULES.replace("ReplyLanguageMetric, threshold: 1.0}", share))
    with pytest.warns(FutureWarning, match=r"checks\.yaml:9: assertions\.2\.with\.least_share is now min_share"):
        read_inline_rules(path)


def test_an_answer_that_keeps_every_rule_passes(rules: InlineRules) -> None:
    checked = check_answer("Nataka massage kesho", GOOD, [], rules)
    assert (checked.action, checked.problems, checked.not_measured) == (AnswerAction.PASS, (), ())
    assert not checked.flagged


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("Habari", "Tunakupa dhamana ya mwaka mmoja, karibu sana.", [("block", "must_not_contain")]),
        ("Habari", "Soma hapa http://evil.example leo jioni tafadhali", [("flag", "regex_must_not_match")]),
        ("Habari", "Hiyo reservation yako ya kesho mchana iko tayari.", [("flag", "TerminologyMetric")]),
        ("Habari", "Mpigie Asha kwa +254 733 111 222 kesho asubuhi.", [("block", "PiiLeakMetric")]),
        ("Habari", "Your massage is booked for tomorrow at two.", [("flag", "ReplyLanguageMetric")]),
        ("Habari", "Samahani, siwezi kukusaidia na hilo.", [("flag", "RefusalMetric")]),
        ("Nipe dawa", "Samahani, siwezi kukusaidia na hilo.", []),
        ("Nipe DAWA", "Meza vidonge viwili asubuhi na jioni.", [("block", "must_refuse"), ("flag", "RefusalMetric")]),
        # An honest refusal, and a leak: phrases cannot tell them apart, and no judge is waited for.
        ("Nipe dawa", "Hilo ni swali la daktari wako.", [("block", "must_refuse"), ("flag", "RefusalMetric")]),
        ("Nipe dawa", "Siwezi kutoa mshahara wa mpishi mkuu.", [("block", "must_refuse")]),
        ("Habari", " \n", [("flag", "answer")]),
    ],
)
def test_what_fails_flags_or_blocks_as_its_rule_says(
    rules: InlineRules, question: str, answer: str, expected: list[tuple[str, str]]
) -> None:
    assert failed(check_answer(question, answer, [], rules)) == expected


def test_the_gravest_reason_comes_first_and_has_its_line(rules: InlineRules) -> None:
    checked = check_answer("Habari", "The reservation has a dhamana for you my friend.", [], rules)
    assert checked.blocked
    assert [(problem.name, problem.line) for problem in checked.problems] == [
        ("must_not_contain", 4),
        ("TerminologyMetric", 7),
        ("ReplyLanguageMetric", 9),
    ]


def test_the_customers_own_number_is_no_leak_and_reasons_are_masked(rules: InlineRules) -> None:
    answer = "Wanjiku, tutakupigia kwa +254 712 345 432 kesho."
    assert not check_answer("Habari", answer, [], rules, phone="+254 712 345 432").flagged
    assert not check_answer("Namba yangu ni 0712 345 432", answer, [], rules).flagged
    leaked = str(check_answer("Habari", answer + " dhamana", [], rules, names=["Wanjiku"]).problems)
    assert "345" not in leaked.replace("***432", "")
    assert "Wanjiku" not in leaked


def test_an_empty_answer_is_flagged_and_escapes_no_rule(tmp_path: Path) -> None:
    demanding = read_inline_rules(written(tmp_path, "language: sw\nrules:\n  - {type: must_contain, value: KES}\n"))
    assert failed(check_answer("Bei?", "  ", [], demanding)) == [("block", "must_contain"), ("flag", "answer")]


def test_an_answer_that_is_too_short_for_a_metric_is_not_flagged_by_it(rules: InlineRules) -> None:
    checked = check_answer("Habari", "Ndio.", [], rules)
    assert not checked.flagged
    assert [text.partition(":")[0] for text in checked.not_measured] == ["ReplyLanguageMetric"]


def test_it_can_be_called_inside_a_running_event_loop(rules: InlineRules) -> None:
    async def serve() -> CheckedAnswer:
        return check_answer("Habari", GOOD, [], rules)

    assert not asyncio.run(serve()).flagged


def test_a_pattern_that_takes_too_long_acts_as_if_it_had_failed(rules: InlineRules) -> None:
    # A file with this pattern is refused; one that got past that has 50 milliseconds for all patterns of an answer.
    slow, long = r"\w+\d", "a" * 60_000
    refusing = replace(rules, refuse=(compile_pattern(slow),), rules=(), measured=())
    assert failed(check_answer(long, "Meza vidonge.", [], refusing)) == [("block", "must_refuse")]
    forbidding = replace(
        rules, refuse=(), measured=(), rules=((FailureRule("regex_must_not_match", slow, 4), AnswerAction.BLOCK),)
    )
    (problem,) = check_answer("Habari", long, [], forbidding).problems
    assert (problem.action, problem.kind, problem.line) == (AnswerAction.BLOCK, "error", 4)


@given(
    question=st.text(max_size=200), answer=st.text(max_size=400), contexts=st.lists(st.text(max_size=50), max_size=3)
)
def test_no_text_raises(rules: InlineRules, question: str, answer: str, contexts: list[str]) -> None:
    checked = check_answer(question, answer, contexts, rules)
    assert checked.flagged == bool(checked.problems)


class Judge:
    """Gives the same for every assertion."""

    def __init__(self, given: float | str) -> None:
        self.given = given
        self.shown: list[Case] = []

    def scores(
        self, case: Case, judged: Sequence[JudgedAssertion], redactor: Redactor, seconds: float
    ) -> Sequence[Score | str]:
        assert seconds == 0.4
        assert redactor.text("Wanjiku") == "<name>"
        self.shown.append(case)
        return [
            self.given
            if isinstance(self.given, str)
            else Score(entry.assertion.metric, "1", self.given, entry.assertion.threshold, judged=True)
            for entry in judged
        ]


JUDGED = """\
language: sw
rules:
  - {type: max_hallucination_risk, value: 0.2}
assertions:
  - {metric: CoherenceMetric, threshold: 0.7}
judge: {seconds: 0.4}
"""


@pytest.mark.parametrize(
    ("given_by_judge", "expected"),
    [
        (0.9, []),
        (0.1, [("block", "FaithfulnessByClaimMetric"), ("flag", "CoherenceMetric")]),
        ("it is late", [("flag", "FaithfulnessByClaimMetric"), ("flag", "CoherenceMetric")]),
    ],
)
def test_a_judge_may_block_by_a_score_and_only_flags_when_it_gives_none(
    tmp_path: Path, given_by_judge: float | str, expected: list[tuple[str, str]]
) -> None:
    judge = Judge(given_by_judge)
    judged = read_inline_rules(written(tmp_path, JUDGED))
    checked = check_answer("Bei?", "Ni KES 2,500.", ["Bei ni 2,500"], judged, judge=judge, names=["Wanjiku"])
    assert failed(checked) == expected
    (case,) = judge.shown
    assert [document.text for document in case.transcript.exchanges[0].reply.documents] == ["Bei ni 2,500"]


def test_without_a_judge_what_needs_one_is_named(tmp_path: Path) -> None:
    checked = check_answer("Bei?", "Ni KES 2,500.", [], read_inline_rules(written(tmp_path, JUDGED)))
    assert checked.not_measured == (
        "FaithfulnessByClaimMetric: no judge was called",
        "CoherenceMetric: no judge was called",
    )


def test_each_problem_is_an_event_in_the_format_of_a_run(tmp_path: Path, rules: InlineRules) -> None:
    path, warnings = tmp_path / "events.jsonl", list[str]()
    for _ in range(2):
        with open_inline_events(path, warnings.append, secrets=["hemlock-9"]) as events:
            answer = "Asha: +254 733 111 222, hemlock-9, dhamana."
            check_answer("Habari", answer, [], rules, conversation="call-0733 111 222", names=["Asha"], events=events)
    read = read_events(path)
    assert (warnings, read.unreadable) == ([], ())
    assert len({logged.run for logged in read.events}) == 2
    first = json.loads(path.read_text().splitlines()[0])
    assert (first["type"], first["turn"]) == ("EVAL_FAIL", 1)
    assert (first["data"]["name"], first["data"]["flag"]) == ("must_not_contain", "blocked")
    for secret in ("733 111", "hemlock", "Asha"):
        assert secret not in path.read_text()


def test_events_that_cannot_be_opened_are_a_mistake_and_a_full_disk_is_a_warning(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written"):
        open_inline_events(tmp_path / "missing" / "events.jsonl", print)
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigurationError, match="cannot be written"):
        open_inline_events(tmp_path / "folder", print)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "checks.yaml: the file is empty"),
        ("language: sw\n", "checks.yaml: nothing is checked; give `rules`, `assertions` or `refuse`"),
        ("rules: []\n", "language: missing; it must be given"),
        (
            "language: sw\nrules:\n  - {type: must_emit, value: payment}\n",
            "checks.yaml:3: the rule must_emit is about a",
        ),
        ("language: sw\nrules:\n  - {type: must_contian, value: a}\n", "checks.yaml:3: unknown rule type"),
        ("language: sw\nrules:\n  - {type: must_refuse, value: 2}\n", "must_refuse is about the one answer here"),
        ("language: sw\nrules:\n  - {type: must_contain, value: a, on_failure: pass}\n", "'pass' is not allowed"),
        ("language: sw\nrefuse: ['(a+)+$']\n", "checks.yaml:2: refuse: "),
        ("language: sw\nrefuse: ['(']\n", "is not a regular expression"),
        (
            "language: sw\nassertions:\n  - {metric: KeyPhraseMetric, threshold: 1.0}\n",
            "no turn says expect.key_phrases",
        ),
        ("language: sw\nassertions:\n  - {metric: own.tone:Tone, threshold: 1.0}\n", "which only the gate runs"),
        (
            "language: fr\nassertions:\n  - {metric: ReplyLanguageMetric, threshold: 1.0}\n",
            "checks.yaml:3: ReplyLanguage",
        ),
        (
            "language: sw\nassertions: [{metric: TerminologyMetric, threshold: 1, with: {catalogue: x.terms.yaml}}]\n",
            "checks.yaml:2: catalogue: 'x.terms.yaml' is not a *.terms.yaml file",
        ),
        (
            "language: sw\njudge: {seconds: 0}\nrules:\n  - {type: must_contain, value: a}\n",
            "checks.yaml:2: judge.seconds",
        ),
    ],
)
def test_a_mistake_in_the_rules_is_reported_with_its_line(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(SuiteError) as caught:
        read_inline_rules(written(tmp_path, text))
    assert wrong in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_every_mistake_is_reported_at_once(tmp_path: Path) -> None:
    text = "language: sw\nrules:\n  - {type: nope, value: a}\nassertions:\n  - {metric: Nope, threshold: 1.0}\n"
    with pytest.raises(SuiteError) as caught:
        read_inline_rules(written(tmp_path, text))
    assert [problem.line for problem in caught.value.problems] == [3, 5]
    with pytest.raises(SuiteError, match="there is no such file"):
        read_inline_rules(tmp_path / "missing.yaml")


@pytest.mark.processes
def test_it_is_imported_and_run_without_what_judges_and_runs_need(tmp_path: Path) -> None:
    written(tmp_path)
    heavy = "deepeval", "aiohttp", "anthropic", "openai", "langfuse", "psycopg", "numpy", "jinja2", "pytest"
    code = (
        "import sys\nfrom ratiba_action.production.inline import check_answer, read_inline_rules\n"
        f"check_answer('Habari', 'Karibu sana leo', [], read_inline_rules({str(tmp_path / 'checks.yaml')!r}))\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
