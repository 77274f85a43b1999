"""Addresses of files and commits: of the run's own repository alone, whatever a path holds."""

from dataclasses import replace
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ratiba_action.model.change import Subject
from ratiba_action.reporting.links import SourceLinks, source_links
from ratiba_action.reporting.markdown import code, linked

HEAD = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"
GITHUB = Subject(repository="o/r", head=HEAD, run_id=7, run_url="https://github.com/o/r/actions/runs/7")
GITLAB = replace(GITHUB, repository="g/sub/p", run_url="https://gitlab.example:8443/g/sub/p/-/jobs/7")


def test_a_line_of_a_file_and_a_commit_on_github() -> None:
    links = source_links(GITHUB)
    assert links.line("prompts/a b.md", 3) == f"https://github.com/o/r/blob/{HEAD}/prompts/a%20b.md#L3"
    assert links.line("prompts/a.md") == f"https://github.com/o/r/blob/{HEAD}/prompts/a.md"
    assert links.commit("a1b2c3d") == "https://github.com/o/r/commit/a1b2c3d"
    assert links.artifacts == "https://github.com/o/r/actions/runs/7#artifacts"


def test_the_same_on_a_server_of_gitlab() -> None:
    links = source_links(GITLAB)
    assert links.line("a.md", 3) == f"https://gitlab.example:8443/g/sub/p/-/blob/{HEAD}/a.md#L3"
    assert links.commit(HEAD) == f"https://gitlab.example:8443/g/sub/p/-/commit/{HEAD}"
    assert links.artifacts == ""


@pytest.mark.parametrize(
    "subject",
    [
        Subject(repository="o/r", head=HEAD),
        replace(GITHUB, repository="o/other"),
        replace(GITHUB, run_url="https://evil.example/o/r/actions/runs/7)[x](//e"),
        replace(GITHUB, run_url="https://user@evil.example/o/r/actions/runs/7"),
        replace(GITHUB, run_url="javascript:alert(1)//o/r/actions/runs/7"),
        replace(GITHUB, run_url="https://github.com/o/r/actions/runs/7\n"),
    ],
)
def test_nothing_is_linked_where_the_runs_address_is_not_the_repositorys(subject: Subject) -> None:
    assert source_links(subject) == SourceLinks()


def test_a_commit_that_is_not_whole_leads_to_no_file() -> None:
    assert source_links(replace(GITHUB, head="a1b2c3d")).line("a.md", 1) == ""
    assert source_links(GITHUB).commit("main") == ""


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../a", "a/../../b", "a//b", "./a", "a" * 1_001, "a\ud800", "a\nb"]
)
def test_a_path_that_is_none_of_the_repository_has_no_address(path: str) -> None:
    assert source_links(GITHUB).line(path, 1) == ""


@given(st.text(alphabet=st.characters(), min_size=1, max_size=30))
def test_no_path_ends_its_link_or_leads_elsewhere(path: str) -> None:
    url = source_links(GITHUB).line(path, 3)
    inside = MarkdownIt("commonmark").parse(f"see {linked(code(path), url)} here")[1].children or []
    opened = [child for child in inside if child.type == "link_open"]
    assert len(opened) == (1 if url else 0)
    for link in opened:
        found = urlsplit(str(link.attrs["href"]))
        assert (found.netloc, found.fragment) == ("github.com", "L3")
        assert unquote(found.path) == f"/o/r/blob/{HEAD}/{path}"
