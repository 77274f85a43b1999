"""How far the worker is from the gate is told where it is less than it could be, and refused where secrets are near."""

import sys
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.note import Note
from ratiba_action.systems.separation import (
    ROOMS,
    has_landlock,
    judging_notes,
    missing_layers,
    room,
    separation_warnings,
)
from ratiba_action.worker import landlock, seccomp

IN_CONTAINER = {"RATIBA_CONTAINER": "1"}


def test_a_worker_of_the_same_user_on_an_old_kernel_is_reported_when_the_gate_holds_no_secret() -> None:
    (warning,) = separation_warnings(same_user=True, landlock=False, secrets=False)
    assert "without Landlock" in warning


def test_beside_secrets_it_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigurationError) as refused:
        separation_warnings(same_user=True, landlock=False, secrets=True)
    assert "without Landlock" in refused.value.problem
    assert "/sys/kernel/security/lsm" in refused.value.remedy


@pytest.mark.parametrize(("same_user", "kernel"), [(False, False), (False, True), (True, True)])
def test_otherwise_there_is_nothing_to_tell(*, same_user: bool, kernel: bool) -> None:
    assert separation_warnings(same_user=same_user, landlock=kernel, secrets=True) == ()


def test_gate_and_worker_know_the_same_kernel() -> None:
    assert has_landlock() == bool(landlock.version())


@pytest.mark.parametrize("missing", seccomp.MissingFilter)
def test_a_part_of_the_filter_that_is_missing_is_a_note_with_what_to_do(missing: seccomp.MissingFilter) -> None:
    (note,) = missing_layers({}, Path("/tmp/run"), missing)  # noqa: S108 - nothing is made there
    assert isinstance(note, Note)
    assert "makes the run incomplete, not passed" in note


def test_a_note_says_what_deepeval_reaches_where_a_layer_is_missing() -> None:
    missing = seccomp.MissingFilter.FILTER
    (note,) = judging_notes(same_user=True, landlock=False, missing=missing)
    assert "files and processes of the gate's user and the machine's network" in note
    (note,) = judging_notes(same_user=False, landlock=False, missing=missing)
    assert "user" not in note
    if seccomp.machine():
        assert judging_notes(same_user=False, landlock=False, missing=None) == ()
        assert judging_notes(same_user=True, landlock=True, missing=None) == ()
        assert judging_notes(same_user=False, landlock=True, missing=None, root=True) == ()


def test_a_note_says_that_deepeval_runs_as_root_where_no_other_user_can_run_its_interpreter() -> None:
    first, *others = judging_notes(same_user=True, landlock=True, missing=seccomp.MissingFilter.FILTER, root=True)
    assert f"another user cannot run {sys.executable!r}" in first
    assert first.remedy == "Run the gate as an ordinary user."
    assert ["network" in note for note in others] == [True]


def test_a_container_without_a_file_system_for_each_side_is_a_note() -> None:
    (note,) = missing_layers(IN_CONTAINER, Path("/tmp/run"), None)  # noqa: S108 - nothing is made there
    assert "--tmpfs /sandbox/" in note
    assert missing_layers(IN_CONTAINER, ROOMS / "head" / "worker", None) == ()
    assert missing_layers({}, Path("/tmp/run"), None) == ()  # noqa: S108 - the same


def test_a_side_without_a_file_system_of_its_own_works_in_the_runs_folder(tmp_path: Path) -> None:
    (tmp_path / "head").mkdir()
    assert room("head", Path("/run"), tmp_path) == Path("/run")
    assert room("proc", Path("/run"), Path("/")) == Path("/run"), "a variant has the change's room"
