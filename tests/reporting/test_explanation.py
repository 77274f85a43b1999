"""Which lines make scenarios fail, in every report format; the lines are written by whoever opened the pull request."""

import re
from dataclasses import replace
from decimal import Decimal
from io import StringIO

import pytest

from ratiba_action.model.attribution import Attribution, ChangedPart, Explanation, Finding
from ratiba_action.model.verdict import Report
from ratiba_action.privacy.masking import Redactor
from ratiba_action.publish.annotations import annotations_of
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.results_json import load_report, render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.reporting.terminal import make_console
from ratiba_action.reporting.terminal_verdict import print_verdict
from ratiba_action.reporting.wording import describe_explanation
from tests.support.sample_report import sample_report

PARTS = (
    ChangedPart("prompts/a.md", 3, "Greet.\n", "Greet warmly.\n"),
    ChangedPart("prompts/a.md", 14, "Swahili hours count from dawn.\n", ""),
    ChangedPart("prompts/b.md", 1, "", "Be brief.\n"),
    ChangedPart("logo.png", whole=True),
)

BLOB = "https://github.com/ratiba/assistant/blob/a1b2c3d4e5f60718293a4b5c6d7e8f9012345678/prompts/a.md"


def explained(*parts: ChangedPart, **scenarios: Attribution) -> Explanation:
    return Explanation(parts or PARTS, scenarios, 7, Decimal("0.12"))


def sentences(**scenarios: Attribution) -> list[str]:
    described = describe_explanation(explained(**scenarios))
    assert described is not None
    return [cause.sentence for cause in described.causes]


def report_with(found: Explanation) -> Report:
    return replace(sample_report(), explanation=found)


FOUND = Attribution(Finding.FOUND, ((1,),), 7)


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [
        (
            FOUND,
            (
                "prompts/a.md line 14 (“Swahili hours count from dawn.” removed) makes x fail; "
                "the other 3 changed parts do not."
            ),
        ),
        (
            Attribution(Finding.FOUND, ((0, 2),)),
            (
                "prompts/a.md line 3 (“Greet.” → “Greet warmly.”) and prompts/b.md line 1 (“Be brief.” added) together "
                "make x fail; the other 2 changed parts do not."
            ),
        ),
        (
            Attribution(Finding.SEVERAL, ((2,), (3,))),
            (
                "Each of these makes x fail on its own: prompts/b.md line 1 (“Be brief.” added); "
                "logo.png (the whole file)."
            ),
        ),
        (
            Attribution(Finding.ONE_OF, ((2, 3),), 4, "the limit of 4 runs was reached"),
            (
                "The cause of the failure of x may be one of these changed parts: "
                "prompts/b.md line 1 (“Be brief.” added) and logo.png (the whole file) "
                "(the limit of 4 runs was reached)."
            ),
        ),
        (
            Attribution(Finding.NONE, (), 2, "the base fails as well"),
            "No line of the change makes x fail: the base fails as well.",
        ),
        (
            Attribution(Finding.NOT_RESOLVED, (), 2, "the deadline was reached"),
            "Which line makes x fail was not resolved: the deadline was reached.",
        ),
        (
            Attribution(Finding.FOUND, ((99,), (-1,)), 2, "positions of a forged file"),
            "Which line makes x fail was not resolved: positions of a forged file.",
        ),
    ],
)
def test_each_finding_is_a_sentence(cause: Attribution, sentence: str) -> None:
    assert sentences(x=cause) == [sentence]


