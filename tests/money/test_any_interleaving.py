"""Whatever happens in whatever order, the cap holds, and the journal counts at least what the provider charged.

The provider is a stand-in with a bill of its own: the bill is what the books are held against.
"""

import asyncio
import tempfile
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ratiba_action.errors import BudgetError
from ratiba_action.model.conversation import JournaledAnswer, Party, Reservation, Usage
from ratiba_action.money.budget import Ledger
from ratiba_action.money.journal import begin_journal, resume_journal
from ratiba_action.money.journal_lines import parse_journal
from ratiba_action.money.reservations import RunReservations

CAP = Decimal("0.30")
OUTCOMES = ["answer", "answer", "answer", "refused", "silent", "dropped", "garbage"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What becomes of one request: so many steps until the provider charges, so many more until it answers."""

    upper: Decimal
    share: int
    outcome: str
    steps_before: int
    steps_after: int

    @property
    def price(self) -> Decimal:
        return Decimal(int(self.upper.scaleb(12)) * self.share // 100).scaleb(-12)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the gate: an attempt after the other until one is answered, or cancelled after some steps."""

    attempts: list[Attempt]
    start: int
    cancelled_after: int | None


ATTEMPTS = st.builds(
    Attempt,
    upper=st.integers(0, 10**11).map(lambda grains: Decimal(grains).scaleb(-12)),
    share=st.integers(0, 100),
    outcome=st.sampled_from(OUTCOMES),
    steps_before=st.integers(0, 3),
    steps_after=st.integers(0, 3),
)
CALLS = st.builds(
    Call,
    attempts=st.lists(ATTEMPTS, min_size=1, max_size=3),
    start=st.integers(0, 8),
    cancelled_after=st.none() | st.none() | st.integers(0, 12),
)


class Provider:
    """Charges for what it was asked, also when nobody waits for the answer any more."""

    def __init__(self, world: "World") -> None:
        self.bill = Decimal(0)
        self._world = world
        self._requests: set[asyncio.Task[None]] = set()

    async def ask(self, attempt: Attempt) -> None:
        request = asyncio.ensure_future(self._serve(attempt))
        self._requests.add(request)
        if attempt.outcome == "silent":
            for _ in range(attempt.steps_before // 2):
                await asyncio.sleep(0)
            return
        await asyncio.shield(request)

    async def _serve(self, attempt: Attempt) -> None:
        for _ in range(attempt.steps_before):
            await asyncio.sleep(0)
        if attempt.outcome != "refused":
            self.bill += attempt.price
            self._world.look()
        for _ in range(attempt.steps_after):
            await asyncio.sleep(0)

    async def finish(self) -> None:
        await asyncio.gather(*self._requests)


class World:
    """A run's books, a provider, and what was seen of them at each moment."""

    def __init__(self, folder: Path, *, resume: bool = False) -> None:
        self.ledger = Ledger(CAP)
        open_journal = resume_journal if resume else begin_journal
        self.journal = open_journal(folder / "state" / "run.jsonl", "run", folder / "workspace")
        self.ledger.carry_on(self.journal.state.calls, self.journal.state.last_number)
        self.paid: list[str] = []
        self.reservations = RunReservations(self.ledger, self.journal, warn=self._refuse)
        self.provider = Provider(self)
        self.bills: list[tuple[int, Decimal]] = []
        self.passed_the_cap = False

    def look(self) -> None:
        self.passed_the_cap |= self.ledger.spent + self.ledger.reserved > CAP
        self.bills.append((self.journal.path.stat().st_size, self.provider.bill))

    async def run(self, calls: list[Call]) -> None:
        watcher = asyncio.ensure_future(self._watch())
        tasks = [asyncio.ensure_future(self._call(call, number)) for number, call in enumerate(calls)]
        stops = [
            asyncio.ensure_future(self._stop(task, call.cancelled_after))
            for task, call in zip(tasks, calls, strict=True)
            if call.cancelled_after is not None
        ]
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*stops)
        await self.provider.finish()
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
        self.look()
        for error in ended:
            if error is not None and not isinstance(error, BudgetError | asyncio.CancelledError):
                raise error

    async def _watch(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(0)

    async def _stop(self, task: asyncio.Task[None], steps: int) -> None:
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()

    async def _call(self, call: Call, number: int) -> None:
        for _ in range(call.start):
            await asyncio.sleep(0)
        for ordinal, attempt in enumerate(call.attempts):
            key = f"{number}/{ordinal}"
            if key in self.journal.state.answers:
                return
            reservation = await self.reservations.reserve(Party.JUDGE, f"s{number}", "gpt-6", attempt.upper)
            if await self._made(attempt, reservation, key):
                return

    async def _made(self, attempt: Attempt, reservation: Reservation, key: str) -> bool:
        try:
            await self.provider.ask(attempt)
        except asyncio.CancelledError:
            await self.reservations.keep(reservation)
            raise
        if attempt.outcome == "refused":
            await self.reservations.release(reservation)
        elif attempt.outcome == "answer":
            self.paid.append(key)
            await self.reservations.settle(reservation, Usage(1, 1), attempt.price, JournaledAnswer(key, {"text": key}))
        else:
            await self.reservations.keep(reservation)
        return attempt.outcome == "answer"

    @staticmethod
    def _refuse(warning: str) -> None:
        raise AssertionError(warning)


@settings(max_examples=40)
@given(calls=st.lists(CALLS, min_size=50, max_size=70), cuts=st.lists(st.integers(0, 10**6), max_size=40))
def test_the_cap_holds_and_no_crash_hides_what_was_charged(calls: list[Call], cuts: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        asyncio.run(world.run(calls))
        world.journal.close()
        content = world.journal.path.read_bytes()
    assert not world.passed_the_cap
    assert world.ledger.reserved == 0
    assert world.provider.bill <= world.ledger.spent <= CAP
    whole = parse_journal(Path("journal"), content)
    assert whole.total == world.ledger.spent
    assert whole.open == ()
    begun = content.index(b"\n") + 1
    for cut in cuts:
        _assert_a_crash_is_counted(world, content, begun + cut % (len(content) - begun + 1))


def test_a_crash_at_any_byte_counts_at_least_what_was_charged(tmp_path: Path) -> None:
    outcomes = [outcome for outcome in OUTCOMES for _ in range(3)]
    calls = [
        Call([Attempt(Decimal("0.05"), 10 * number % 101, outcome, number % 4, number % 3)], number % 5, None)
        for number, outcome in enumerate(outcomes)
    ]
    world = World(tmp_path)
    asyncio.run(world.run(calls))
    world.journal.close()
    content = world.journal.path.read_bytes()
    assert world.provider.bill > 0
    for length in range(content.index(b"\n") + 1, len(content) + 1):
        _assert_a_crash_is_counted(world, content, length)


@settings(max_examples=20)
@given(calls=st.lists(CALLS, min_size=50, max_size=50), cut=st.integers(0, 10**6))
def test_a_resumed_run_pays_for_no_settled_call_again_and_both_together_hold_the_cap(
    calls: list[Call], cut: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = World(Path(folder))
        asyncio.run(first.run(calls))
        first.journal.close()
        content = first.journal.path.read_bytes()
        begun = content.index(b"\n") + 1
        first.journal.path.write_bytes(content[: begun + cut % (len(content) - begun + 1)])
        second = World(Path(folder), resume=True)
        before = second.ledger.spent
        asyncio.run(second.run(calls))
        second.journal.close()
        whole = parse_journal(second.journal.path, second.journal.path.read_bytes())
    settled = set(second.journal.state.answers)
    assert not settled & set(second.paid)
    assert set(whole.answers) == settled | set(second.paid)
    assert not second.passed_the_cap
    assert before + second.provider.bill <= second.ledger.spent == whole.total <= CAP


def _assert_a_crash_is_counted(world: World, content: bytes, length: int) -> None:
    """The journal as a process left it that died when it was so long, or while it wrote the line that ends later."""
    charged = max((bill for size, bill in world.bills if size <= length), default=Decimal(0))
    assert parse_journal(Path("journal"), content[:length]).total >= charged
