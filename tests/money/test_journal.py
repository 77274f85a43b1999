"""The journal: private, written before the call, whole again after any crash, and of one run only."""

import json
import os
import signal
import stat
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import LedgerError, UsageError
from ratiba_action.model.conversation import JournaledAnswer, Party, Reservation, Usage
from ratiba_action.money.journal import Journal, begin_journal, resume_journal
from ratiba_action.money.journal_lines import JournalState, Settled, decode, encode

USAGE = Usage(10, 20, 3, 4)
WRITER = """
import sys, time
from decimal import Decimal
from pathlib import Path
from ratiba_action.model.conversation import Reservation
from ratiba_action.model.conversation import Party
from ratiba_action.money.journal import begin_journal
path = Path(sys.argv[1])
journal = begin_journal(path, "run", path.parent.parent / "workspace")
journal.reserved(Reservation(1, Party.JUDGE, "spa", "m", Decimal("0.5")))
print("written", flush=True)
time.sleep(600)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "run.jsonl"


def begin(path: Path, identity: str = "run") -> Journal:
    return begin_journal(path, identity, path.parent.parent / "workspace")


def resume(path: Path, identity: str = "run") -> Journal:
    return resume_journal(path, identity, path.parent.parent / "workspace")


def read(path: Path) -> JournalState:
    journal = resume(path)
    journal.close()
    return journal.state


def reservation(number: int, upper: str = "0.5") -> Reservation:
    return Reservation(number, Party.JUDGE, "spa", "gpt-6", Decimal(upper))


def write_some(path: Path) -> None:
    """One call of each outcome, and one without."""
    journal = begin(path)
    journal.admitted("head/spa/0")
    for number in range(1, 5):
        journal.reserved(reservation(number))
    journal.settled(reservation(1), USAGE, Decimal("0.125"), JournaledAnswer("k1", {"b": 1, "a": "Asante\n"}))
    journal.kept(reservation(2))
    journal.released(reservation(3))
    journal.close()


def test_what_was_written_is_read(path: Path) -> None:
    write_some(path)
    state = read(path)
    assert [call.cost for call in state.calls] == [Decimal("0.125"), Decimal("0.5"), Decimal("0.5")]
    assert state.calls[0].usage == USAGE
    assert state.total == Decimal("1.125")
    assert [one.number for one in state.open] == [4]
    assert (state.last_number, state.admitted) == (4, frozenset({"head/spa/0"}))
    assert list(state.answers["k1"].body.items()) == [("b", 1), ("a", "Asante\n")]
    assert state.answers["k1"].usage == USAGE


def test_it_is_readable_by_its_owner_alone_and_so_is_its_folder(path: Path) -> None:
    write_some(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_resumed_run_appends_and_keeps_what_was_there(path: Path) -> None:
    write_some(path)
    journal = resume(path)
    journal.settled(reservation(4), USAGE, Decimal("0.25"), None)
    journal.reserved(reservation(5))
    journal.close()
    assert (read(path).total, read(path).last_number) == (Decimal("1.375"), 5)


def test_at_whatever_byte_it_ends_it_is_read_up_to_the_last_whole_line(path: Path) -> None:
    write_some(path)
    content = path.read_bytes()
    begun = content.index(b"\n") + 1
    for length in range(begun, len(content) + 1):
        path.write_bytes(content[:length])
        journal = resume(path)
        journal.reserved(reservation(9))
        journal.close()
        whole = content[: content.rfind(b"\n", 0, length) + 1]
        last = '{"event":"reserve","number":9,"party":"judge","scenario":"spa","model":"gpt-6","upper":"0.5"}\n'
        assert path.read_bytes() == whole + last.encode()


def test_a_line_that_looks_whole_but_has_no_end_was_never_acted_upon(path: Path) -> None:
    write_some(path)
    path.write_bytes(path.read_bytes() + encode(Settled(4, USAGE, Decimal(0), None)).rstrip())
    assert [one.number for one in read(path).open] == [4]


@pytest.mark.processes
def test_what_a_killed_process_has_reserved_counts_as_spent(path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        process.send_signal(signal.SIGKILL)
    assert read(path).total == Decimal("0.5")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"not json", "it is not JSON"),
        (b"", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[]", "it is no object"),
        (b'{"event":"spend","number":4}', "its event is 'spend'"),
        (b'{"event":"keep","number":true}', "its number is True"),
        (b'{"event":"keep","number":0}', "its number is 0"),
        (b'{"event":"keep","number":4,"note":"x"}', "'note'"),
        (b'{"event":"keep","number":1}', "reservation 1 is not open"),
        (b'{"event":"release","number":77}', "reservation 77 is not open"),
        (
            b'{"event":"reserve","number":4,"party":"judge","scenario":"s","model":"m","upper":"1"}',
            "reservation 4 comes after 4",
        ),
        (
            b'{"event":"reserve","number":5,"party":"mayor","scenario":"s","model":"m","upper":"1"}',
            "its party is 'mayor'",
        ),
        (
            b'{"event":"reserve","number":5,"party":"judge","scenario":"s","model":"m","upper":"-1"}',
            "its upper is '-1'",
        ),
        (
            b'{"event":"reserve","number":5,"party":"judge","scenario":"s","model":"m","upper":0.1}',
            "its upper is 0.1",
        ),
        (b'{"event":"settle","number":4,"cost":"NaN","usage":[0,0,0,0]}', "its cost is 'NaN'"),
        (b'{"event":"settle","number":4,"cost":"ten","usage":[0,0,0,0]}', "its cost is 'ten'"),
        (b'{"event":"settle","number":4,"cost":"0","usage":[0,0,0,-1]}', "its usage is"),
        (b'{"event":"settle","number":4,"cost":"0","usage":[0,0,0]}', "its usage is"),
        (b'{"event":"settle","number":4,"cost":"0","usage":[0,0,0,0],"key":"k","body":[]}', "its body is no object"),
        (b'{"event":"settle","number":4,"cost":"0","usage":[0,0,0,0],"body":{}}', "its key is None"),
        (b'{"event":"begin","format":2,"identity":"run","began":1}', "must be the first"),
        (b'{"event":"begin","format":2,"identity":"run","began":"today"}', "its began is 'today'"),
        (b'{"event":"begin","format":1,"identity":"run"}', "its format is 1"),
    ],
)
def test_any_other_malformed_line_is_an_error_that_names_it(path: Path, line: bytes, problem: str) -> None:
    write_some(path)
    content = path.read_bytes()
    path.write_bytes(content + line + b"\n")
    with pytest.raises(LedgerError) as caught:
        resume(path)
    number = content.count(b"\n") + 1
    assert f"{path}:{number}: " in str(caught.value)
    assert problem in str(caught.value)
    assert path.read_bytes() == content + line + b"\n"


def test_all_malformed_lines_are_named_at_once(path: Path) -> None:
    write_some(path)
    path.write_bytes(path.read_bytes() + b"?\n" * 30)
    with pytest.raises(LedgerError) as caught:
        resume(path)
    assert str(caught.value).count("it is not JSON") == 20
    assert "and 10 more" in str(caught.value)


def test_a_resumed_run_began_when_its_first_process_did(path: Path) -> None:
    journal = begin(path)
    journal.close()
    assert read(path).began == journal.state.began


def test_an_empty_file_is_no_journal(path: Path) -> None:
    write_some(path)
    path.write_bytes(b"")
    with pytest.raises(LedgerError, match="the line that names the run is not there"):
        resume(path)


def test_another_runs_journal_is_refused(path: Path) -> None:
    write_some(path)
    with pytest.raises(LedgerError, match="of another run"):
        resume(path, "another commit")
    assert read(path).total == Decimal("1.125")


def test_two_processes_never_share_one(path: Path) -> None:
    journal = begin(path)
    for again in (resume, begin):
        with pytest.raises(LedgerError, match="in use by another process"):
            again(path)
    journal.close()
    resume(path).close()


def test_a_new_run_replaces_what_a_dead_one_left(path: Path) -> None:
    write_some(path)
    begin(path, "another").close()
    assert len(path.read_text("ascii").splitlines()) == 1


def test_a_journal_inside_the_repository_is_refused(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "link").symlink_to(workspace)
    for place in (workspace / "run.jsonl", tmp_path / "link" / "run.jsonl", tmp_path / "x" / ".." / "workspace" / "j"):
        for open_journal in (begin_journal, resume_journal):
            with pytest.raises(LedgerError, match="lies in the repository"):
                open_journal(place, "run", workspace)
    assert list(workspace.iterdir()) == []


def test_a_link_in_its_place_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    other = tmp_path / "precious"
    other.write_text("precious")
    path.symlink_to(other)
    for open_journal in (begin, resume):
        with pytest.raises(LedgerError, match="cannot be opened"):
            open_journal(path)
    assert other.read_text() == "precious"


def test_where_no_run_was_interrupted_there_is_nothing_to_go_on_with_and_the_command_was_wrong(path: Path) -> None:
    with pytest.raises(UsageError, match="no interrupted run of this commit is left") as raised:
        resume(path)
    assert raised.value.exit_code == 2
    assert raised.value.remedy.startswith("Run without --resume")
    assert not path.exists()


def test_one_that_others_could_have_written_is_not_believed(path: Path) -> None:
    write_some(path)
    path.chmod(0o666)
    with pytest.raises(LedgerError, match="you alone"):
        resume(path)


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(LedgerError, match="cannot be opened"):
        begin(tmp_path / "state" / "deep" / "run.jsonl")


def test_when_the_disk_is_full_half_a_line_is_taken_back_and_the_call_is_refused(path: Path) -> None:
    resource = pytest.importorskip("resource")
    journal = begin(path)
    before = path.read_bytes()
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
        with pytest.raises(LedgerError, match="cannot be written"):
            journal.reserved(reservation(1))
        assert path.read_bytes() == before
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    journal.reserved(reservation(1))
    journal.close()
    assert read(path).total == Decimal("0.5")


def test_it_is_not_inherited_by_programs_that_the_gate_starts(path: Path) -> None:
    journal = begin(path)
    assert not os.get_inheritable(journal._descriptor)
    journal.close()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON), st.text())
def test_any_answer_comes_back_as_it_was_and_stays_on_its_line(body: dict[str, object], key: str) -> None:
    line = Settled(1, USAGE, Decimal("1E-12"), JournaledAnswer(key, body))
    text = encode(line)
    assert (text.count(b"\n"), text.isascii()) == (1, True)
    assert decode(text) == line
    assert json.loads(text)["event"] == "settle"
