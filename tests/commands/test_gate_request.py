"""What the options of a run ask for."""

from pathlib import Path

from ratiba_action.commands.gate_options import GateOptions
from ratiba_action.commands.gate_request import asked_run
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from ratiba_action.settings.settings import read_settings
from tests.support.gate_without_git import decided
from tests.support.sample_report import sample_report


def test_a_named_baseline_that_was_checked_is_not_read_into_a_report_again(tmp_path: Path) -> None:
    file = tmp_path / "earlier.json"
    file.write_text(render_results(summarise(sample_report())), encoding="utf-8")
    options = GateOptions(repo=str(tmp_path), inputs={"baseline": str(file)})
    asked = asked_run(options, {}, read_settings({}, options.inputs), lambda *_: decided())
    assert asked.problems == ()
    load = asked.request.load_baseline
    assert load is not None
    assert load(file.read_bytes()) is load(file.read_bytes())


def test_without_a_named_baseline_nothing_is_kept_of_one(tmp_path: Path) -> None:
    options = GateOptions(repo=str(tmp_path))
    assert asked_run(options, {}, read_settings({}, {}), lambda *_: decided()).request.load_baseline is None
