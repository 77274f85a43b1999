"""The campaign attacks the gate, never the machine that it runs on."""

from pathlib import Path

import pytest

from fuzz.hostile_tree import HostileTree


@pytest.mark.parametrize("target", ["/", "..", "../outside", "inside/../.."])
def test_a_link_of_a_hostile_tree_leads_no_write_out_of_it(tmp_path: Path, target: str) -> None:
    tree, outside = HostileTree(tmp_path / "tree"), tmp_path / "outside"
    tree.write({"inside/file": "x"})
    outside.mkdir()
    tree.place("docs").symlink_to(target)
    with pytest.raises(OSError, match="leads out of the tree"):
        tree.write({"docs/planted.md": "x"})
    assert not list(tmp_path.rglob("planted.md"))


def test_a_link_that_stays_inside_is_followed_and_one_in_the_way_is_replaced(tmp_path: Path) -> None:
    tree = HostileTree(tmp_path / "tree")
    tree.write({"inside/file": "x"})
    tree.place("docs").symlink_to("inside")
    tree.place("inside/other").symlink_to("/etc/passwd")
    tree.write({"docs/other": "y"})
    assert (tmp_path / "tree" / "inside" / "other").read_text() == "y"
