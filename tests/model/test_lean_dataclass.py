"""Frozen dataclasses of the product behave as those of the standard library."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.lean_dataclass import dataclass


def _plain(decorate: Callable[..., Any]) -> Any:
    @decorate(frozen=True, slots=True)
    class Sample:
        name: str
        number: float = 0.5
        names: tuple[str, ...] = field(default=(), compare=False)
        hidden: int = field(default=3, repr=False, hash=False)
        made: list[int] = field(default_factory=list, hash=False)
        total: int = field(init=False, default=7)

    return Sample


def _kept(decorate: Callable[..., Any]) -> Any:
    @decorate(frozen=True, slots=True, kw_only=True)
    class Sample:  # noqa: PLW1641 - the decorator adds the hash
        name: str
        length: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "length", len(self.name))

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Sample)

        def __repr__(self) -> str:
            return "sample"

    return Sample


def _empty(decorate: Callable[..., Any]) -> Any:
    @decorate(frozen=True)
    class Sample:
        pass

    return Sample


SAMPLES = {
    make: tuple(make(decorate) for decorate in (dataclass, dataclasses.dataclass)) for make in (_plain, _kept, _empty)
}


@dataclass(frozen=True, slots=True)
class Pickled:
    name: str
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Inheriting(Pickled):
    more: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class InheritingPlainly(Pickled):
    more: int = 0


_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "name": st.text(max_size=3),
    "number": st.floats() | st.integers(),
    "names": st.tuples(st.text(max_size=2)),
    "hidden": st.integers(),
    "made": st.lists(st.integers(), max_size=2),
}


@given(first=st.fixed_dictionaries({}, optional=_VALUES), second=st.fixed_dictionaries({}, optional=_VALUES))
def test_objects_are_shown_compared_and_hashed_alike(first: dict[str, Any], second: dict[str, Any]) -> None:
    ours, theirs = SAMPLES[_plain]
    made = [[sample(**{"name": "", **values}) for values in (first, second)] for sample in (ours, theirs)]
    assert [repr(each) for each in made[0]] == [repr(each) for each in made[1]]
    assert (made[0][0] == made[0][1]) is (made[1][0] == made[1][1])
    assert [hash(each) for each in made[0]] == [hash(each) for each in made[1]]
    assert made[0][0] == made[0][0]
    assert made[0][0] != made[1][0], "another class"


@pytest.mark.parametrize("make", [_kept, _empty])
def test_what_a_class_defines_itself_is_kept(make: Any) -> None:
    ours, theirs = (sample(**({"name": "ab"} if make is _kept else {})) for sample in SAMPLES[make])
    assert repr(ours) == repr(theirs)
    assert hash(ours) == hash(theirs)
    assert ours == type(ours)(**({"name": "other"} if make is _kept else {}))
    assert type(ours).__match_args__ == type(theirs).__match_args__
    assert getattr(ours, "length", None) == getattr(theirs, "length", None)


@pytest.mark.parametrize(
    "wrong", [lambda sample: sample(), lambda sample: sample("a", unknown=1), lambda sample: sample(*range(9))]
)
def test_wrong_arguments_are_refused_in_the_same_words(wrong: Callable[[Any], object]) -> None:
    messages = []
    for sample in (_plain(dataclass), _plain(dataclasses.dataclass)):
        with pytest.raises(TypeError) as refused:
            wrong(sample)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


def test_an_object_cannot_be_changed() -> None:
    messages = []
    for sample in SAMPLES[_plain]:
        made = sample("a")
        for change in (partial(setattr, made, "name", 1), partial(delattr, made, "name")):
            with pytest.raises(FrozenInstanceError) as refused:
                change()
            messages.append(str(refused.value))
    assert messages[:2] == messages[2:]
    with pytest.raises(FrozenInstanceError, match="unknown"):
        SAMPLES[_plain][0]("a").unknown = 1


@pytest.mark.parametrize("kind", [Pickled, Inheriting, InheritingPlainly])
def test_objects_are_replaced_copied_and_pickled(kind: Any) -> None:
    made = kind("a", (1, 2))
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made  # noqa: S301 - our own bytes
    assert dataclasses.replace(made, name="b") == kind("b", (1, 2))
    assert dataclasses.asdict(made)["numbers"] == (1, 2)
    with pytest.raises(FrozenInstanceError):
        made.name = "c"


def test_each_object_has_a_default_of_its_own() -> None:
    ours, _ = SAMPLES[_plain]
    first, second = ours("a"), ours("b")
    first.made.append(1)
    assert (second.made, ours("c").made) == ([], [])


def test_an_object_that_holds_itself_can_be_shown() -> None:
    ours, theirs = SAMPLES[_plain]
    shown = []
    for sample in (ours, theirs):
        made = sample("a")
        made.made.append(made)
        shown.append(repr(made))
    assert shown[0] == shown[1]
