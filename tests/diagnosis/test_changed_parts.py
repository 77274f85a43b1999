from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.diagnosis.changed_parts import PartialTrees, copy_scenarios
from ratiba_action.model.measurement import threshold_of
from ratiba_action.model.own_history import HistoryBound, Statistical
from ratiba_action.model.scenario import Assertion, Strategy
from ratiba_action.run.base_commit import BaseInputs
from tests.support.in_process_gate import InProcessGate
from tests.support.sample_report import sample_scenario


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in (".git/config", "evals/scenarios/a.yaml"):
        (tmp_path / "checkout" / name).parent.mkdir(parents=True)
        (tmp_path / "checkout" / name).write_text(name)
    (tmp_path / "tree/scenarios").mkdir(parents=True)
    (tmp_path / "tree/scenarios/of_the_base.yaml").touch()
    return tmp_path / "checkout"


@pytest.mark.parametrize("name", ["evals/scenarios", "evals/../evals/scenarios"])
def test_the_scenarios_of_a_change_take_the_place_of_those_of_its_base(checkout: Path, name: str) -> None:
    target = checkout.parent / "tree/scenarios"
    copy_scenarios(checkout, name, target)
    assert [path.name for path in target.iterdir()] == ["a.yaml"]


@pytest.mark.parametrize(
    ("link", "to", "name"),
    [("scenarios", ".git", "scenarios"), ("linked", "evals", "linked/scenarios"), ("up", "..", "up/checkout/.git")],
)
def test_no_file_behind_a_link_is_given_to_the_system(checkout: Path, link: str, to: str, name: str) -> None:
    (checkout / link).symlink_to(to)
    target = checkout.parent / "tree/scenarios"
    copy_scenarios(checkout, name, target)
    assert not target.exists()


def test_parts_of_a_change_are_judged_by_the_bounds_that_the_change_failed_by(checkout: Path) -> None:
    assertion = Assertion("GEval", 0.8)
    written = sample_scenario("spa", assertions=(assertion,), strategy=Strategy(statistical=Statistical()))
    read = Statistical(branch="main", bounds=(HistoryBound("GEval", "1", 20, 0.9),))
    failed = replace(written, strategy=Strategy(trials=3, statistical=read))
    inputs = InProcessGate(folder=checkout, scenarios=(written, sample_scenario("salon")), head={}, base={}).inputs()
    assert isinstance(inputs.base, BaseInputs)
    scratch = checkout.parent / "scratch"
    trees = PartialTrees(inputs, inputs.base, (), checkout.parent / "tree", scratch, {"spa": failed})
    with trees.written("base", frozenset()) as partial:
        assert partial is not None
        (run,) = partial.selection.scenarios
    assert threshold_of(run, assertion, "1") == 0.9, "0.85 fails with each part that it failed with"
    assert run.strategy.trials == written.strategy.trials, "further trials were for the verdict"
