"""What a scenario reads: the shortest list of files and folders, and paths that do no harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.reads import Reads, folded, is_plain_path

PATHS = st.sets(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join), max_size=12).filter(
    lambda paths: not any(other.startswith(f"{path}/") for path in paths for other in paths)
)


def test_a_folder_of_which_everything_was_read_stands_for_its_files() -> None:
    files = ["agent.py", "docs/a.md", "docs/b.md", "knowledge/a.md", "knowledge/deep/b.md", "prompts/only.md"]
    read = ["agent.py", "docs/a.md", "knowledge/a.md", "knowledge/deep/b.md", "prompts/only.md"]
    assert folded(read, files) == ("agent.py", "docs/a.md", "knowledge/", "prompts/only.md")


@given(PATHS, st.randoms(use_true_random=False))
def test_folders_name_what_was_read_and_nothing_else(paths: set[str], random: object) -> None:
    read = {path for path in sorted(paths) if random.random() < 0.7}  # type: ignore[attr-defined]
    kept = folded(read, paths)
    assert list(kept) == sorted(set(kept))
    assert {path for path in paths if Reads(kept).covers(path)} == read
    assert all(sum(path.startswith(entry) for path in paths) > 1 for entry in kept if entry.endswith("/"))


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../up", "a/../b", "./a", "a//b", "a\nb", "a\x1b[0m", "a\u202eb", "a\\b", "x" * 1025, 3, None],
)
def test_a_path_that_leads_elsewhere_or_breaks_a_line_is_refused(path: object) -> None:
    assert not is_plain_path(path)


@pytest.mark.parametrize("path", ["agent.py", "knowledge/", "docs/Préface 1.md", "a..b/c"])
def test_other_paths_are_taken(path: str) -> None:
    assert is_plain_path(path)
