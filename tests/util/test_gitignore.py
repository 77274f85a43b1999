import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratiba_action.util.gitignore import PatternList, PatternLists
from tests.support.git_repository import GitRepository

SEGMENTS = st.lists(
    st.sampled_from(
        ["a", "b", "ab", "*", "?", "[ab]", "[!a]", "[a-c]", ".", "\\*", "\\a", "[]a]", "é", "-", "[[:alpha:]]"]
    ),
    min_size=1,
    max_size=4,
).map("".join)
# Git's own matcher and its documentation disagree about stars next to a name ('a**'), so '**' stands alone here.
PARTS = st.one_of(SEGMENTS.filter(lambda text: "**" not in text), st.just("**"))
PATTERNS = st.builds(
    lambda negated, root, parts, directory: ("!" if negated else "") + root + "/".join(parts) + directory,
    st.booleans(),
    st.sampled_from(["", "", "/"]),
    st.lists(PARTS, min_size=1, max_size=4),
    st.sampled_from(["", "", "/"]),
)
NAMES = st.text(alphabet="abc*é-]", min_size=1, max_size=4)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return GitRepository(tmp_path_factory.mktemp("oracle")).folder


def ignored_by_git(folder: Path, patterns: list[str], paths: list[str]) -> set[str]:
    (folder / ".gitignore").write_text("\n".join(patterns) + "\n", "utf-8")
    done = subprocess.run(
        ["git", "-c", f"core.excludesFile={os.devnull}", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=folder,
        input="".join(f"{path}\0" for path in paths).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return {name for name in done.stdout.decode().split("\0") if name}


@pytest.mark.processes
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(patterns=st.lists(PATTERNS, min_size=1, max_size=5), paths=st.lists(PATHS, min_size=1, max_size=25, unique=True))
def test_git_itself_gives_the_same_answers(oracle: Path, patterns: list[str], paths: list[str]) -> None:
    expected = ignored_by_git(oracle, patterns, paths)

    ours = PatternList(patterns)

    assert {path for path in paths if ours.match(path) is not None} == expected


@given(
    lists=st.lists(st.lists(PATTERNS, min_size=1, max_size=3), min_size=1, max_size=4),
    paths=st.lists(PATHS, min_size=1, max_size=10),
    only=st.sets(st.integers(0, 3)),
)
def test_several_lists_at_once_answer_as_one_after_the_other(
    lists: list[list[str]], paths: list[str], only: set[int]
) -> None:
    each = [PatternList(patterns) for patterns in lists]
    together = PatternLists(each)

    def in_turn(path: str, counted: set[int]) -> tuple[int, str] | None:
        answers = ((index, one.match(path)) for index, one in enumerate(each) if index in counted)
        return next(((index, text) for index, text in answers if text is not None), None)

    for path in paths:
        assert together.first(path.encode()) == in_turn(path, set(range(4)))
        assert together.first(path.encode(), only.__contains__) == in_turn(path, only)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.md", "docs/deep/a.md", True),
        ("/*.md", "docs/a.md", False),
        ("docs/", "docs/a.txt", True),
        ("docs/", "docs", False),
        ("docs", "src/docs/a.txt", True),
        ("docs/*", "docs/a/b.txt", True),
        ("docs/*.md", "docs/a/b.md", False),
        ("docs/**/b.md", "docs/b.md", True),
        ("**/prompts/*.md", "app/prompts/a.md", True),
        ("a/**", "a", False),
        ("a/**", "a/b/c", True),
        (r"\#a", "#a", True),
        (r"a\ b", "a b", True),
        ("a[!b-d]c", "abc", False),
        ("a[!b-d]c", "aec", True),
        ("*", "any/thing", True),
        ("?.md", "ab.md", False),
        ("A.md", "a.md", False),
    ],
)
def test_documented_patterns(pattern: str, path: str, matches: bool) -> None:  # noqa: FBT001 - a column of the table
    assert (PatternList([pattern]).match(path) is not None) is matches


def test_a_negated_pattern_takes_out_what_an_earlier_one_matched() -> None:
    patterns = PatternList(["prompts/*", "!prompts/README.md"])

    assert patterns.match("prompts/a.md") == "prompts/*"
    assert patterns.match("prompts/README.md") is None


def test_a_file_below_a_matched_folder_cannot_be_taken_out() -> None:
    assert PatternList(["prompts/", "!prompts/README.md"]).match("prompts/README.md") == "prompts/"


def test_a_name_that_is_not_utf8_is_matched() -> None:
    assert PatternList(["docs/*.md"]).match(b"docs/\xff.md".decode("utf-8", "surrogateescape")) == "docs/*.md"


@pytest.mark.parametrize("pattern", ["", "/", "!", "a[b", "a\\", "[[:nothing:]]"])
def test_a_pattern_that_can_never_match_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"pattern|closed|known"):
        PatternList([pattern])


def test_many_stars_do_not_make_a_long_path_slow() -> None:
    hostile = PatternList(["*a" * 40 + "b", "**/a/" * 20 + "b"])

    assert hostile.match("a" * 3000) is None
    assert hostile.match("a/" * 1500 + "c") is None
