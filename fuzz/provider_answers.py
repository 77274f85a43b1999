"""Answers of providers that fail, hang, lie about usage or send anything at all, and the bill that they make."""

import asyncio
import json
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from fuzz.case import Case
from ratiba_action.errors import RatibaError
from ratiba_action.llm.providers.metered import CallRetryPolicy
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from tests.support.live_calls import KEY, LiveRig, live_calls, paid_request
from tests.support.model_servers import Received
from tests.support.provider_faults import (
    Altered,
    Cut,
    Drip,
    Failure,
    Raw,
    Served,
    Stalled,
    declined,
    truncated,
    without_usage,
)

STATUSES = (400, 401, 403, 404, 408, 409, 413, 422, 429, 499, 500, 502, 503, 504, 529, 599, 301, 307, 204, 999)
SPOILT_NUMBERS: tuple[Any, ...] = (
    -1, 1e999, 1.5, "7", None, True, [], {}, 10**30, -(10**30), "NaN", "\u0661", 0.1, 2**63, "1e9",
)  # fmt: skip
GARBAGE = (
    b"", b"null", b"[]", b"{", b"\xff\xfe", b"<html>502</html>", b"{}" * 1000, b"[" * 100_000, b'{"usage": {}}',
    b'{"choices": []}', b'{"id": 1, "usage": null}', b"data: [DONE]\n\n", b'{"type": "error"}', b"\0" * 5000, b'"x"',
    b'{"a": NaN}', b'{"type": "message", "content": "x", "usage": {"input_tokens": Infinity}}',
)  # fmt: skip
ENDPOINTS = ("messages", "chat/completions", "responses", "embeddings")


def spoilt_usage(rng: random.Random) -> Callable[[dict[str, Any]], Any]:
    """A change of an answer's usage into something that no provider means."""

    def change(body: dict[str, Any]) -> Any:
        usage = body.get("usage")
        if not isinstance(usage, dict):
            return body
        chosen = rng.sample(sorted(usage), rng.randint(1, len(usage)))
        return {**body, "usage": {**usage, **{name: rng.choice(SPOILT_NUMBERS) for name in chosen}}}

    return change


def random_answer(rng: random.Random, received: Received, *, slow: bool = True, bad: float = 0.5) -> Served:
    """What a provider answers: well, within what the request allows, and in every bad way.

    Args:
        rng: of the case.
        received: the request.
        slow: whether an answer may hang or come byte by byte.
        bad: share of bad answers.
    """
    step = honest_step(rng, received)
    well: list[Served] = [step, step, step, step]
    badly: list[Served] = [
        Failure(rng.choice(STATUSES), retry_after=rng.choice((None, "0", "1", "-5", "x", "1e9", "99999999"))),
        Failure(429, code=rng.choice((None, "insufficient_quota", "rate_limit_exceeded")), retry_after="0"),
        Altered(step, without_usage),
        Altered(step, spoilt_usage(rng)),
        Altered(step, spoilt_usage(rng)),
        Altered(step, truncated) if "embeddings" not in received.path else step,
        Altered(step, declined) if "embeddings" not in received.path else step,
        Altered(step, lambda body: {**body, rng.choice(sorted(body)): rng.choice(SPOILT_NUMBERS)}),
        Raw(rng.choice(GARBAGE), step=step if rng.random() < 0.5 else None, status=rng.choice((200, 200, 201, 500))),
        Raw(b"x", content_type="text/html", headers={"Content-Encoding": "gzip"}, step=step),
        Raw(json.dumps({"x": "y" * 1_500_000}).encode(), step=step),
        Raw(b"{}", status=307, headers={"Location": "http://127.0.0.1:9/elsewhere"}),
        Cut(step, after=rng.choice((0, 1, 20, 150, 400))),
        Cut(Failure(500), after=rng.choice((0, 20))),
    ]
    if slow:
        badly += [Stalled(step, after=rng.choice((0, 60, 300))), Drip(step, pause=0.05)]
    return rng.choice(badly if rng.random() < bad else well)


def honest_step(rng: random.Random, received: Received) -> Step:
    """An answer whose tokens are no more than the request allows, and no fewer than one."""
    body = received.body
    limits = [body[name] for name in ("max_tokens", "max_completion_tokens", "max_output_tokens") if body.get(name)]
    maximum = min([1_000, *(limit for limit in limits if isinstance(limit, int))])
    tokens = max(len(json.dumps(body)), 1)
    usage = Usage(rng.randint(1, tokens), rng.randint(1, max(maximum, 1)))
    return Step("any", text=rng.choice(("Karibu.", "", "\u202e", "x" * 2000)), usage=usage)


def pay_faulty_providers(case: Case) -> None:
    """Calls at once, under a small cap, to a stand-in whose bill is the truth."""
    asyncio.run(_pay(case))


async def _pay(case: Case) -> None:
    rng = case.rng
    cap = Decimal(rng.choice(("0.0001", "0.001", "0.01", "0.05", "0.2", "5")))
    retries = CallRetryPolicy(attempts=rng.randint(1, 4), unknown=rng.randint(0, 2), first_wait=0.01)
    served = random.Random(f"answers {case.seed}")
    seconds = rng.choice((0.2, 0.4, 2.0))

    def script(received: Received) -> Served:
        return random_answer(served, received, slow=seconds < 1)

    async with live_calls(
        script, cap=cap, total_seconds=seconds, concurrency=rng.randint(1, 8), retries=retries
    ) as rig:
        requests = [_request(rng, number) for number in range(rng.randint(1, 12))]
        tasks = [asyncio.ensure_future(rig.calls.call(request)) for request in requests]
        if case.chance(0.3):
            for task in tasks:
                asyncio.get_running_loop().call_later(rng.uniform(0, 0.3), task.cancel)
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    case.count("paid calls", len(ended))
    for outcome in ended:
        expected = not isinstance(outcome, BaseException) or isinstance(outcome, RatibaError | asyncio.CancelledError)
        case.require("f", f"a call ended with {outcome!r}", holds=expected)
    case.require_no_secret({"outcomes": repr(ended) + str(ended)}, [KEY])
    require_paid(case, rig, cap)


def require_paid(case: Case, rig: LiveRig, cap: Decimal) -> None:
    """Invariant b: neither the bill nor the books exceed the cap, and the books hold at least the bill."""
    bill = rig.server.bill.total
    case.count("US dollars on the stand-ins' bills", float(bill))
    case.require("b", f"the bill is {float(bill)}, above the cap {cap}", holds=bill <= Fraction(cap))
    case.require("b", f"{rig.reservations.spent} is booked, above the cap {cap}", holds=rig.reservations.spent <= cap)
    case.require("b", f"{rig.reservations.spent} is booked, and the bill is {float(bill)}", holds=rig.paid_enough())
    case.require("b", f"reservations are open: {rig.reservations.open}", holds=not rig.reservations.open)


def _request(rng: random.Random, number: int) -> Any:
    endpoint = rng.choice(ENDPOINTS)
    limit = {"messages": "max_tokens", "chat/completions": "max_completion_tokens", "responses": "max_output_tokens"}
    changes: dict[str, Any] = {}
    if endpoint in limit and rng.random() < 0.7:
        changes[limit[endpoint]] = rng.choice((1, 10, 100, 1_000))
    return paid_request(endpoint, number, **changes)
