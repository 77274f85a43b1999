"""Files that are replaced as a whole, all of them or none."""

from pathlib import Path

import pytest

from ratiba_action.util.whole_files import write_whole_files


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_are_replaced_and_their_folders_made(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("old")
    write_whole_files({tmp_path / "a.json": b"new", tmp_path / "deep" / "er" / "b.json": b"b"})
    assert (tmp_path / "a.json").read_bytes() == b"new"
    assert (tmp_path / "deep" / "er" / "b.json").read_bytes() == b"b"
    assert names(tmp_path) == ["a.json", "deep"]


def test_where_one_cannot_be_written_the_others_are_as_before(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("old")
    (tmp_path / "c.json").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        write_whole_files({tmp_path / name: b"new" for name in ("a.json", "b.json", "c.json")})
    assert caught.value.filename == str(tmp_path / "c.json")
    assert (tmp_path / "a.json").read_text() == "old"
    assert names(tmp_path) == ["a.json", "c.json"]


def test_an_error_names_the_file_and_not_the_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(OSError, match=r"folder/a\.json") as caught:
        write_whole_files({tmp_path / "folder" / "a.json": b""})
    assert caught.value.filename == str(tmp_path / "folder" / "a.json")
    assert names(tmp_path) == ["folder"]
