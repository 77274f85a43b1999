from pathlib import Path

import pytest

from ratiba_action.run.changed_parts import copy_scenarios


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