OF_PROMPTS = (*(replace(part, prompt=True) for part in PARTS[:2]), *PARTS[2:])
UNRECORDED = Attribution(Finding.FOUND, ((2,),), 4, unrecorded=True, request="model call 1: price (3500 → 35)")


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [
        (
            UNRECORDED,
            (
                "prompts/b.md line 1 (“Be brief.” added) leaves x without a recorded answer; the other 3 changed parts "
                "do not. Model call 1: price (3500 → 35)."
            ),
        ),
        (
            replace(UNRECORDED, finding=Finding.SEVERAL, causes=((0, 1), (2,)), request=""),
            (
                "Each of these leaves x without a recorded answer on its own: prompts/a.md (2 changed parts); "
                "prompts/b.md line 1 (“Be brief.” added)."
            ),
        ),
        (
            replace(UNRECORDED, finding=Finding.ONE_OF, causes=((2, 3),), why="the limit of 4 runs was reached"),
            (
                "What leaves x without a recorded answer may be one of these changed parts: prompts/b.md line 1 "
                "(“Be brief.” added) and logo.png (the whole file) (the limit of 4 runs was reached). Model call 1: "
                "price (3500 → 35)."
            ),
        ),
        (
            replace(UNRECORDED, finding=Finding.NONE, causes=(), why="the base has none either"),
            "No line of the change leaves x without a recorded answer: the base has none either.",
        ),
    ],
)
def test_what_leaves_a_scenario_without_a_recorded_answer_is_a_sentence(cause: Attribution, sentence: str) -> None:
    described = describe_explanation(explained(*OF_PROMPTS, x=cause))
    assert described is not None
    assert [found.sentence for found in described.causes] == [sentence]


def test_a_prompt_without_a_recorded_answer_is_nothing_to_fix_and_code_is() -> None:
    prompt = replace(UNRECORDED, causes=((0, 1),))
    advice = sample_report().verdict.action
    assert what_to_do(explained(*OF_PROMPTS, x=prompt)) == advice
    assert what_to_do(explained(*OF_PROMPTS, x=UNRECORDED)).startswith("Fix or revert [`prompts/b.md` line 1]")


def test_scenarios_with_one_cause_are_named_together() -> None:
    (sentence,) = sentences(x=FOUND, y=replace(FOUND, steps=3))
    assert "makes x, y fail" in sentence


def test_the_comment_the_annotation_the_page_and_the_results_name_the_line() -> None:
    found = replace(explained(x=FOUND), left_out=("z",))
    summary = summarise(report_with(found))
    comment = render_comment(summary)
    assert f"**Which line did it:** [`prompts/a.md` line 14]({BLOB}#L14) (“Swahili hours" in comment
    assert comment.index("Which line did it") < comment.index("### Failing scenarios")
    assert "Found by 7 runs with parts of the change, for USD 0.12. Not explained: z." in comment
    first = annotations_of(summary)[0]
    assert (first.path, first.line, first.title) == ("prompts/a.md", 14, "Ratiba: x")
    page = render_html(summary)
    assert '<div class="cause"><p><code>prompts/a.md:14</code> <b>cause</b></p>' in page
    assert "- Swahili hours count from dawn." in page
    assert load_report(render_results(summary), exact=True).explanation == found


def what_to_do(found: Explanation) -> str:
    (line,) = re.findall(r"^\*\*What to do:\*\* (.*)$", render_comment(summarise(report_with(found))), re.MULTILINE)
    return str(line)


def test_what_to_do_names_the_lines_and_the_command_that_runs_the_scenario_again() -> None:
    failing = {row.scenario.id: FOUND for row in summarise(sample_report()).scenarios if row.failing}
    found = explained(**failing)
    where = f"[`prompts/a.md` line 14]({BLOB}#L14)"
    assert what_to_do(found) == f"Fix or revert {where}, or update the scenario if the change is right."
    assert "```text\nratiba gate --scenario salon_reschedule\n```" in render_comment(summarise(report_with(found)))


def test_the_terminal_and_the_page_name_the_lines_as_the_comment_does() -> None:
    failing = {row.scenario.id: FOUND for row in summarise(sample_report()).scenarios if row.failing}
    summary = summarise(report_with(explained(**failing)))
    advice = "Fix or revert prompts/a.md line 14, or update the scenario if the change is right."
    stream = StringIO()
    print_verdict(summary, {}, make_console(stream, {}))
    assert f"What to do: {advice}\n" in stream.getvalue()
    assert f"<b>What to do:</b> {advice}</p>" in render_html(summary)


