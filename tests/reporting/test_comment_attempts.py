"""Earlier runs on the pull request, as the comment shows them."""

from dataclasses import replace

from markdown_it import MarkdownIt
from syrupy.assertion import SnapshotAssertion

from ratiba_action.github.attempts import MAX_ATTEMPTS, CommentAttempt, attempt_of, history, read_attempts
from ratiba_action.model.change import Mode, ModeDecision
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from ratiba_action.reporting.comment import LIMIT, render_comment
from ratiba_action.reporting.comment_sections import attempts_table
from ratiba_action.reporting.markdown import length
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import sample_check, sample_report, sample_scored

EARLIER = (
    CommentAttempt(999, 1, "0f1e2d3c4b5a", Mode.ADVISORY, Conclusion.PASSED, "pull_request"),
    CommentAttempt(1000, 1, "a1b2c3d4e5f6", Mode.BLOCKING, Conclusion.INCOMPLETE, "pull_request"),
    CommentAttempt(1000, 2, "none", Mode.BLOCKING, Conclusion.FAILED, "workflow_dispatch"),
)
MANY = tuple(replace(EARLIER[0], run_id=run) for run in range(900, 900 + MAX_ATTEMPTS))


def shown(report: Report) -> str:
    return attempts_table(history(EARLIER, attempt_of(report)), report.subject)


def test_the_attempts_are_folded_and_the_present_one_is_marked(snapshot: SnapshotAssertion) -> None:
    assert shown(sample_report()) == snapshot


def test_a_single_run_needs_no_table() -> None:
    body = render_comment(summarise(sample_report()))
    assert "runs on this pull request" not in body
    assert len(read_attempts(body)) == 1


def test_the_comment_holds_the_table_and_what_the_next_run_reads() -> None:
    body = render_comment(summarise(sample_report()), earlier=EARLIER)
    assert "The last 4 runs on this pull request" in body
    assert read_attempts(body)[:3] == EARLIER


def test_at_most_ten_are_listed_with_the_present_one() -> None:
    body = render_comment(summarise(sample_report()), earlier=MANY)
    assert "The last 10 runs" in body
    assert [one.run_id for one in read_attempts(body)] == [*range(901, 910), 1001]


def test_a_skipped_run_lists_them_too() -> None:
    verdict = Verdict(Conclusion.SKIPPED, "Nothing that the gate watches has changed.")
    report = sample_report(results=(), verdict=verdict, decision=ModeDecision(Mode.SKIP, ()))
    body = render_comment(summarise(report), earlier=EARLIER)
    assert "The last 4 runs" in body
    assert read_attempts(body)[-1].conclusion is Conclusion.SKIPPED


def test_links_are_made_only_from_an_address_of_a_run() -> None:
    report = sample_report()
    for address in ("", "javascript:alert(1)", "https://evil.example/a b/actions/runs/1", "https://x/y)[z](/runs/1"):
        table = shown(replace(report, subject=replace(report.subject, run_url=address)))
        assert "](" not in table
        assert "1000, attempt 2" in table


def test_it_renders_as_one_table_of_links_and_words() -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(shown(sample_report()))
    kinds = [token.type for token in tokens]
    links = [child for token in tokens for child in token.children or [] if child.type == "link_open"]
    assert kinds.count("tr_open") == 1 + len(EARLIER) + 1
    repository = "https://github.com/ratiba/assistant"
    assert [link.attrs["href"] for link in links] == [
        f"{repository}/actions/runs/1001/attempts/1",
        f"{repository}/commit/a1b2c3d4e5f6",
        f"{repository}/actions/runs/1000/attempts/2",
        f"{repository}/actions/runs/1000/attempts/1",
        f"{repository}/commit/a1b2c3d4e5f6",
        f"{repository}/actions/runs/999/attempts/1",
        f"{repository}/commit/0f1e2d3c4b5a",
    ]


def test_a_long_comment_drops_the_table_and_keeps_what_the_next_run_reads() -> None:
    checks = tuple(sample_check(passed=False, what="state " + "x" * 250) for _ in range(10))
    results = tuple(sample_scored(f"spa_{n:03}", checks=checks, reply="Asante 🙂 " * 500) for n in range(300))
    body = render_comment(summarise(sample_report(results=results)), earlier=MANY)
    assert length(body) <= LIMIT
    assert len(read_attempts(body)) == MAX_ATTEMPTS
    small = render_comment(summarise(sample_report(results=results)), 4_000, earlier=MANY)
    assert length(small) <= 4_000
    assert "earlier runs" in small
    assert "The last 10 runs" not in small
