import os
from pathlib import Path

from ratiba_action.util.folder_tree import paths_below, remove_tree

DEEPER_THAN_PYTHON_RECURSES = 1_500


def make_deep(folder: Path) -> None:
    """A chain of folders with a file at its end."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(DEEPER_THAN_PYTHON_RECURSES):
        os.mkdir("a", dir_fd=here)
        inner = os.open("a", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def test_a_deep_folder_is_listed_and_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    make_deep(top)
    assert len(list(paths_below(top))) == DEEPER_THAN_PYTHON_RECURSES + 2
    remove_tree(top)
    assert list(tmp_path.iterdir()) == []


def test_no_link_is_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    top = tmp_path / "top"
    (top / "inner").mkdir(parents=True)
    (top / "inner" / "folder").symlink_to(kept)
    (top / "inner" / "file").symlink_to(kept / "file")
    (top / "nowhere").symlink_to("missing")
    assert {path.name for path in paths_below(top)} == {"top", "inner", "folder", "file", "nowhere"}
    remove_tree(top)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").exists()


def test_a_folder_is_yielded_before_what_it_contains(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").touch()
    assert list(paths_below(tmp_path)) == [tmp_path / name for name in ("", "a", "a/b", "a/b/c")]


def test_a_folder_that_is_not_there_is_removed_already(tmp_path: Path) -> None:
    remove_tree(tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []
