"""Alerts of a run or a command, sent to Slack and to a signed webhook; one message, and a failure is a warning.

The signature is that of the Standard Webhooks specification, so that its libraries verify it. The addresses are
secrets: no message of ours has more of them than scheme and host.
"""

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from ratiba_action.errors import ExchangeError
from ratiba_action.model.measurement import NotRun
from ratiba_action.model.note import Alert, AlertKind
from ratiba_action.model.values import Usd
from ratiba_action.model.verdict import Conclusion, Report
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.wording import dollars
from ratiba_action.settings.settings import Settings
from ratiba_action.util.http_exchange import HttpAnswer, HttpQuestion, Peer, RetryPolicy, exchange, repeat, retry_after
from ratiba_action.util.text import clip, printable
from ratiba_action.verdict.decline import note_of_decline

NOTIFY_SECONDS = 10.0
"""For everything that is sent."""

CANCELLED_SECONDS = 2.0
"""The same of a cancelled run, which is killed 10 seconds after it was asked to end."""

_SCHEMA = 1
_WARNED = Decimal("0.8")
_LONGEST = 200
"""Characters of an alert's text. Escaped they may be five times as many, and Slack refuses a section above 3,000 and
a message of about 13,000."""

_MAX = 8
_POLICY = RetryPolicy(first_seconds=0.25, max_tries=4)
_RETRYABLE = frozenset({429, 500, 502, 503, 504})
_SLACK = Peer("Slack", "slack-webhook-url")
_WEBHOOK = Peer("The webhook", "webhook-url")
_LINK = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]{1,500}", re.ASCII)
_TITLES: Mapping[AlertKind, str] = {
    AlertKind.FAILED: "Failed on the default branch",
    AlertKind.INCOMPLETE: "Incomplete",
    AlertKind.BUDGET: "Budget",
    AlertKind.MONTH: "Budget of the month",
    AlertKind.DECLINE: "Slow decline",
    AlertKind.PASSED: "Passed",
    AlertKind.DRIFT: "Drift",
    AlertKind.CANARY: "Canary",
    AlertKind.CALIBRATION: "Calibration",
}


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent at once.

    Args:
        alerts: in the order in which they are shown.
        facts: what is known besides, such as ``repository`` and ``commit``.
        url: that leads to the run; empty for none.
    """

    gate: str
    alerts: tuple[Alert, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    url: str = ""


def alerts_of(report: Report, *, default_branch: bool) -> Iterator[Alert]:
    """What a team is notified of.

    Args:
        default_branch: the run is about the default branch itself, not about a change to it.
    """
    verdict, spending = report.verdict, report.spending
    if verdict.conclusion is Conclusion.PASSED:
        yield Alert(AlertKind.PASSED, verdict.reason)
    if default_branch and verdict.conclusion is Conclusion.FAILED:
        yield Alert(AlertKind.FAILED, verdict.reason)
    if verdict.decline is not None and verdict.decline.confirmed:
        yield Alert(AlertKind.DECLINE, note_of_decline(verdict.decline) or "")
    if verdict.conclusion is Conclusion.INCOMPLETE and (default_branch or not verdict.misconfigured):
        yield Alert(AlertKind.INCOMPLETE, verdict.reason)
    refused = [result.reason for result in report.results if isinstance(result, NotRun) and "budget" in result.reason]
    of_month = [" month " in reason for reason in refused]
    if text := _spent("This run", spending.spent, spending.cap, reached=not all(of_month)):
        yield Alert(AlertKind.BUDGET, text)
    for account in report.shared_spending if spending.spent or any(of_month) else ():
        if " month " not in account.name:
            continue
        if text := _spent("All runs of the month", account.spent, account.cap, reached=any(of_month)):
            yield Alert(AlertKind.MONTH, text)


def _spent(who: str, spent: Usd, cap: Usd, *, reached: bool = False) -> str:
    amounts = f"USD {dollars(spent)} of USD {dollars(cap)}"
    if cap and (reached or spent >= cap):
        return f"{who} reached the budget: {amounts} spent."
    return f"{who} spent more than 80 % of the budget: {amounts}." if cap and spent >= cap * _WARNED else ""


def message_of(report: Report, alerts: Sequence[Alert]) -> Message:
    """The message of a run."""
    subject = report.subject
    facts = {
        "repository": subject.repository,
        "branch": subject.branch,
        "pull_request": "" if subject.pull_request is None else str(subject.pull_request),
        "commit": subject.head,
        "conclusion": report.verdict.conclusion.value,
    }
    return Message(report.name, tuple(alerts), {name: value for name, value in facts.items() if value}, subject.run_url)


def notify(
    settings: Settings,
    environment: Mapping[str, str],
    message: Message,
    kinds: Collection[AlertKind],
    warn: Callable[[str], None],
    *,
    redactor: Redactor | None = None,
    seconds: float = NOTIFY_SECONDS,
) -> bool:
    """Send a message to every address of the settings, and warn of each that did not take it; raises nothing.

    Args:
        settings: with the addresses; without any, nothing happens.
        message: that is masked here.
        kinds: which alerts are sent, by the base's configuration.
        warn: receives what could not be sent.
        redactor: of the run; None for one with the settings' secrets.
        seconds: that all of it may take.

    Returns:
        Whether something was sent, and everything was taken.
    """
    mask = redactor or Redactor(settings.secrets)
    alerts = [Alert(alert.kind, _short(mask.text(alert.text))) for alert in message.alerts if alert.kind in kinds]
    targets = _targets(settings, _masked(message, alerts[:_MAX], mask), datetime.now(UTC)) if alerts else ()
    if not targets:
        return False
    ends = time.monotonic() + seconds
    with ThreadPoolExecutor(len(targets)) as pool:
        # At once, so that a server that hangs takes no other's time.
        problems = [*filter(None, pool.map(partial(_send, environment=environment, ends=ends), targets))]
    for problem in problems:
        warn(mask.text(f"The notification was not sent: {problem}. The verdict does not depend on it."))
    return not problems


def _masked(message: Message, alerts: Sequence[Alert], mask: Redactor) -> Message:
    facts = {name: _short(mask.secretless(value)) for name, value in message.facts.items()}
    url = message.url if _LINK.fullmatch(message.url) else ""
    return Message(message.gate, tuple(alerts), facts, mask.secretless(url))


def _short(text: str) -> str:
    """On one line, with nothing that cannot be seen."""
    return clip(printable(clip(text, 5 * _LONGEST)), _LONGEST)


def _targets(settings: Settings, message: Message, now: datetime) -> tuple[HttpQuestion, ...]:
    plain = {"Content-Type": "application/json", "User-Agent": "ratiba-eval-gate"}
    found: list[HttpQuestion] = []
    if settings.slack_webhook_url:
        content = json.dumps(slack_content(message)).encode()
        found.append(HttpQuestion("POST", settings.slack_webhook_url, plain, _SLACK, content))
    if settings.webhook_url:
        content = json.dumps(webhook_content(message, now)).encode()
        name = f"msg_{hashlib.sha256(content).hexdigest()[:32]}"
        signed = signature_headers(settings.webhook_secret, name, int(now.timestamp()), content)
        found.append(HttpQuestion("POST", settings.webhook_url, {**plain, **signed}, _WEBHOOK, content))
    return tuple(found)


def _send(question: HttpQuestion, *, environment: Mapping[str, str], ends: float) -> str:
    """Post it, and again while that may help; what went wrong in the end, empty for nothing."""

    def once() -> HttpAnswer:
        answer = exchange(question, environment, ends)
        if not 200 <= answer.status < 300:  # noqa: PLR2004 - what HTTP calls success
            body = clip(answer.body.decode("utf-8", "replace"), _LONGEST)
            raise ExchangeError(
                f"{question.peer.name} answered {answer.status} ({body or 'no message'})",
                transient=answer.status in _RETRYABLE,
                wait_seconds=retry_after(answer),
            )
        return answer

    try:
        # One whose answer was lost is not repeated: people would read it twice.
        repeat(once, _POLICY, ends, lambda error: not error.unclear)
    except ExchangeError as error:
        return printable(error.problem).rstrip(".")
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here changes no verdict
        return type(error).__name__
    return ""


def signature_headers(secret: bytes, name: str, timestamp: int, content: bytes) -> dict[str, str]:
    """The three headers of the Standard Webhooks specification, version ``v1``: HMAC-SHA256 of id, time and body.

    Args:
        secret: shared with the receiver.
        name: of the message, the same each time it is sent.
        timestamp: seconds since 1970.
    """
    signed = b"%s.%d.%s" % (name.encode(), timestamp, content)
    code = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": name, "webhook-timestamp": str(timestamp), "webhook-signature": f"v1,{code}"}


def webhook_content(message: Message, now: datetime) -> dict[str, Any]:
    """The body for a webhook."""
    return {
        "schema": _SCHEMA,
        "type": "ratiba.alert",
        "timestamp": now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "data": {
            "gate": message.gate,
            **message.facts,
            "run_url": message.url,
            "alerts": [{"kind": alert.kind.value, "text": alert.text} for alert in message.alerts],
        },
    }


def slack_content(message: Message) -> dict[str, Any]:
    """The body for an incoming webhook of Slack: a header, a section for each alert, and where it happened."""
    sections = [
        {"type": "section", "text": _mrkdwn(f"*{_TITLES[alert.kind]}*: {_escaped(alert.text)}")}
        for alert in message.alerts
    ]
    context = [f"{name}: {value}" for name, value in message.facts.items() if name != "conclusion"]
    where = _escaped(clip(" · ".join(context), 2 * _LONGEST))
    link = f"<{_escaped(message.url)}|Show the run>" if message.url else ""
    ending = [{"type": "context", "elements": [_mrkdwn(text) for text in (where, link) if text]}]
    header = {"type": "plain_text", "text": f"Ratiba Eval Gate: {message.gate}"[:150], "emoji": False}
    return {
        "text": f"Ratiba Eval Gate {message.gate}: " + ", ".join(_TITLES[alert.kind] for alert in message.alerts),
        "blocks": [{"type": "header", "text": header}, *sections, *(ending if where or link else [])],
        "unfurl_links": False,
    }


def _mrkdwn(text: str) -> dict[str, Any]:
    # Verbatim: names of channels and people in a text notify nobody.
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
