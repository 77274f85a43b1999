"""A run that became a blocking one by what it sends to models ends as one, however it ends."""

import signal
import sys
from collections.abc import Callable, Iterator

import pytest

from ratiba_action.errors import InfrastructureError
from ratiba_action.model.change import Mode, ModeDecision, Reason
from ratiba_action.run.changed_requests import RULE, raised_by_shards
from ratiba_action.run.inputs import RunInputs
from ratiba_action.run.session import OpenSession
from ratiba_action.util.interruption import SIGNALS, Interruption
from tests.support.in_process_repository import gate_here
from tests.support.small_repository import Ended, SmallRepository

WHY = "the system prompt of `greeting` changed: line 3 was removed, in other.py"


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
def advisory(local: SmallRepository) -> SmallRepository:
    """A change of code, which makes an advisory run."""
    local.scenario("greeting", "say hello")
    local.commit()
    local.write("other.py", "changed = True\n")
    return local


def raised(inputs: RunInputs, _open_session: OpenSession) -> RunInputs:
    """Its requests to models are taken for others than the base's."""
    found = ModeDecision(Mode.BLOCKING, (Reason("other.py", RULE, Mode.BLOCKING, WHY),))
    return raised_by_shards(inputs, [found])


def crashes(local: SmallRepository) -> None:
    adapter = (local.folder / "adapter.py").read_text()
    local.write("adapter.py", adapter.replace('return {"text": text, "state": "SAID"}', "raise KeyError(text)"))


def cannot_start(local: SmallRepository) -> None:
    local.write("adapter.py", "import nothing_of_this_name\n")


def no_answer() -> None:
    raise InfrastructureError("The provider does not answer.", "")


def defect() -> None:
    raise ZeroDivisionError("a defect")


def cancelled() -> None:
    signal.raise_signal(signal.SIGTERM)
    raise InfrastructureError("The run was cancelled by SIGTERM.", "Run the gate again.")


def assert_blocking(ended: Ended, conclusion: str, code: int) -> None:
    assert (ended.code, ended.outputs["mode"], ended.outputs["conclusion"]) == (code, "blocking", conclusion)
    assert ended.comment.splitlines()[2].startswith(f"> ## {conclusion.title()}"), ended.comment
    assert "(advisory)" not in ended.comment
    assert WHY.partition("` ")[2] in ended.comment


@pytest.mark.parametrize(("breaks", "conclusion", "code"), [(crashes, "failed", 1), (cannot_start, "incomplete", 3)])
def test_a_raised_run_of_a_system_that_breaks_ends_as_a_blocking_one(
    advisory: SmallRepository, breaks: Callable[[SmallRepository], None], conclusion: str, code: int
) -> None:
    breaks(advisory)
    assert_blocking(gate_here(advisory, raise_by_requests=raised), conclusion, code)


@pytest.mark.parametrize("ends", [no_answer, defect, cancelled])
def test_a_raised_run_that_cannot_go_on_ends_as_a_blocking_one(
    advisory: SmallRepository, ends: Callable[[], None]
) -> None:
    ended = gate_here(advisory, raise_by_requests=raised, open_session=lambda *_arguments, **_named: ends())
    assert_blocking(ended, "incomplete", 3)
