"""What an advisory run would send to models, against what its base sends: only the change's own doing raises a mode."""

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from ratiba_action.decide.deciding import Decided
from ratiba_action.decide.observed_files import ObservedFiles
from ratiba_action.decide.read import read_change
from ratiba_action.errors import InfrastructureError
from ratiba_action.llm.canonical_request import prompt_digest, request_key
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.llm.request_inputs import request_inputs
from ratiba_action.model.change import Mode, ModeDecision, Reason
from ratiba_action.model.conversation import Party
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.plan import Plan
from ratiba_action.model.reads import Reads
from ratiba_action.model.shard import Shard
from ratiba_action.run.base_commit import BaseInputs
from ratiba_action.run.changed_requests import raised_by_requests, raised_by_shards
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunLog, RunRequest
from ratiba_action.settings.settings import read_settings
from tests.support.git_repository import GitRepository

if TYPE_CHECKING:
    from ratiba_action.run.session import OpenSession

PROMPT = "You are the shop's assistant.\nNever promise a refund.\nBe short."
CONFIGURATION = "system: {adapter: 'system:Adapter'}\n"
SCENARIO = "id: returns\nlanguage: fr\nturns: [{user: hello}]\nrules: [{type: must_not_contain, value: x}]\n"
Body = Mapping[str, Any]


def body(prompt: str = PROMPT, **changes: Any) -> Body:
    messages = [{"role": "system", "content": prompt}, {"role": "user", "content": "hello"}]
    return {"model": "gpt-5", "messages": messages, "temperature": 0.2, **changes}


def request(given: Body, number: int = 0) -> ModelRequest:
    endpoint = endpoint_named("chat/completions")
    prompt, key = prompt_digest(endpoint.system_prompt(given)), request_key(endpoint, given)
    model = given["model"]
    return ModelRequest(
        "returns", 0, Party.SYSTEM, number, "openai", "chat/completions", model, key, 0, prompt, "", given
    )


def recorded(given: Body) -> ModelRecording:
    asked = request(given)
    return ModelRecording(
        asked.key, 0, "live", "openai", asked.model, "", asked.system, {}, inputs=request_inputs(asked)
    )


class Sides:
    """Sessions in which base and change send what the test says, run for run.

    Args:
        repository: of the change; every other folder is the base's.
        base: what the base sends in its first run, its second, and so on.
        head: the same of the change.
    """

    def __init__(self, repository: Path, base: Iterator[Body], head: Iterator[Body]) -> None:
        self._repository, self._base, self._head = repository, base, head
        self.runs: list[str] = []
        self.late = False

    def open(self, inputs: RunInputs, head: ArmInputs, *, log: RunLog, **_: object) -> Any:
        of_head = Path(head.arm.root) == self._repository
        assert (inputs.settings.llm.value, inputs.settings.ledger_url) == ("replay", ""), "something could be paid for"
        self.runs.append("head" if of_head else "base")
        sides = self

        class Fake:
            cancelled, ended_late = False, sides.late

            def conduct(self, work: Callable[[Any], Any]) -> None:
                with pytest.raises(StopIteration):
                    work(self).send(None)

            async def run(self, plan: Plan) -> None:
                assert [trial.scenario.rules for trial in plan.trials] == [()]
                sent = next(sides._head if of_head else sides._base)
                assert log.asked is not None
                log.asked(request(sent))

        return Fake()


@pytest.fixture
def advisory(tmp_path: Path) -> RunInputs:
    """A change of code that the paths call advisory, to a system whose request is recorded."""
    repository = GitRepository(tmp_path / "checkout")
    repository.commit({
        ".github/ratiba.yml": CONFIGURATION,
        "scenarios/returns.yaml": SCENARIO,
        "scenarios/other.yaml": SCENARIO.replace("returns", "other"),
        "agent.py": f"PROMPT = '''{PROMPT}'''\n",
    })  # fmt: skip
    repository.write({"agent.py": "PROMPT = '''edited'''\n"})
    decided = Decided(ModeDecision(Mode.ADVISORY, ()), read_change("", None, repository.folder, os.environ))
    inputs = read_inputs(
        RunRequest(settings=read_settings({}, {}), decided=decided, repository=repository.folder, environment={})
    )
    assert isinstance(inputs.base, BaseInputs)
    return replace(inputs, base=replace(inputs.base, recordings={"returns": (recorded(body()),)}))


