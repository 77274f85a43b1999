import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.decide.dependencies.files import FileChange, KindTable, blocks, compare_file
from ratiba_action.decide.dependencies.versions import pep440, step
from ratiba_action.model.change import DependencyChange

SHA_A, SHA_B = "a" * 40, "b" * 40


def judge(path: str, before: str | bytes | None, after: str | bytes | None) -> FileChange:
    kind = KindTable().kind_of(path)
    assert kind is not None
    sides = [side.encode() if isinstance(side, str) else side for side in (before, after)]
    return compare_file(kind, path, sides[0], sides[1])


def summary(change: FileChange) -> list[tuple[str, str | None, str | None, str]]:
    return [(one.package, one.before, one.after, one.change) for one in change.changes]


def uv(packages: Mapping[str, str], source: str = "https://packages.example", digest: str = "1") -> str:
    return "version = 1\n" + "".join(
        f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = {{ registry = "{source}" }}\n'
        f'sdist = {{ url = "{source}/{name}-{version}.tar.gz", hash = "sha256:{digest}" }}\n'
        for name, version in packages.items()
    )


@pytest.mark.parametrize(
    ("path", "parser"),
    [
        ("pyproject.toml", "pyproject"),
        ("backend/uv.lock", "python_locks:parse_uv"),
        ("poetry.lock", "python_locks:parse_poetry"),
        ("requirements-dev.txt", "requirements"),
        ("requirements/dev.txt", "requirements"),
        ("requirements.in", "requirements"),
        ("requirements/dev.in", "requirements"),
        ("web/package.json", "package_json"),
        ("package-lock.json", "node_locks:parse_npm"),
        ("pnpm-lock.yaml", "node_locks:parse_pnpm"),
        ("Dockerfile", "dockerfile"),
        ("docker/Dockerfile.dev", "dockerfile"),
        ("api.dockerfile", "dockerfile"),
        (".github/workflows/ci.yml", "workflow"),
        ("action.yaml", "workflow"),
    ],
)
def test_dependency_files_are_known_by_their_names(path: str, parser: str) -> None:
    kind = KindTable().kind_of(path)

    assert kind is not None
    assert kind.parser == parser


@pytest.mark.parametrize("path", ["app/main.py", "my-package.json", "uv.lock.md", "docs/Dockerfile/a.md", "ci.yml"])
def test_other_files_are_not_dependency_files(path: str) -> None:
    assert KindTable().kind_of(path) is None


def test_a_major_bump_of_a_lock_file_is_listed_with_both_versions() -> None:
    change = judge("uv.lock", uv({"langgraph": "1.2.0", "rich": "13.0"}), uv({"langgraph": "2.0.0", "rich": "13.1"}))

    assert summary(change) == [("langgraph", "1.2.0", "2.0.0", "major"), ("rich", "13.0", "13.1", "minor")]
    assert not change.rest


def test_another_registry_is_a_change_of_source() -> None:
    change = judge("uv.lock", uv({"a": "1.0"}), uv({"a": "1.0"}, source="https://other.example"))

    assert summary(change) == [
        ("a", "1.0 (registry=https://packages.example)", "1.0 (registry=https://other.example)", "source")
    ]


def test_another_hash_of_the_same_file_is_a_change_of_source() -> None:
    assert summary(judge("uv.lock", uv({"a": "1.0"}), uv({"a": "1.0"}, digest="2"))) == [("a", "1.0", "1.0", "source")]


def test_an_added_package_of_a_known_registry_is_only_added() -> None:
    change = judge("uv.lock", uv({"a": "1.0"}), uv({"a": "1.0", "b": "2.0"}))

    assert summary(change) == [("b", None, "2.0", "added")]


def test_an_added_package_of_an_unknown_source_is_a_change_of_source() -> None:
    after = uv({"a": "1.0"}) + uv({"b": "2.0"}, source="https://other.example").removeprefix("version = 1\n")

    assert summary(judge("uv.lock", uv({"a": "1.0"}), after))[0][3] == "source"


def test_the_constraint_counts_where_the_lock_file_already_held_the_new_major() -> None:
    change = judge("pyproject.toml", '[project]\ndependencies = ["a>=8,<9"]', '[project]\ndependencies = ["a>=9,<10"]')

    assert summary(change) == [("a", ">=8,<9", ">=9,<10", "major")]


