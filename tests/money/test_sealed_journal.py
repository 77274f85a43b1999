"""The sealed copy of the journal: read again after any kill, and never trusted once anything of it is altered."""

import contextlib
import stat
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import LedgerError
from ratiba_action.model.conversation import JournaledAnswer, Party, Reservation, Usage
from ratiba_action.money.journal import begin_journal, restore_journal, resume_journal
from ratiba_action.money.journal_lines import parse_journal
from ratiba_action.money.sealed_journal import (
    JournalRun,
    OpenedCopy,
    SealedCopy,
    SealedPlace,
    conclude_copy,
    find_copy,
    open_copy,
)

KEY = "0123456789abcdef" * 4
RUN = JournalRun("salon/assistant", 31, "ratiba", "1/2")
LINES = (b'{"event":"begin"}\n', b'{"event":"reserve","number":1}\n', b'{"event":"keep","number":1}\n')
TEXT = "My number is 0712 345 678"


def place(folder: Path, attempt: int = 1, run: JournalRun = RUN, holds: tuple[int, ...] = ()) -> SealedPlace:
    return SealedPlace(folder, KEY, run, attempt, holds)


def write(target: SealedPlace, lines: tuple[bytes, ...] = LINES) -> Path:
    copy = SealedCopy(target)
    for line in lines:
        copy.append(line)
    copy.close()
    return target.path