def raised(inputs: RunInputs, sides: Sides) -> RunInputs:
    return raised_by_requests(inputs, cast("OpenSession", sides.open))


def always(sent: Body) -> Iterator[Body]:
    return itertools.repeat(sent)


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (
            body(PROMPT.replace("Never promise a refund.\n", "")),
            "the system prompt of `returns` changed: line 2 was removed, in agent.py",
        ),
        (body(PROMPT + "\nAsk."), "the system prompt of `returns` changed: line 4 was added"),
        (body(PROMPT.replace("short", "long")), "the system prompt of `returns` changed: line 3 changed"),
        (body(tools=[{"type": "function"}]), "the tools that `returns` gives the model changed"),
        (body(model="gpt-5.6"), "the model of `returns` changed (openai/gpt-5 → openai/gpt-5.6)"),
        (body(temperature=1), "the parameter temperature of `returns` changed (0.2 → 1)"),
    ],
)
def test_another_request_makes_the_run_blocking_with_every_scenario(advisory: RunInputs, sent: Body, why: str) -> None:
    sides = Sides(advisory.repository, always(body()), always(sent))

    found = raised(advisory, sides)

    decision = found.decided.decision
    assert (decision.mode, decision.reasons[0].why) == (Mode.BLOCKING, why)
    assert [scenario.id for scenario in found.selection.scenarios] == ["other", "returns"]
    assert sides.runs == ["head", "base", "head", "base"]


def test_the_recorded_request_costs_one_replay_and_changes_nothing(advisory: RunInputs) -> None:
    sides = Sides(advisory.repository, always(body()), always(body()))
    assert raised(advisory, sides) is advisory
    assert sides.runs == ["head"]


def varying(pattern: str) -> Iterator[Body]:
    return (body(PROMPT + pattern.format(number)) for number in itertools.count(1))


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (varying("\nRequest {}"), varying("\nRequest 7{}")),
        (varying("\nIt is 10:0{}"), varying("\nIt is 09:5{}")),
        (always(body("b\na")), always(body("a\nb"))),
        (itertools.cycle([body("a\nb"), body("b\na")]), always(body("b\na"))),
        ((body(seed=number) for number in itertools.count()), (body(seed=-number) for number in itertools.count(1))),
        (always(body(PROMPT + "\nof today")), always(body(PROMPT + "\nof today"))),
    ],
    ids=["an id", "a time", "another order", "a random order", "a random seed", "recordings are old"],
)
def test_noise_raises_no_mode(advisory: RunInputs, base: Iterator[Body], head: Iterator[Body]) -> None:
    assert raised(advisory, Sides(advisory.repository, base, head)) is advisory


def test_the_rest_of_a_prompt_that_varies_is_compared(advisory: RunInputs) -> None:
    head = (body(f"You are the shop's assistant.\nBe short.\nRequest {number}") for number in itertools.count(70))
    found = raised(advisory, Sides(advisory.repository, varying("\nRequest {}"), head))
    assert found.decided.decision.reasons[0].why.startswith(
        "the system prompt of `returns` changed: line 2 was removed"
    )


def test_a_scenario_that_reads_no_changed_file_is_not_run(advisory: RunInputs) -> None:
    observed = ObservedFiles({"returns": Reads(("other.py",), {})})
    inputs = replace(advisory, decided=replace(advisory.decided, observed=observed))
    sides = Sides(advisory.repository, always(body()), always(body("edited")))
    assert raised(inputs, sides) is inputs
    assert sides.runs == []


def test_what_could_not_be_compared_is_known_and_ends_a_shard(advisory: RunInputs) -> None:
    sides = Sides(advisory.repository, always(body()), always(body("edited")))
    sides.late = True
    assert raised(advisory, sides).uncompared.startswith("What the change sends to models could not be compared")
    shard = replace(advisory, settings=replace(advisory.settings, shard=Shard(1, 2)))
    with pytest.raises(InfrastructureError, match="could not be compared with the base"):
        raised(shard, sides)


def test_a_merge_is_blocking_as_soon_as_one_of_its_shards_was(advisory: RunInputs) -> None:
    sides = Sides(advisory.repository, always(body()), always(body(temperature=1)))
    shard = raised(advisory, sides).decided.decision
    plain = ModeDecision(Mode.BLOCKING, (Reason("x", "*.py", Mode.BLOCKING, "matches"),))
    assert raised_by_shards(advisory, [plain]) is advisory
    assert raised_by_shards(advisory, [plain, shard, shard]).decided.decision == shard
