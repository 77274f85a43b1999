"""What is sent to Slack and to a webhook, to whom, how often, and what comes of it when nobody takes it."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.config.configuration import NotificationsBlock
from ratiba_action.model.change import Subject
from ratiba_action.model.comparison import Decline
from ratiba_action.model.note import Alert, AlertKind
from ratiba_action.model.verdict import Conclusion, Report, SharedSpending, Verdict
from ratiba_action.publish.notifications import (
    Message,
    alerts_of,
    message_of,
    notify,
    signature_headers,
    slack_content,
)
from ratiba_action.settings.settings import read_settings
from ratiba_action.util.http_exchange import HttpQuestion
from tests.support.receiver import Posted, Receiver, Reply, receiver
from tests.support.sample_report import sample_report
from tests.support.slack_blocks import require_slack

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
KEY = base64.b64decode(SECRET.removeprefix("whsec_"))
INCOMPLETE = Message("ratiba", (Alert(AlertKind.INCOMPLETE, "The run was out of time."),), {"repository": "shop/bot"})
EVERY = tuple(AlertKind)


def report(conclusion: Conclusion, *, spent: str = "0", cap: str = "20", **changes: Any) -> Report:
    sample = sample_report(verdict=Verdict(conclusion, "Two scenarios fail."), results=(), **changes)
    return replace(sample, spending=replace(sample.spending, spent=Decimal(spent), cap=Decimal(cap)))


def unasked(found: Report, *, default_branch: bool = False) -> list[Alert]:
    """Those that are sent by default."""
    kinds = NotificationsBlock().kinds
    return [alert for alert in alerts_of(found, default_branch=default_branch) if alert.kind in kinds]


def kinds(found: Report, *, default_branch: bool = False) -> list[AlertKind]:
    return [alert.kind for alert in unasked(found, default_branch=default_branch)]


def send(
    message: Message, *, slack: Receiver | None = None, own: Receiver | None = None, **options: Any
) -> tuple[bool, list[str]]:
    variables = {} if slack is None else {"RATIBA_SLACK_WEBHOOK_URL": f"{slack.address}/services/T0/B0/PLANTED-slack"}
    if own is not None:
        variables |= {"RATIBA_WEBHOOK_URL": f"{own.address}/alerts/PLANTED-own", "RATIBA_WEBHOOK_SECRET": SECRET}
    warnings: list[str] = []
    taken = notify(read_settings(variables, {}), {}, message, options.pop("kinds", EVERY), warnings.append, **options)
    return taken, warnings


def test_a_failure_is_an_alert_on_the_default_branch_only() -> None:
    assert kinds(report(Conclusion.FAILED), default_branch=True) == [AlertKind.FAILED]
    assert kinds(report(Conclusion.FAILED)) == []
    assert kinds(report(Conclusion.PASSED), default_branch=True) == []
    assert kinds(report(Conclusion.SKIPPED), default_branch=True) == []


def test_a_run_that_passed_is_one_where_the_configuration_asks_for_it() -> None:
    assert [alert.kind for alert in alerts_of(report(Conclusion.PASSED), default_branch=False)] == [AlertKind.PASSED]
    assert AlertKind.PASSED not in NotificationsBlock().kinds
    assert NotificationsBlock.model_validate({"events": ["failed"], "on_success": True}).kinds == (
        AlertKind.FAILED,
        AlertKind.PASSED,
    )


def test_an_incomplete_run_is_one_unless_a_pull_request_has_a_mistake_in_its_files() -> None:
    assert kinds(report(Conclusion.INCOMPLETE)) == [AlertKind.INCOMPLETE]
    mistaken = replace(report(Conclusion.INCOMPLETE), verdict=Verdict(Conclusion.INCOMPLETE, "x", misconfigured=True))
    assert kinds(mistaken) == []
    assert kinds(mistaken, default_branch=True) == [AlertKind.INCOMPLETE]


@pytest.mark.parametrize(
    ("spent", "cap", "message"),
    [
        ("15.99", "20", ""),
        ("16", "20", "This run spent more than 80 % of the budget: USD 16.00 of USD 20.00."),
        ("20", "20", "This run reached the budget: USD 20.00 of USD 20.00 spent."),
        ("0", "0", ""),
    ],
)
def test_the_budget_is_one_at_80_and_at_100_percent(spent: str, cap: str, message: str) -> None:
    alerts = unasked(report(Conclusion.PASSED, spent=spent, cap=cap))
    assert [alert.text for alert in alerts] == ([message] if message else [])
    assert all(alert.kind is AlertKind.BUDGET for alert in alerts)


def test_the_month_is_one_at_80_percent_for_a_run_that_spends() -> None:
    month = SharedSpending("the budget of the month 2026-11", Decimal(240), Decimal(300))
    pull_request = SharedSpending("the budget of the pull request a/b#7", Decimal(20), Decimal(20))
    both = (month, pull_request)
    assert kinds(report(Conclusion.PASSED, spent="1", shared_spending=both)) == [AlertKind.MONTH]
    assert kinds(report(Conclusion.PASSED, shared_spending=both)) == []
    low = replace(month, spent=Decimal("239.99"))
    assert kinds(report(Conclusion.PASSED, spent="1", shared_spending=(low,))) == []


def test_one_message_has_every_alert_and_leads_to_the_run() -> None:
    subject = Subject("shop/bot", head="a" * 40, branch="main", run_url="https://github.com/shop/bot/actions/runs/7")
    found = report(Conclusion.FAILED, spent="20", subject=subject)
    message = message_of(found, [*alerts_of(found, default_branch=True)])
    with receiver(usual=Reply(body=b"ok")) as slack, receiver() as own:
        assert send(message, slack=slack, own=own) == (True, [])
    assert (len(slack.posted), len(own.posted)) == (1, 1)
    assert require_slack(slack.posted[0].body) == [
        f"Ratiba Eval Gate: {found.name}",
        "*Failed on the default branch*: Two scenarios fail.",
        "*Budget*: This run reached the budget: USD 20.00 of USD 20.00 spent.",
        f"repository: shop/bot · branch: main · commit: {'a' * 40}",
        "<https://github.com/shop/bot/actions/runs/7|Show the run>",
    ]
    data = json.loads(own.posted[0].body)
    assert (data["schema"], data["type"]) == (1, "ratiba.alert")
    assert data["data"]["run_url"] == subject.run_url
    assert [alert["kind"] for alert in data["data"]["alerts"]] == ["failed", "budget"]


def require_signature(posted: Posted) -> None:
    """Verify it as the Standard Webhooks specification says."""
    name, at = posted.headers["webhook-id"], posted.headers["webhook-timestamp"]
    signed = f"{name}.{at}.".encode() + posted.body
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert posted.headers["webhook-signature"] == f"v1,{expected}"
    assert abs(int(at) - time.time()) < 60


def test_the_signature_is_that_of_the_published_reference() -> None:
    headers = signature_headers(KEY, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_webhook_can_verify_what_it_receives_and_knows_a_repeated_message() -> None:
    with receiver(Reply(503)) as own:
        assert send(INCOMPLETE, own=own) == (True, [])
    for posted in own.posted:
        require_signature(posted)
    assert len({posted.headers["webhook-id"] for posted in own.posted}) == 1
    assert len(own.posted) == 2


@pytest.mark.parametrize(
    ("listed", "sent"), [((), 0), ((AlertKind.DRIFT,), 0), ((AlertKind.INCOMPLETE,), 1), (EVERY, 1)]
)
def test_only_the_events_of_the_configuration_are_sent(listed: Iterable[AlertKind], sent: int) -> None:
    with receiver() as slack:
        assert send(INCOMPLETE, slack=slack, kinds=tuple(listed)) == (bool(sent), [])
    assert len(slack.posted) == sent
    assert send(INCOMPLETE) == (False, [])


def test_secrets_and_identifiers_are_in_no_message() -> None:
    text = "services/T0/B0/PLANTED-slack was called by +254 712 345 432 with Bearer PLANTED-own"
    message = replace(INCOMPLETE, alerts=(Alert(AlertKind.INCOMPLETE, text),), facts={"branch": "alerts/PLANTED-own"})
    with receiver() as slack, receiver() as own:
        assert send(message, slack=slack, own=own) == (True, [])
    for posted in (*slack.posted, *own.posted):
        assert b"PLANTED-slack" not in posted.body
        assert b"alerts/PLANTED-own" not in posted.body
        assert b"712 345" not in posted.body


def sent_to_slack(text: str, kind: AlertKind) -> bytes:
    message = Message("g" * 60, (Alert(kind, text),) * 20, {"branch": text, "repository": text}, url=text)
    posted: list[bytes] = []

    def take(question: HttpQuestion, **_: object) -> str:
        posted.append(question.content or b"")
        return ""

    variables = {"RATIBA_SLACK_WEBHOOK_URL": "http://127.0.0.1:9/services/x"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ratiba_action.publish.notifications._send", take)
        assert notify(read_settings(variables, {}), {}, message, EVERY, pytest.fail)
    (content,) = posted
    return content


@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=2_000), st.sampled_from(EVERY))
def test_whatever_a_text_says_slack_takes_it_and_reads_no_syntax_in_it(text: str, kind: AlertKind) -> None:
    assert require_slack(sent_to_slack(text, kind))


@pytest.mark.parametrize("text", ["&" * 2_000, "<!channel>" * 200, "\u202e" * 2_000, "@here", "<https://evil|here>"])
def test_the_longest_and_worst_texts_stay_within_slacks_limits(text: str) -> None:
    assert require_slack(sent_to_slack(text, AlertKind.CALIBRATION))


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://a.example/x|y>", "https://a.example/ b", ""])
def test_a_link_that_is_none_is_left_out(url: str) -> None:
    with receiver() as slack:
        send(replace(INCOMPLETE, url=url), slack=slack)
    assert "Show the run" not in slack.posted[0].body.decode()


@pytest.mark.parametrize(("status", "tries"), [(400, 1), (403, 1), (404, 1), (410, 1), (302, 1)])
def test_a_refusal_is_a_warning_without_the_address(status: int, tries: int) -> None:
    reply = Reply(status, b"invalid_payload services/T0/B0/PLANTED-slack", {"Location": "/elsewhere"})
    with receiver(usual=reply) as slack:
        taken, (warning,) = send(INCOMPLETE, slack=slack)
    assert not taken
    assert len(slack.posted) == tries
    assert warning == (
        f"The notification was not sent: Slack answered {status} (invalid_payload ***). "
        "The verdict does not depend on it."
    )


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_server_that_is_busy_is_asked_again(status: int) -> None:
    with receiver(Reply(status, headers={"Retry-After": "0"})) as slack:
        assert send(INCOMPLETE, slack=slack) == (True, [])
    assert len(slack.posted) == 2


def test_one_that_hangs_takes_no_more_than_its_time_and_not_that_of_the_other() -> None:
    began = time.monotonic()
    with receiver(usual=Reply(0)) as slack, receiver() as own:
        taken, (warning,) = send(INCOMPLETE, slack=slack, own=own, seconds=5)
    assert time.monotonic() - began < 30
    assert not taken
    assert "Slack took too long" in warning
    assert len(slack.posted) == len(own.posted) == 1


def test_one_that_is_not_there_is_a_warning_that_shows_its_host_alone() -> None:
    variables = {"RATIBA_SLACK_WEBHOOK_URL": "http://127.0.0.1:9/services/PLANTED"}
    warnings: list[str] = []
    assert not notify(read_settings(variables, {}), {}, INCOMPLETE, EVERY, warnings.append, seconds=30)
    assert "'http://127.0.0.1:9' could not be reached" in warnings[0]
    assert "PLANTED" not in warnings[0]


def test_a_message_without_facts_is_one_too() -> None:
    message = Message("ratiba", (Alert(AlertKind.CANARY, "Rolled back."),))
    assert require_slack(json.dumps(slack_content(message)).encode())[1:] == ["*Canary*: Rolled back."]


def test_a_confirmed_slow_decline_is_an_alert_and_a_doubtful_one_is_none() -> None:
    decline = Decline("the best", "a1b2c3d", datetime(2026, 11, 1, tzinfo=UTC), 1, 20, -0.06, confirmed=True)
    found = replace(report(Conclusion.PASSED), verdict=Verdict(Conclusion.PASSED, "All passed.", decline=decline))
    (alert,) = unasked(found, default_branch=True)
    assert alert.kind is AlertKind.DECLINE
    assert alert.text.startswith("Slow decline: the mean score of 20 scenarios is 6 points below that of a1b2c3d")
    doubtful = replace(found.verdict, decline=replace(decline, confirmed=False))
    assert not unasked(replace(found, verdict=doubtful), default_branch=True)