def test_a_package_with_several_copies_is_judged_by_its_worst() -> None:
    def lock(*versions: str) -> str:
        return json.dumps({"packages": {f"{'x/' * n}node_modules/a": {"version": v} for n, v in enumerate(versions)}})

    assert summary(judge("package-lock.json", lock("1.0.0", "2.0.0"), lock("1.0.1", "2.0.0")))[0][3] == "patch"
    assert summary(judge("package-lock.json", lock("1.0.0"), lock("1.0.0", "2.0.0")))[0][3] == "major"
    assert summary(judge("package-lock.json", lock("1.0.0", "2.0.0"), lock("1.0.0")))[0][3] == "downgrade"


def test_the_same_tag_with_a_new_digest_is_no_bump() -> None:
    docker = judge("Dockerfile", "FROM python:3.11@sha256:aa\n", "FROM python:3.11@sha256:bb\n")
    action = judge(".github/workflows/ci.yml", f"- uses: a/b@{SHA_A} # v4\n", f"- uses: a/b@{SHA_B} # v4\n")

    assert (docker.changes, docker.rest) == ((), True)
    assert (action.changes, action.rest) == ((), True)


def test_a_pinned_action_is_judged_by_its_comment() -> None:
    change = judge(".github/workflows/ci.yml", f"- uses: a/b@{SHA_A} # v4.1\n", f"- uses: a/b@{SHA_B} # v5.0\n")

    assert summary(change) == [("a/b", "v4.1", "v5.0", "major")]


def test_a_commit_without_a_comment_cannot_be_judged() -> None:
    change = judge(".github/workflows/ci.yml", f"- uses: a/b@{SHA_A}\n", f"- uses: a/b@{SHA_B}\n")

    assert summary(change) == [("a/b", SHA_A, SHA_B, "unreadable")]


def test_a_version_that_is_a_build_argument_is_judged() -> None:
    change = judge("Dockerfile", "ARG V=3.11\nFROM python:$V\nRUN a\n", "ARG V=4.0\nFROM python:$V\nRUN a\n")

    assert summary(change) == [("python", "3.11", "4.0", "major")]
    assert not change.rest


def test_what_is_no_dependency_is_the_rest() -> None:
    change = judge("Dockerfile", "FROM python:3.11\nRUN a\n", "FROM python:3.12\nRUN b\n")

    assert summary(change) == [("python", "3.11", "3.12", "minor")]
    assert change.rest


def test_a_file_that_cannot_be_parsed_is_a_problem() -> None:
    assert "cannot be parsed" in judge("uv.lock", uv({"a": "1.0"}), "[[package").problem
    assert "cannot be parsed" in judge("package.json", "{}", b"\xff").problem
    assert "cannot be parsed" in judge("package.json", "{}", "[" * 100_000).problem


def test_a_deleted_lock_file_is_a_problem() -> None:
    assert "deleted" in judge("uv.lock", uv({"a": "1.0"}), None).problem


def test_a_lock_file_that_lost_every_package_is_a_problem() -> None:
    assert "no package" in judge("uv.lock", uv({"a": "1.0"}), "package = []").problem


def test_a_new_file_has_nothing_to_compare_with() -> None:
    assert judge("uv.lock", None, uv({"a": "1.0"})) == FileChange(rest=True)


@pytest.mark.parametrize(
    ("change", "lock", "counted", "expected"),
    [
        ("major", True, True, True),
        ("downgrade", True, True, True),
        ("source", True, False, True),
        ("unreadable", False, False, True),
        ("removed", False, True, True),
        ("removed", True, True, False),
        ("added", False, True, False),
        ("minor", True, True, False),
        ("patch", True, True, False),
        ("major", True, False, False),
    ],
)
def test_which_changes_block(change: str, lock: bool, counted: bool, expected: bool) -> None:  # noqa: FBT001 - columns of the table
    assert blocks(DependencyChange("a", "1", "2", change, "f"), lock=lock, counted=counted) is expected


VERSIONS = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)).map(
    lambda parts: ".".join(map(str, parts))
)
LOCKS = st.dictionaries(st.sampled_from("abcd"), VERSIONS, min_size=1)


@given(LOCKS, LOCKS)
def test_every_package_that_differs_is_listed_and_no_other(before: dict[str, str], after: dict[str, str]) -> None:
    change = judge("uv.lock", uv(before), uv(after))

    differing = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    equal = {name for name in differing if name in before and name in after and same(before[name], after[name])}
    assert {one.package for one in change.changes} == differing - equal


def same(one: str, other: str) -> bool:
    return step(pep440(one), pep440(other)) is None
