"""The base of a change holds conversations too: with its own files, answers and money, and nothing of it stays."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

import pytest

from ratiba_action.decide.deciding import DecideRequest, decide
from ratiba_action.errors import ConfigurationError
from ratiba_action.model.change import Mode
from ratiba_action.model.conversation import Party
from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.model.plan import BASE, HEAD, Arm, Plan, Trial
from ratiba_action.money.budget import Ledger
from ratiba_action.run.arms import head_inputs
from ratiba_action.run.composition import open_services
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.inputs import RunLog, RunRequest
from ratiba_action.run.plan_loop import run_first, run_further
from ratiba_action.run.services import RunServices
from ratiba_action.settings.settings import read_settings
from ratiba_action.tenancy.no_database import NoDatabase
from tests.support.live_repository import LiveRepository, report_of
from tests.support.progress import RecordedProgress

pytestmark = pytest.mark.usefixtures("quiet_deepeval")

NAMES = ("asks", "greets")


def replies(results: tuple[ScenarioResult, ...], arm: str) -> list[str]:
    chosen = [one for one in results if one.trial.arm.name == arm]
    assert all(isinstance(one, Scored) for one in chosen), chosen
    return [each.reply.text for one in chosen if isinstance(one, Scored) for each in one.transcript.exchanges]


def left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


class Run:
    """A run of a pull request in this process, whose plans a test gives."""

    def __init__(self, live: LiveRepository, variables: dict[str, str], scratch: Path, budget: str = "20") -> None:
        environment = {**live.small.environment, **variables, "RATIBA_EVAL_BUDGET_USD": budget}
        self.settings = read_settings(environment, {})
        event = DecideRequest(
            live.small.folder, "pull_request", Path(variables["GITHUB_EVENT_PATH"]), floor=Mode.BLOCKING
        )
        decided = decide(event, environment)
        request = RunRequest(
            settings=self.settings, decided=decided, repository=live.small.folder, environment=environment
        )
        self.inputs, self.log = read_inputs(request), RunLog(RecordedProgress())
        self.ledger = Ledger(self.settings.budget_usd)
        self.scratch = scratch

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[RunServices]:
        head = head_inputs(self.inputs)
        self.scratch.mkdir(mode=0o711, exist_ok=True)
        opened = open_services(
            self.inputs, head, ledger=self.ledger, log=self.log, scratch=self.scratch, with_base=True
        )
        async with opened as services:
            yield services

    def plan(self, *arms: str, number: int = 0) -> Plan:
        """A trial of every scenario on some arms, as a verdict asks for it: it knows no folder of the base."""
        scenarios = self.inputs.selection.scenarios
        return Plan(tuple(Trial(one, Arm(arm, ""), number) for one in scenarios for arm in arms))


@pytest.fixture(autouse=True)
def quiet_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """DeepEval is loaded in this process, where no command has told it to send nothing."""
    for name in ("DEEPEVAL_TELEMETRY_OPT_OUT", "DEEPEVAL_DISABLE_DOTENV"):
        monkeypatch.setenv(name, "1")


async def pull_request(live: LiveRepository) -> dict[str, str]:
    """Two conversations, and a change whose system says so in every reply."""
    for name in NAMES:
        live.scenario(name, f"Hello from {name}")
    adapter = live.small.folder / "adapter.py"
    text = '"text": text'
    adapter.write_text(adapter.read_text().replace(text, '"text": text + " (base)"'))
    base = live.git.commit({})
    adapter.write_text(adapter.read_text().replace("(base)", "(head)"))
    return live.pull_request(base, live.git.commit({}))


async def test_each_arm_runs_its_own_code_and_the_base_is_booked_as_such(live: LiveRepository, scratch: Path) -> None:
    run = Run(live, await pull_request(live), scratch)
    status = live.git.git("status", "--porcelain")
    async with run.opened() as services:
        assert (scratch / "base").exists(), "the base's files are there before anything of the change is started"
        assert services.arms == {}
        first = await run_first(run.plan(HEAD), services)
        assert list(services.arms) == [BASE, HEAD], "and so is its template"
        assert Party.BASELINE not in {call.party for call in run.ledger.calls}
        more = await run_further(run.plan(HEAD, BASE, number=1), services)
        assert not list(live.git.folder.glob("**/base")), "the work tree is left alone"
    assert more.refusal is None
    assert replies(first.results, HEAD) == ["You are welcome. (head)"] * 2
    assert replies(more.results, HEAD) == ["You are welcome. (head)"] * 2
    assert replies(more.results, BASE) == ["You are welcome. (base)"] * 2
    assert live.git.git("status", "--porcelain") == status
    spending = run.ledger.snapshot()
    system, judge = spending.by_party["system"], spending.by_party["judge"]
    assert spending.by_party["baseline"] * 2 == system + judge, "two trials of the head, one of the base"
    assert spending.spent == live.models.bill.total


async def test_the_database_begins_first_and_is_ended_where_the_run_cannot_start(
    live: LiveRepository, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, steps, begun = Run(live, await pull_request(live), scratch), list[str](), asyncio.Event()

    @asynccontextmanager
    async def open_tenants(*_: object) -> AsyncIterator[NoDatabase]:
        steps.append("the database begins")
        begun.set()
        try:
            await asyncio.Event().wait()
            yield NoDatabase()
        finally:
            steps.append("the database ends")

    @asynccontextmanager
    async def open_judging(*_: object) -> AsyncIterator[None]:
        await begun.wait()
        steps.append("nothing can judge")
        raise ConfigurationError("DeepEval is not installed.")
        yield

    monkeypatch.setattr("ratiba_action.run.composition.open_tenants", open_tenants)
    monkeypatch.setattr("ratiba_action.run.composition.open_judging", open_judging)
    with pytest.raises(ConfigurationError, match="DeepEval"):
        async with run.opened():
            pass
    assert steps == ["the database begins", "nothing can judge", "the database ends"]
    assert left_in(scratch) == []


async def test_confirming_trials_that_the_cap_does_not_hold_are_not_begun(live: LiveRepository, scratch: Path) -> None:
    variables = await pull_request(live)
    whole = Run(live, variables, scratch)
    async with whole.opened() as services:
        await run_first(whole.plan(HEAD), services)
    tight = Run(live, variables, scratch / "tight", budget=str((whole.ledger.spent * 2).quantize(Decimal("0.01"))))
    async with tight.opened() as services:
        await run_first(tight.plan(HEAD), services)
        asked = len(live.models.received)
        refused = await run_further(tight.plan(HEAD, BASE, number=1), services)
        assert len(live.models.received) == asked
    assert refused.results == ()
    assert "RATIBA_EVAL_BUDGET_USD" in (refused.refusal or "")
    assert tight.ledger.spent <= tight.settings.budget_usd


async def test_a_base_whose_system_does_not_start_is_a_reason_and_no_defect(
    live: LiveRepository, scratch: Path
) -> None:
    for name in NAMES:
        live.scenario(name, f"Hello from {name}")
    base = live.git.commit({"adapter.py": "raise RuntimeError('broken on the base')"})
    live.small.write("adapter.py", ADAPTER_OF_HEAD)
    run = Run(live, live.pull_request(base, live.git.commit({})), scratch)
    async with run.opened() as services:
        first = await run_first(run.plan(HEAD), services)
        refused = await run_further(run.plan(HEAD, BASE, number=1), services)
    assert replies(first.results, HEAD) == ["fine"] * 2
    assert refused.results == ()
    assert "it could not be started" in (refused.refusal or "")


ADAPTER_OF_HEAD = """
class Adapter:
    def migrate(self, database_url):
        pass

    def open(self, context):
        return self

    def send(self, message):
        return {"text": "fine", "state": "SAID"}
"""


async def test_a_replay_compares_every_recorded_trial_with_the_base(live: LiveRepository) -> None:
    for name in NAMES:
        live.scenario(name, f"Hello from {name}")
    await live.record("--trials", "2")
    base = live.git.commit({})
    head = live.git.commit({"prompts/unused.md": "Nobody reads this."})
    ended = await live.gate(**live.pull_request(base, head), RATIBA_LLM="replay")
    assert ended.code == 0, ended.printed
    held = [(one.trial.scenario.id, one.trial.number) for one in report_of(ended).results]
    assert sorted(held) == [(name, number) for name in NAMES for number in (0, 1)]
    assert "asks.base" in ended.printed
    assert not (live.small.folder / "base").exists()