def content_of(path: Path, key: str = KEY, run: JournalRun = RUN) -> bytes | None:
    opened = open_copy(path, key, run)
    return None if opened is None else opened.content


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=20))
def test_what_was_sealed_is_opened(lines: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        path = write(place(Path(folder)), tuple(lines))
        assert content_of(path) == b"".join(lines)


def test_a_copy_that_is_cut_off_anywhere_has_the_lines_before_it(tmp_path: Path) -> None:
    path = write(place(tmp_path))
    whole = path.read_bytes()
    lengths = set()
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        ends = whole[:size].count(b"\n")
        assert content_of(path) == (b"".join(LINES[: ends - 1]) if ends > 1 else None)
        lengths.add(ends)
    assert lengths == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("flipped", [0x01, 0x80])
def test_a_copy_of_which_any_byte_was_altered_is_never_trusted(tmp_path: Path, flipped: int) -> None:
    path = write(place(tmp_path))
    whole = path.read_bytes()
    for index in range(len(whole) - 1):
        path.write_bytes(whole[:index] + bytes([whole[index] ^ flipped]) + whole[index + 1 :])
        with contextlib.suppress(LedgerError):
            assert content_of(path) is None, "its header names another run"
    path.write_bytes(whole[:-1] + b"\x0b")
    assert content_of(path) == b"".join(LINES[:-1]), "without its end, the last line is one that a kill cut off"


def test_a_line_has_one_spelling(tmp_path: Path) -> None:
    path = write(place(tmp_path), (b"x" * 18,))
    header, line = path.read_bytes().splitlines()
    alphabet = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
    assert line.endswith(b"="), "two bits of its last letter belong to no byte"
    other = alphabet[alphabet.index(chr(line[-2])) + 1]
    path.write_bytes(header + b"\n" + line[:-2] + other.encode() + b"=\n")
    with pytest.raises(LedgerError, match="is not the one that was written there"):
        content_of(path)


def swapped(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[2], lines[1], lines[3]]


def left_out(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[1], lines[3]]


def repeated(lines: list[bytes]) -> list[bytes]:
    return [*lines, lines[3]]


@pytest.mark.parametrize("change", [swapped, left_out, repeated])
def test_a_line_counts_at_its_own_place_alone(tmp_path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    path = write(place(tmp_path))
    path.write_bytes(b"\n".join(change(path.read_bytes().splitlines())) + b"\n")
    with pytest.raises(LedgerError, match="is not the one that was written there"):
        content_of(path)


OTHERS = {
    "repository": replace(RUN, repository="salon/other"),
    "run": replace(RUN, run_id=32),
    "gate": replace(RUN, gate="nightly"),
    "shard": replace(RUN, shard="2/2"),
    "a whole run": replace(RUN, shard=""),
}


@pytest.mark.parametrize("other", OTHERS)
def test_the_copy_of_another_run_is_passed_over_and_its_lines_fit_nowhere_else(tmp_path: Path, other: str) -> None:
    theirs, own = write(place(tmp_path / "theirs", run=OTHERS[other])), write(place(tmp_path / "own"))
    assert content_of(theirs) is None
    assert find_copy(tmp_path / "theirs", KEY, RUN, 2) is None
    header = own.read_bytes().splitlines(keepends=True)[0]
    forged = header + b"".join(theirs.read_bytes().splitlines(keepends=True)[1:])
    own.write_bytes(forged)
    with pytest.raises(LedgerError, match="is not used"):
        find_copy(tmp_path / "own", KEY, RUN, 2)


def test_the_header_of_one_copy_does_not_open_another_of_the_same_run(tmp_path: Path) -> None:
    first, second = write(place(tmp_path / "a")), write(place(tmp_path / "b"))
    mixed = first.read_bytes().splitlines(keepends=True)[:2] + second.read_bytes().splitlines(keepends=True)[2:]
    first.write_bytes(b"".join(mixed))
    with pytest.raises(LedgerError, match="its line 3 is not the one"):
        content_of(first)


def test_another_key_opens_nothing_and_the_message_says_what_to_do(tmp_path: Path) -> None:
    path = write(place(tmp_path))
    with pytest.raises(LedgerError) as refused:
        content_of(path, key=KEY[::-1])
    assert "journal-key" in refused.value.remedy
    assert "Start a new workflow run" in refused.value.remedy


def found_in(folder: Path, attempt: int) -> OpenedCopy | None:
    return find_copy(folder, KEY, RUN, attempt)


def test_an_attempt_goes_on_with_the_last_one_before_it(tmp_path: Path) -> None:
    write(place(tmp_path / "of-the-first", 1), LINES[:1])
    write(place(tmp_path / "of-the-second", 2, holds=(1,)), LINES)
    write(place(tmp_path, 7), LINES[:1])
    assert found_in(tmp_path, 1) is None
    assert found_in(tmp_path, 2) == OpenedCopy(1, (), concluded=False, content=LINES[0])
    assert found_in(tmp_path, 3) == OpenedCopy(2, (1,), concluded=False, content=b"".join(LINES))


def test_an_older_attempt_than_the_last_is_never_gone_on_with(tmp_path: Path) -> None:
    write(place(tmp_path, 1))
    assert found_in(tmp_path, 3) is None, "the copy of the second attempt was removed"
    conclude_copy(place(tmp_path, 2))
    (second,) = tmp_path.glob("*-2.journal")
    whole = second.read_bytes()
    second.write_bytes(whole[: whole.index(b"\n") + 1])
    assert found_in(tmp_path, 3) is None, "it was cut off after its header"


def test_a_shorter_copy_beside_the_last_attempts_own_does_not_count(tmp_path: Path) -> None:
    own = write(place(tmp_path / "own"))
    shorter = b"".join(own.read_bytes().splitlines(keepends=True)[:2])
    for name in ("0.journal", "z.journal"):
        (tmp_path / name).write_bytes(shorter)
    found = found_in(tmp_path, 2)
    assert found is not None
    assert found.content == b"".join(LINES)


def test_a_copy_has_its_name_once_the_lines_of_the_attempt_before_are_in_it(tmp_path: Path) -> None:
    second = place(tmp_path, 2, holds=(1,))

    def lines() -> Iterator[bytes]:
        yield LINES[0]
        assert not second.path.exists()
        yield LINES[1]

    SealedCopy(second, lines()).close()
    assert content_of(second.path) == b"".join(LINES[:2])
    assert list(tmp_path.iterdir()) == [second.path]


def test_an_attempt_that_ran_to_its_end_leaves_nothing_to_go_on_with(tmp_path: Path) -> None:
    write(place(tmp_path, 1))
    conclude_copy(place(tmp_path, 1))
    assert list(tmp_path.iterdir()) == [], "what was said stays nowhere"
    write(place(tmp_path, 1))
    write(place(tmp_path, 2, holds=(1,)))
    conclude_copy(place(tmp_path, 2, holds=(1,)))
    assert found_in(tmp_path, 3) == OpenedCopy(2, (1,), concluded=True, content=b"")


def test_a_link_is_not_followed_and_what_is_no_copy_is_none(tmp_path: Path) -> None:
    path = write(place(tmp_path / "elsewhere"))
    folder = tmp_path / "artifacts"
    folder.mkdir()
    (folder / path.name).symlink_to(path)
    (folder / "notes.journal").write_bytes(b"[" * 100_000)
    (folder / "empty.journal").write_bytes(b"")
    (folder / "folder.journal").mkdir()
    assert found_in(folder, 2) is None
    assert found_in(tmp_path / "missing", 2) is None


def journal_of(tmp_path: Path, sealed: SealedPlace) -> Path:
    """A journal with its copy: a call that was answered, and one whose outcome is missing."""
    path = tmp_path / "state" / "run.jsonl"
    journal = begin_journal(path, "run", tmp_path / "workspace", sealed)
    calls = [Reservation(number, Party.SYSTEM, "spa", "gpt-6", Decimal("0.5")) for number in (1, 2)]
    for call in calls:
        journal.reserved(call)
    journal.settled(calls[0], Usage(10, 20), Decimal("0.125"), JournaledAnswer("k1", {"text": TEXT}))
    journal.close()
    return path


def test_the_copy_has_every_line_of_the_journal_as_soon_as_it_is_written_and_shows_none(tmp_path: Path) -> None:
    sealed = place(tmp_path / "outbox")
    path = journal_of(tmp_path, sealed)
    assert content_of(sealed.path) == path.read_bytes()
    shown = sealed.path.read_bytes()
    # Long words only: a few letters stand by chance in what is sealed (three of base64: one copy in 200).
    assert not any(word in shown for word in (TEXT.encode(), b'"reserve"', b'"model":"gpt-6"', KEY.encode()))
    assert stat.S_IMODE(sealed.path.stat().st_mode) == 0o600


def test_a_resumed_journal_is_copied_from_its_first_line_on(tmp_path: Path) -> None:
    journal_of(tmp_path, place(tmp_path / "outbox"))
    found = found_in(tmp_path / "outbox", 2)
    assert found is not None
    path, workspace = tmp_path / "other-machine" / "run.jsonl", tmp_path / "workspace"
    restore_journal(path, found.content, workspace)
    second = place(tmp_path / "outbox", 2, holds=(1,))
    journal = resume_journal(path, "run", workspace, second)
    assert journal.state.total == Decimal("0.625"), "a call without an outcome counts at its upper bound"
    assert [one.number for one in journal.state.open] == [2]
    journal.admitted("head/spa/0")
    journal.close()
    third = found_in(tmp_path / "outbox", 3)
    assert third is not None
    assert third.content == path.read_bytes()
    assert parse_journal(path, third.content).admitted == frozenset({"head/spa/0"})


def test_a_call_is_refused_that_only_the_copy_could_not_take(tmp_path: Path) -> None:
    sealed = place(tmp_path / "outbox")
    (tmp_path / "outbox").write_text("a file")
    with pytest.raises(LedgerError, match="cannot be opened"):
        begin_journal(tmp_path / "state" / "run.jsonl", "run", tmp_path / "workspace", sealed)
