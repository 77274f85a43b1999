"""What DeepEval runs in begins before the suite is read, and serves every run of a request."""

import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.metrics.registry import load_judged_metric
from ratiba_action.model.scenario import Assertion
from ratiba_action.run.arms import head_inputs
from ratiba_action.run.inputs import Choice, RunInputs
from ratiba_action.run.judging_start import judging_begun, open_judging, ready_to_judge
from tests.support.in_process_gate import InProcessGate
from tests.support.judges import ObligingJudge
from tests.support.metric_samples import full_case
from tests.support.sample_report import sample_scenario

pytestmark = pytest.mark.processes

NAME = "ToxicityMetric"
JUDGED = "id: booking\nlanguage: fr\nassertions:\n  - {metric: CoherenceMetric, threshold: 0.5}\n"
ENGLISH = "id: booking\nlanguage: en\n"


def request(folder: Path, *texts: str, configuration: str = "system: {replay: {}}\n") -> RunInputs:
    """A run of a checkout with these scenarios; its one scenario is measured by a judge, whatever they say."""
    scenario = replace(sample_scenario("booking"), assertions=(Assertion(NAME, 0.8),))
    inputs = InProcessGate(folder=folder, scenarios=(scenario,), head={}).inputs()
    (folder / ".github").mkdir()
    (folder / "scenarios").mkdir()
    (folder / inputs.settings.config).write_text(configuration)
    for number, text in enumerate(texts):
        (folder / "scenarios" / f"{number}.yaml").write_text(text)
    return inputs


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where runs have their folders; every user can enter it, unlike pytest's own."""
    tmp_path_factory.getbasetemp()  # not below this one
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o711)
        monkeypatch.setattr(tempfile, "tempdir", made)
        yield folder
        assert not list(folder.iterdir()), "nothing is left"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    return folder


def servers(temporary: Path) -> list[Path]:
    """The folders of what DeepEval runs in."""
    return sorted(temporary.glob("ratiba-run-*/ratiba-judges-*"))


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        (JUDGED, True),
        (ENGLISH, True),
        (ENGLISH.replace("en", "'mixed'"), True),
        (ENGLISH.replace("en", "fr"), False),
        (ENGLISH + "fluency: false\n", False),
        (ENGLISH + "layer: fsm\n", False),
        (ENGLISH + "system_type: classifier\n", False),
        (JUDGED.replace("CoherenceMetric", "RougeLMetric"), False),
        (JUDGED.replace("CoherenceMetric", "metrics:MyCoherenceMetrics"), False),
    ],
)
def test_it_begins_where_a_scenario_seems_to_be_judged(checkout: Path, text: str, begins: bool) -> None:  # noqa: FBT001 - a parameter
    with judging_begun(request(checkout, "id: greets\nlanguage: fr\n", text)) as begun:
        assert (begun.begun_judging is not None) is begins


def test_nothing_begins_without_fluency_or_in_a_dry_run_or_under_a_configuration_of_the_change(checkout: Path) -> None:
    inputs = request(checkout, ENGLISH)
    files = replace(inputs.decided.change.files, paths=(inputs.settings.config,))
    changed = replace(inputs.decided, change=replace(inputs.decided.change, files=files))
    silent = "system: {replay: {}}\nmetrics: {fluency: false}\n"
    for each in (replace(inputs, dry_run=True), replace(inputs, decided=changed)):
        with judging_begun(each) as begun:
            assert begun.begun_judging is None
    for configuration in (silent, "system: {no"):
        (checkout / inputs.settings.config).write_text(configuration)
        with judging_begun(inputs) as begun:
            assert begun.begun_judging is None


def test_a_scenario_that_was_not_asked_for_begins_nothing(checkout: Path) -> None:
    inputs = request(checkout, JUDGED, "id: greets\nlanguage: fr\ntags: [smoke]\n")
    for choice, begins in (
        (Choice(("greets",)), False),
        (Choice(tags=("smoke",)), False),
        (Choice(("booking",)), True),
    ):
        with judging_begun(replace(inputs, choice=choice)) as begun:
            assert (begun.begun_judging is not None) is begins


async def score(inputs: RunInputs, scratch: Path) -> float:
    """Measure in a run of its own."""
    arm, judge = head_inputs(inputs), ObligingJudge()
    async with open_judging(inputs, arm, scratch, lambda _: None) as processes:
        await ready_to_judge(processes, arm)
        metric = processes.metric(load_judged_metric(NAME, judge), {}, judge, 2)
        return (await metric.measure(full_case(), 0.8)).value


async def test_every_run_of_a_request_has_the_same_one(checkout: Path, temporary: Path, tmp_path: Path) -> None:
    with judging_begun(request(checkout, JUDGED)) as begun:
        assert isinstance(begun, RunInputs)
        first = await score(begun, tmp_path)
        (server,) = servers(temporary)
        assert await score(begun, tmp_path) == first
        assert servers(temporary) == [server]


def kill_all(temporary: Path) -> None:
    """Kill everything that works in the folders of runs."""
    found = [entry for entry in Path("/proc").glob("[0-9]*") if _works_in(entry, temporary)]
    assert found
    for entry in found:
        with contextlib.suppress(ProcessLookupError):  # it ended with the one that started it
            os.kill(int(entry.name), signal.SIGKILL)


def _works_in(entry: Path, folder: Path) -> bool:
    try:
        return (entry / "cwd").readlink().is_relative_to(folder)
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="Linux shows where a process works")
async def test_a_run_starts_its_own_where_what_was_begun_has_ended(checkout: Path, temporary: Path) -> None:
    with judging_begun(request(checkout, JUDGED)) as begun:
        assert isinstance(begun, RunInputs)
        assert begun.begun_judging is not None
        control = begun.begun_judging.result().socket
        control.settimeout(None)
        kill_all(temporary)
        assert control.recv(1) == b"", "it has ended"
        assert await score(begun, temporary) == await score(replace(begun, begun_judging=None), temporary)