def test_places_are_links_only_where_repository_and_commit_are_known() -> None:
    subject = sample_report().subject
    unknown = [
        replace(subject, run_url=""),
        replace(subject, head="a1b2c3d"),
        replace(subject, run_url="https://evil.example/other/repository/actions/runs/1"),
        replace(subject, run_url="https://evil.example/ratiba/assistant/actions/runs/1) [x"),
    ]
    for each in unknown:
        comment = render_comment(summarise(replace(report_with(explained(x=FOUND)), subject=each)))
        assert "**Which line did it:** `prompts/a.md` line 14 (“Swahili hours" in comment
        assert "/blob/" not in comment


def test_what_to_do_keeps_the_verdicts_advice_where_the_lines_explain_only_a_part() -> None:
    advice = sample_report().verdict.action
    assert what_to_do(explained(x=FOUND)) == f"Fix or revert [`prompts/a.md` line 14]({BLOB}#L14). {advice}"
    assert what_to_do(explained(x=Attribution(Finding.ONE_OF, ((0, 1),), 3, "the limit was reached"))) == advice


def test_only_what_is_certain_is_annotated() -> None:
    doubtful = Attribution(Finding.ONE_OF, ((0, 1),), 3, "the limit was reached")
    summary = summarise(report_with(explained(x=doubtful)))
    assert not [each for each in annotations_of(summary) if each.path.startswith("prompts/")]
    assert '<div class="possible cause">' in render_html(summary)


def test_a_report_without_an_explanation_has_no_word_of_it() -> None:
    summary = summarise(sample_report())
    assert "Which line did it" not in render_comment(summary)
    assert "Which lines make scenarios fail" not in render_html(summary)


HOSTILE = (
    "</pre><script>alert(1)</script> ![x](http://evil.example/x) @everyone\n::error file=a::owned\n##[error]owned\n"
)


def test_a_hostile_line_stays_text_everywhere() -> None:
    part = ChangedPart("prompts/a,line=1::.md", 2, "", HOSTILE)
    summary = summarise(report_with(explained(part, x=Attribution(Finding.FOUND, ((0,),)))))
    comment, page = render_comment(summary), render_html(summary)
    text = next(line for line in comment.splitlines() if line.startswith("**Which line did it"))
    assert "<" not in text
    assert "![" not in text
    assert "@everyone" not in text
    assert "`prompts/a,line=1::.md` lines 2 to 4" in text  # code, so that it can be copied
    assert "::" not in re.sub(r"`[^`]*`", "", text)
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_line_with_a_credential_or_a_phone_number_is_not_shown() -> None:
    secret = "the-known-secret-value"
    parts = (
        ChangedPart("a.md", 1, f"{secret}\n", 'key = "sk-ant-api03-abcdefgh12345678"\n'),
        ChangedPart("b.md", 1, "", "Call Wanjiku at +254 712 345 432.\n"),
    )
    request = f"model call 1: phone ('{secret}' → '+254 712 345 432')"
    cause = Attribution(Finding.ONE_OF, ((0, 1),), 1, f"it printed {secret}", unrecorded=True, request=request)
    report = Redactor([secret]).report(report_with(explained(*parts, x=cause)))
    summary = summarise(report)
    for text in (render_comment(summary), render_html(summary), render_results(summary)):
        assert secret not in text
        assert "sk-ant-api03" not in text
        assert "712 345 432" not in text
    assert report.explanation is not None
    assert report.explanation.parts[0].added == 'key = "***"\n'


def test_hundreds_of_parts_are_counted_and_the_cause_is_shown() -> None:
    parts = tuple(ChangedPart("a.md", number, "", f"line {number}\n") for number in range(1, 501))
    described = describe_explanation(explained(*parts, x=Attribution(Finding.FOUND, ((450,),))))
    assert described is not None
    assert (len(described.diff), described.omitted) == (201, 299)
    assert described.diff[-1] == (parts[450], "cause")
    summary = summarise(report_with(explained(*parts, x=Attribution(Finding.FOUND, ((450,),)))))
    assert "299 more parts that no failure was traced to" in render_html(summary)
