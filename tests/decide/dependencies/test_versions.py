import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version as Reference

from ratiba_action.decide.dependencies.versions import pep440, semver, step, tag

NUMBERS = st.integers(0, 3)


@st.composite
def python_versions(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(["", "", "", "1!", "v"]))
    text += ".".join(str(part) for part in draw(st.lists(NUMBERS, min_size=1, max_size=4)))
    text += draw(st.sampled_from(["", "", "a1", "b", ".rc2", "-beta_1", "c0", "preview3", "alpha"]))
    text += draw(st.sampled_from(["", "", ".post1", "-2", "post", ".r3", "rev1"]))
    text += draw(st.sampled_from(["", "", ".dev0", "-dev2", "dev"]))
    return text + draw(st.sampled_from(["", "", "", "+cpu", "+1", "+cpu.2", "+CPU-2", "+2.a"]))


@given(python_versions(), python_versions())
def test_python_versions_are_ordered_as_packaging_orders_them(one: str, other: str) -> None:
    ours, theirs = (pep440(one).order, pep440(other).order), (Reference(one), Reference(other))

    assert (ours[0] < ours[1], ours[0] == ours[1]) == (theirs[0] < theirs[1], theirs[0] == theirs[1])


@given(st.text(alphabet="0123456789.abcdevrpost-+!_ ", max_size=12))
def test_what_packaging_refuses_is_refused(text: str) -> None:
    try:
        Reference(text)
    except ValueError:
        with pytest.raises(ValueError, match="not a version"):
            pep440(text)
    else:
        assert pep440(text).release


def test_semantic_versions_are_ordered_as_their_specification_says() -> None:
    ascending = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11"]
    ascending += ["1.0.0-rc.1", "1.0.0", "1.0.1", "1.1.0", "2.0.0"]

    assert sorted(sorted(ascending), key=lambda text: semver(text).order) == ascending


def test_build_metadata_makes_no_difference() -> None:
    assert step(semver("1.0.0+a"), semver("1.0.0+b")) is None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("1.2.3", "1.2.4", "patch"),
        ("1.2.3", "1.3", "minor"),
        ("1.9", "2.0", "major"),
        ("0.2.1", "0.3.0", "major"),
        ("0.2.1", "0.2.2", "patch"),
        ("2.0", "1.9", "downgrade"),
        ("1.0", "1.0rc1", "downgrade"),
        ("1.0rc1", "1.0", "patch"),
        ("1.0", "1.0.0", None),
        ("2024.1", "1!1.0", "major"),
    ],
)
def test_the_size_of_a_step(before: str, after: str, expected: str | None) -> None:
    assert step(pep440(before), pep440(after)) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("3.11-slim", "3.12-slim", "minor"),
        ("3.12-slim", "3.12-alpine", "source"),
        ("v4", "v5", "major"),
        ("v4", "v4.1.0", "minor"),
        ("16", "15", "downgrade"),
    ],
)
def test_tags_are_judged_by_their_number_and_their_flavour(before: str, after: str, expected: str) -> None:
    assert step(tag(before), tag(after)) == expected


@pytest.mark.parametrize("text", ["latest", "", "main", "x" * 5000, "1" * 5000])
def test_what_is_not_a_version_is_refused(text: str) -> None:
    for parse in (pep440, semver, tag):
        with pytest.raises(ValueError, match="not a version"):
            parse(text)
