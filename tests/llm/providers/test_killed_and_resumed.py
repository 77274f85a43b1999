"""A run that is killed with SIGKILL: its journal holds what the providers charge, and nothing is paid twice."""

import asyncio
import os
import sys
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from ratiba_action.llm.scripted_answers import Step
from ratiba_action.model.conversation import Usage
from ratiba_action.money.journal_lines import JournalState, parse_journal
from tests.support.eventually import eventually_async
from tests.support.live_calls import KEY, MODELS, RATES, paid_request
from tests.support.model_servers import ModelServer, Received
from tests.support.provider_faults import Cut, Failure, Served

pytestmark = pytest.mark.processes

CALLS = 60
CAP = Decimal(2)
RUN = Path(__file__).with_name("live_run.py")
PROJECT = Path(__file__).parents[3]


class Uneven:
    """Most first attempts are answered, some are lost on their way or refused."""

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()

    def __call__(self, received: Received) -> Served:
        number = number_of(received)
        self.asked[number] += 1
        step = Step("any", text="Sawa", usage=Usage(200, 400))
        if self.asked[number] > 1:
            return step
        if number % 5 == 0:
            return Cut(step, number * 5)
        return Failure(529) if number % 7 == 0 else step


def number_of(received: Received) -> int:
    body = received.body
    text = body.get("user") or body.get("system") or body["systemInstruction"]["parts"]
    return int((text if isinstance(text, str) else text[0]["text"]).removeprefix("call "))


def settled(books: JournalState) -> set[int]:
    keys = {paid_request(list(MODELS)[number % len(MODELS)], number).journal_key: number for number in range(CALLS)}
    return {keys[key] for key in books.answers}


def earlier_spending(journal: Path) -> JournalState:
    return parse_journal(journal, journal.read_bytes())


async def start(server: ModelServer, journal: Path, how: str, cap: Decimal) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(RUN),
        server.url,
        str(journal),
        how,
        str(CALLS),
        str(cap),
        cwd=journal.parent.parent / "work",
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "state" / "run.jsonl"


@pytest.mark.parametrize("charges", [1, 17, 50])
async def test_a_killed_run_hides_no_charge_and_its_successor_pays_for_no_settled_call_again(
    journal: Path, charges: int
) -> None:
    script = Uneven()
    async with ModelServer(script, KEY, other=RATES) as server:

        async def charged() -> int:
            return len(server.bill.charges)

        first = await start(server, journal, "begin", CAP)
        await eventually_async(charged, until=lambda count: count >= charges)
        first.kill()
        await first.wait()
        left = earlier_spending(journal)
        assert server.bill.total <= Fraction(left.total) <= CAP
        paid_before, asked_before = settled(left), Counter(script.asked)

        second = await start(server, journal, "resume", CAP)
        assert await second.wait() == 0
        whole = earlier_spending(journal)
        assert server.bill.total <= Fraction(whole.total) <= CAP
        assert settled(whole) == set(range(CALLS))
        assert {number for number in paid_before if script.asked[number] != asked_before[number]} == set()


async def test_with_too_little_money_a_killed_run_and_its_successor_keep_the_cap_together(journal: Path) -> None:
    cap = Decimal("0.3")
    async with ModelServer(Uneven(), KEY, other=RATES) as server:

        async def charged() -> int:
            return len(server.bill.charges)

        first = await start(server, journal, "begin", cap)
        await eventually_async(charged, until=lambda count: count >= 9)
        first.kill()
        await first.wait()
        assert await (await start(server, journal, "resume", cap)).wait() == 0
        whole = earlier_spending(journal)
        assert 0 < server.bill.total <= Fraction(whole.total) <= cap
        assert len(whole.answers) < CALLS
