"""A site is written whole, into a folder that holds nothing else."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratiba_action.errors import UsageError
from ratiba_action.publish.site.folder import write_site

PAGES = [("index.html", b"one"), ("run/a.html", b"two")]


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_every_page_is_written_with_a_listing(tmp_path: Path) -> None:
    count, size = write_site(PAGES, tmp_path / "deep/site")
    assert (count, size) == (3, 6)
    assert below(tmp_path) == ["deep/site/index.html", "deep/site/run/a.html", "deep/site/site.json"]


def test_the_next_site_replaces_the_whole_of_the_one_before(tmp_path: Path) -> None:
    write_site(PAGES, tmp_path / "site")
    write_site([("index.html", b"new")], tmp_path / "site")
    assert below(tmp_path) == ["site/index.html", "site/site.json"]
    assert (tmp_path / "site/index.html").read_bytes() == b"new"


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    write_site(PAGES, tmp_path / "site")
    assert (tmp_path / "site/index.html").exists()


@pytest.mark.parametrize("name", ["notes.txt", "run/own.html", ".git/config"])
def test_a_folder_with_other_files_is_refused_and_left_alone(name: str, tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_site(PAGES, site)
    (site / name).parent.mkdir(exist_ok=True)
    (site / name).write_text("mine")
    with pytest.raises(UsageError, match=f"not of a site: '{name}'"):
        write_site([("index.html", b"new")], site)
    assert (site / "index.html").read_bytes() == b"one"
    assert below(tmp_path) == sorted([f"site/{name}", "site/index.html", "site/run/a.html", "site/site.json"])


def test_a_listing_that_names_other_files_takes_nothing_from_outside(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/site.json").write_text('{"files": ["../mine.txt", "site.json", 3]}')
    write_site(PAGES, tmp_path / "site")
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_folder_is_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target = tmp_path / "site"
    if kind == "file":
        target.write_text("mine")
    else:
        target.symlink_to(tmp_path / "there")
    with pytest.raises(UsageError, match="is no folder"):
        write_site(PAGES, target)
    assert below(tmp_path / "there") == []


def test_a_page_that_cannot_be_made_leaves_what_was_there(tmp_path: Path) -> None:
    write_site(PAGES, tmp_path / "site")

    def broken() -> Iterator[tuple[str, bytes]]:
        yield "index.html", b"new"
        raise ValueError("no page")

    with pytest.raises(ValueError, match="no page"):
        write_site(broken(), tmp_path / "site")
    assert (tmp_path / "site/index.html").read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_page_that_did_not_change_is_not_written_again(tmp_path: Path) -> None:
    target = tmp_path / "site"
    write_site([("a.html", b"a"), ("b.html", b"b"), ("c.html", b"c")], target)
    before = {path.name: path.stat().st_ino for path in target.iterdir()}
    os.link(target / "c.html", tmp_path / "copy")
    write_site([("a.html", b"a"), ("b.html", b"other"), ("c.html", b"c")], target)
    after = {path.name: path.stat().st_ino for path in target.iterdir()}
    assert [name for name in ("a.html", "b.html", "c.html") if after[name] == before[name]] == ["a.html"]
    assert (target / "b.html").read_bytes() == b"other"
    (target / "c.html").write_bytes(b"changed")
    assert (tmp_path / "copy").read_bytes() == b"c", "a file that somebody else holds too is not shared"
