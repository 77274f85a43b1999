"""A run that became a blocking one by what it sends to models ends as one, however it ends."""

import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from ratiba_action.commands import gate_run
from ratiba_action.errors import InfrastructureError
from ratiba_action.model.change import Mode, ModeDecision, Reason
from ratiba_action.run.changed_requests import RULE, raised_by_shards
from ratiba_action.run.inputs import RunInputs
from ratiba_action.util.interruption import SIGNALS, Interruption
from tests.support.small_repository import SmallRepository

WHY = "the system prompt of `greeting` changed: line 3 was removed, in other.py"
Breaks = Callable[[SmallRepository, pytest.MonkeyPatch], None]


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """This process notes signals as the gate's own does, and as before afterwards."""
    before, hook = [signal.getsignal(number) for number in SIGNALS], sys.unraisablehook
    Interruption().install()
    yield
    for number, handler in zip(SIGNALS, before, strict=True):
        signal.signal(number, handler)
    signal.set_wakeup_fd(-1)
    sys.unraisablehook = hook


@pytest.fixture
def advisory(local: SmallRepository, monkeypatch: pytest.MonkeyPatch) -> SmallRepository:
    """A change of code whose requests to models are taken for others than the base's."""

    def raised(inputs: RunInputs, _open_session: object) -> RunInputs:
        found = ModeDecision(Mode.BLOCKING, (Reason("other.py", RULE, Mode.BLOCKING, WHY),))
        return raised_by_shards(inputs, [found])

    monkeypatch.setattr(gate_run, "raised_by_requests", raised)
    local.scenario("greeting", "say hello")
    local.commit()
    local.write("other.py", "changed = True\n")
    return local


def crashes(local: SmallRepository, _: pytest.MonkeyPatch) -> None:
    adapter = (local.folder / "adapter.py").read_text()
    local.write("adapter.py", adapter.replace('return {"text": text, "state": "SAID"}', "raise KeyError(text)"))


def cannot_start(local: SmallRepository, _: pytest.MonkeyPatch) -> None:
    local.write("adapter.py", "import nothing_of_this_name\n")


def stops(by: Callable[[], object], _: SmallRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    def evaluate(*_arguments: object, **_named: object) -> object:
        return by()

    monkeypatch.setattr(gate_run, "evaluate", evaluate)


def raises(error: Exception) -> None:
    raise error


def is_cancelled() -> None:
    signal.raise_signal(signal.SIGTERM)
    raise InfrastructureError("The run was cancelled by SIGTERM.", "Run the gate again.")


@pytest.mark.parametrize(
    ("breaks", "conclusion", "code"),
    [
        (crashes, "failed", 1),
        (cannot_start, "incomplete", 3),
        (partial(stops, partial(raises, InfrastructureError("The provider does not answer.", ""))), "incomplete", 3),
        (partial(stops, partial(raises, ZeroDivisionError("a defect"))), "incomplete", 3),
        (partial(stops, is_cancelled), "incomplete", 3),
    ],
    ids=["crash", "start", "provider", "defect", "cancelled"],
)
def test_a_raised_run_ends_as_a_blocking_one(
    advisory: SmallRepository, monkeypatch: pytest.MonkeyPatch, breaks: Breaks, conclusion: str, code: int
) -> None:
    breaks(advisory, monkeypatch)
    ended = advisory.gate()
    assert (ended.code, ended.outputs["mode"], ended.outputs["conclusion"]) == (code, "blocking", conclusion)
    assert ended.comment.splitlines()[2].startswith(f"> ## {conclusion.title()}"), ended.comment
    assert "(advisory)" not in ended.comment
    assert WHY.partition("` ")[2] in ended.comment
