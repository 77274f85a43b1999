"""The commit status of a run that was started by hand."""

from dataclasses import replace

import pytest

from ratiba_action.errors import PublishError
from ratiba_action.github.status import LONGEST_DESCRIPTION, CommitStatus
from ratiba_action.model.change import Mode, ModeDecision
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from ratiba_action.reporting.summary import summarise
from tests.support.github_server import GithubState
from tests.support.sample_report import sample_report

HEAD = sample_report().subject.head
RUN = sample_report().subject.run_url


def by_hand(
    conclusion: Conclusion = Conclusion.FAILED,
    mode: Mode = Mode.BLOCKING,
    *,
    enforce: bool = True,
    misconfigured: bool = False,
) -> Report:
    verdict = Verdict(conclusion, "@org/team ::error:: </details>", misconfigured=misconfigured)
    report = sample_report(verdict=verdict, decision=ModeDecision(mode, ()), enforce=enforce)
    return replace(report, subject=replace(report.subject, event="workflow_dispatch"))


def publish(publisher: CommitStatus, report: Report) -> str | None:
    summary = summarise(report)
    return publisher.publish(report, code=summary.exit_code, description=summary.status)


def test_the_status_stands_on_the_head_and_leads_to_the_run(state: GithubState, address: str) -> None:
    assert publish(CommitStatus("token", address), by_hand()) == "ratiba / ratiba"
    assert state.statuses == [
        {
            "sha": HEAD,
            "state": "failure",
            "context": "ratiba / ratiba",
            "description": "Failed: 1 of 4 scenarios passed",
            "target_url": RUN,
        }
    ]


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (by_hand(Conclusion.PASSED), "success"),
        (by_hand(Conclusion.FAILED), "failure"),
        (by_hand(Conclusion.INCOMPLETE), "error"),
        (by_hand(Conclusion.INCONCLUSIVE), "success"),
        (by_hand(Conclusion.SKIPPED, Mode.SKIP), "success"),
        (by_hand(Conclusion.FAILED, Mode.ADVISORY), "success"),
        (by_hand(Conclusion.INCOMPLETE, Mode.ADVISORY), "success"),
        (by_hand(Conclusion.FAILED, enforce=False), "success"),
        (by_hand(Conclusion.INCOMPLETE, Mode.ADVISORY, misconfigured=True), "error"),
        (by_hand(Conclusion.INCOMPLETE, enforce=False, misconfigured=True), "error"),
    ],
)
def test_the_state_is_what_the_exit_code_says(state: GithubState, address: str, report: Report, expected: str) -> None:
    publish(CommitStatus("token", address), report)
    assert [status["state"] for status in state.statuses] == [expected]


@pytest.mark.parametrize("event", ["pull_request", "push", "merge_group", ""])
def test_a_run_that_has_a_check_of_its_own_sets_none(state: GithubState, address: str, event: str) -> None:
    report = sample_report()
    publisher = CommitStatus("token", address)
    assert publish(publisher, replace(report, subject=replace(report.subject, event=event))) is None
    assert state.requests == []


def test_a_manual_run_about_no_pull_request_sets_none(state: GithubState, address: str) -> None:
    report = by_hand()
    without = replace(report, subject=replace(report.subject, pull_request=None))
    assert publish(CommitStatus("token", address), without) is None
    assert state.requests == []


@pytest.mark.parametrize("enforce", [True, False])
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("conclusion", Conclusion)
def test_the_description_is_short_and_repeats_no_text_of_the_change(
    conclusion: Conclusion,
    mode: Mode,
    enforce: bool,  # noqa: FBT001 - a column
) -> None:
    description = summarise(by_hand(conclusion, mode, enforce=enforce)).status
    assert len(description) <= LONGEST_DESCRIPTION
    assert description.startswith(conclusion.value.capitalize())
    assert "team" not in description


def test_a_failure_that_stops_no_merge_says_why() -> None:
    assert "advisory, so" in summarise(by_hand(mode=Mode.ADVISORY)).status
    assert "a trial period, so" in summarise(by_hand(enforce=False)).status
    assert summarise(by_hand(misconfigured=True)).status.startswith("Misconfigured")
    assert "merge" not in summarise(by_hand(mode=Mode.ADVISORY, misconfigured=True)).status


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "valid"), (403, "statuses: write"), (404, "statuses: write"), (422, "commit"), (501, "again")],
)
def test_a_refusal_says_what_to_do(state: GithubState, address: str, status: int, message: str) -> None:
    state.failure = (status, "Resource not accessible by integration")
    with pytest.raises(PublishError) as caught:
        publish(CommitStatus("token", address), by_hand())
    assert str(status) in caught.value.problem
    assert message in caught.value.remedy
    assert len(state.requests) == 1


@pytest.mark.parametrize("head", ["", "a1b2c3d", "../../x", "A" * 40])
def test_a_head_that_is_no_commit_id_is_not_asked_about(state: GithubState, address: str, head: str) -> None:
    report = by_hand()
    with pytest.raises(PublishError, match="not a commit id"):
        publish(CommitStatus("token", address), replace(report, subject=replace(report.subject, head=head)))
    assert state.requests == []


def test_without_a_token_nothing_is_asked(state: GithubState, address: str) -> None:
    with pytest.raises(PublishError, match="github-token is empty"):
        publish(CommitStatus("", address), by_hand())
    assert state.requests == []


def test_a_slow_server_costs_the_deadline(state: GithubState, address: str) -> None:
    state.gate.clear()
    with pytest.raises(PublishError, match="too long"):
        publish(CommitStatus("token", address, deadline_seconds=0.2), by_hand())
    assert state.statuses == []


def test_the_token_is_not_shown() -> None:
    assert "ghs_planted" not in repr(CommitStatus("ghs_planted"))


def test_a_run_that_judged_captured_replies_says_that_no_system_ran() -> None:
    report = replace(by_hand(), system_ran=False)
    assert summarise(report).status == "Failed, no system ran: 1 of 4 scenarios passed"
