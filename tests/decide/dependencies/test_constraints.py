import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version as Reference

from ratiba_action.decide.dependencies.constraints import parse_range, range_step
from ratiba_action.decide.dependencies.versions import pep440, semver

VERSIONS = st.lists(st.integers(0, 4), min_size=2, max_size=3).map(lambda parts: ".".join(map(str, parts)))
CLAUSES = st.builds(
    lambda operator, version: f"{operator}{version}", st.sampled_from([">=", "<=", "==", "~=", ">", "!="]), VERSIONS
)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (">=1.2,<2", ">=1.3,<2", "minor"),
        (">=8,<9", ">=9,<10", "major"),
        (">=1,<2", ">=1,<3", "major"),
        (">=1,<2", ">=1,<2.5", "major"),
        (">=1,<2.4", ">=1,<2.5", "minor"),
        (">=1,<2", ">=1", "major"),
        (">=1", ">=1,<2", "downgrade"),
        (">=2", ">=1", "downgrade"),
        ("==1.2.3", "==1.2.4", "patch"),
        ("==0.2.3", "==0.3.0", "major"),
        ("~=1.4.2", "~=1.5.0", "minor"),
        ("==1.*", "==2.*", "major"),
        ("==2.*", "==2.*,!=2.3", "patch"),
        ("", ">=1", "minor"),
        (">=1", "", "downgrade"),
        (">=1, <2", ">=1,<2", None),
        ("(>=1)", ">=1", None),
        ("==1.0", "==1!1.0", "major"),
    ],
)
def test_steps_between_python_constraints(before: str, after: str, expected: str | None) -> None:
    assert range_step(parse_range(before, pep440), parse_range(after, pep440)) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("^1.2.3", "^1.3.0", "minor"),
        ("^1.2.3", "^2.0.0", "major"),
        ("^0.2.3", "^0.3.0", "major"),
        ("^0.2.3", "^0.2.4", "patch"),
        ("~1.2.3", "~1.3.0", "minor"),
        ("1.x", "2.x", "major"),
        ("^1.2.3", "1.2.3", "minor"),
        ("1.2.3", "^1.2.3", "minor"),
        ("^1.0.0 || ^2.0.0", "^1.0.0 || ^3.0.0", "major"),
        ("^1.0.0", "^1.0.0 || ^2.0.0", "major"),
        ("1.0.0 - 1.5.0", "1.0.0 - 1.6.0", "minor"),
        ("*", "^1", "downgrade"),
        (">=1.0.0 <2.0.0", "^1.0.0", None),
    ],
)
def test_steps_between_npm_constraints(before: str, after: str, expected: str | None) -> None:
    assert range_step(parse_range(before, semver), parse_range(after, semver)) == expected


@given(st.lists(CLAUSES, min_size=1, max_size=3).map(",".join), VERSIONS)
def test_a_range_never_leaves_out_what_packaging_admits(text: str, candidate: str) -> None:
    found = parse_range(text, pep440)
    version = pep440(candidate)

    if Reference(candidate) in SpecifierSet(text):
        assert found.lower is None or found.lower.order <= version.order
        assert (found.epoch, found.upper) >= (version.epoch, version.release)


@given(st.lists(CLAUSES, min_size=1, max_size=3).map(",".join))
def test_a_constraint_does_not_differ_from_itself(text: str) -> None:
    assert range_step(parse_range(text, pep440), parse_range(text, pep440)) is None


@pytest.mark.parametrize("text", ["banana", ">=1 and more", "<0", ">=", "latest"])
def test_what_is_not_a_constraint_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"version|below|constraint"):
        parse_range(text, semver)
