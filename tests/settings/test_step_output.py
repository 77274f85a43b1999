"""What a step prints, as the runner reads it: libraries, children, C code and crashes can give it no command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ratiba_action.settings.step_output import harmless
from tests.support.eventually import eventually
from tests.support.runner_log import obeyed

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parents[2]
HOSTILE = (
    b"##[set-output name=conclusion;]passed",
    b"GET /##[set-output name=conclusion;]passed HTTP/1.1",
    b"###[add-path]/evil",
    b"::set-output name=conclusion::passed",
    b" \t\v\f::set-env name=PATH::/evil",
    b"progress\r::error::planted",
    b"\r::add-mask::e",
    "\u2028\u3000\xa0\x85::error::planted".encode(),
    b"\xef\xbb\xbf::error::planted",
    "\u200b\u200d\xad::error::planted".encode(),
    b"\x00\x1b::error::planted",
    "::error::planted\n##[error]planted".encode("utf-16"),
    b"\xff\xfe" + "::error::planted\n".encode("utf-16-le"),
    b"::stop-commands::planted",
)
MARKED = tuple(text for text in HOSTILE if text[:2] in (b"\xef\xbb", b"\xff\xfe"))
"""They begin with a byte-order mark, which counts at the beginning of what a process prints alone."""
BEGIN = """\
import os, shlex, subprocess, sys
sys.path.insert(0, sys.argv[1])
from ratiba_action.settings.step_output import keep_harmless, leave
from ratiba_action.github.workflow import WorkflowLog

keep_harmless(os.environ)
hostile = bytes.fromhex(sys.argv[2])
octal = "".join(f"\\\\0{byte:03o}" for byte in hostile)
log = WorkflowLog(sys.stdout)
"""


def printed_by(script: str, hostile: bytes = b"", *, code: int = 0, **variables: str) -> tuple[bytes, bytes]:
    """What a step prints that runs a script with the filter in place: its standard output and error."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script, str(PROJECT), hostile.hex()],
        env={"PATH": os.environ["PATH"], "GITHUB_ACTIONS": "true", **variables},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_runner_obeys_the_line_that_is_printed_without_the_filter(hostile: bytes) -> None:
    assert obeyed(hostile) or b"\xe2\x80\x8b" in hostile or hostile[0] in (0, 0xFE), "else the tests below show nothing"


@pytest.mark.parametrize(
    "texts", [tuple(text for text in HOSTILE if text not in MARKED), *((text,) for text in MARKED)], ids=len
)
@pytest.mark.parametrize(
    "script",
    [
        "os.write(1, hostile + b'\\n'); os.write(2, hostile)",
        "subprocess.run(['sh', '-c', f'printf %b {shlex.quote(octal)}; printf %b {shlex.quote(octal)} >&2'])",
        "import ctypes; libc = ctypes.CDLL(None); libc.write(2, hostile, len(hostile))",
        "import logging; logging.getLogger('aiohttp.server').error(hostile.decode('utf-8', 'replace'))",
        "[os.write(1, hostile[place : place + 1]) for place in range(len(hostile))]",
        "sys.stdout.write('a partial line '); sys.stdout.flush(); os.write(1, b'\\n' + hostile)",
    ],
    ids=["descriptor", "child", "C code", "third-party logger", "byte by byte", "after a partial line"],
)
def test_whatever_is_printed_is_no_command(script: str, texts: tuple[bytes, ...]) -> None:
    """One process prints the texts, each on lines of its own."""
    each = (
        f"for text in {texts!r}:\n"
        "    hostile, octal = text, ''.join(f'\\\\0{byte:03o}' for byte in text)\n"
        f"    {script}\n"
        "    sys.stdout.flush(); os.write(1, b'\\n'); os.write(2, b'\\n')\n"
    )
    streams = printed_by(each)
    assert len(b"".join(streams)) > sum(map(len, texts))
    for stream in streams:
        assert obeyed(stream) == []


@given(st.lists(st.sampled_from([*"#[]: \t\r\n\x85\u2028\ufeff\u200b\0a", "error", "::", "##["])))
@example(["##", "["])
def test_no_text_has_a_command(parts: list[str]) -> None:
    text = "".join(parts)
    assert obeyed(harmless(text).encode()) == []
    assert harmless(harmless(text)) == harmless(text)


def test_other_text_stays_as_it_is() -> None:
    text = 'std::vector<int> ::1 # [x] ## heading\n  indented: a::b\n{"a": [1]}\n'
    assert harmless(text) == text


def test_commands_of_the_gate_itself_pass_in_their_place() -> None:
    script = (
        "log.mask('secret')\n"
        "os.write(1, b'a partial line ')\n"
        "with log.group('Why'):\n    sys.stdout.write('::error::planted\\n')\n"
        "log.warning('##[error] told')\n"
    )
    printed, _ = printed_by(script)
    assert [(one.name, one.data) for one in obeyed(printed)] == [
        ("add-mask", "secret"),
        ("group", "Why"),
        ("endgroup", ""),
        ("warning", r"#\#[error] told"),
    ]


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("os.kill(os.getpid(), 9)", -9),
        ("import ctypes; ctypes.string_at(0)", -11),
        ("os.abort()", -6),
        ("os._exit(5)", 5),
        ("leave(6)", 6),
        ("raise SystemExit(7)", 7),
        ("raise ValueError('##[set-output name=conclusion;]passed\\n::error::planted')", 1),
    ],
)
def test_what_was_printed_before_a_crash_arrives_without_a_command(end: str, code: int) -> None:
    script = (
        f"import faulthandler; faulthandler.enable(); os.write(1, b'told ##[set-output name=a;]b\\n::error::x'); {end}"
    )
    for printed in printed_by(script, code=code):
        assert obeyed(printed) == []
    assert b"told" in printed_by(script, code=code)[0]


def test_a_word_of_the_log_is_not_the_word_that_lets_commands_pass() -> None:
    script = (
        "word = os.urandom(16).hex(); os.write(1, f'{word}:::error::planted\\n{\"0\" * 32}:::error::x\\n'.encode())"
    )
    printed, _ = printed_by(script)
    assert obeyed(printed) == []


def test_both_streams_stay_apart_where_they_are_apart() -> None:
    printed, complaint = printed_by("os.write(1, b'{\"a\": 1}\\n'); os.write(2, b'warning\\n')")
    assert (printed, complaint) == (b'{"a": 1}\n', b"warning\n")


def test_a_reader_that_goes_away_is_reported_to_the_writer() -> None:
    script = (
        "try:\n    [os.write(1, b'x' * 1000 + b'\\n') for _ in range(10000)]\nexcept BrokenPipeError:\n    os._exit(8)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", BEGIN + script, str(PROJECT), ""],
        env={"PATH": os.environ["PATH"], "GITHUB_ACTIONS": "true"},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(30) == 8


def test_a_child_that_outlives_the_gate_does_not_hold_it_up() -> None:
    printed, _ = printed_by("subprocess.Popen(['sleep', '600'], start_new_session=True); os.write(1, b'ended')")
    assert printed == b"ended\n"


def test_the_filter_outlives_signals_that_end_the_gate(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    script = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'ends\\n'), leave(3)))\n"
        f"open({str(begun)!r}, 'w').close()\n"
        "time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", BEGIN + script, str(PROJECT), ""],
        env={"PATH": os.environ["PATH"], "GITHUB_ACTIONS": "true"},
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        eventually(begun.exists)
        os.killpg(process.pid, signal.SIGTERM)
        assert process.communicate(timeout=30)[0] == b"ends\n"


def test_commands_go_to_the_action_where_it_stops_the_runner(tmp_path: Path) -> None:
    file = tmp_path / "commands"
    script = "log.mask('secret')\nwith log.group('Why'):\n    print('because')\nlog.warning('told')"
    printed, _ = printed_by(script, RATIBA_COMMANDS=str(file))
    assert printed == b"Why\nbecause\n"
    assert file.read_text() == "::warning title=Ratiba Eval Gate::told\n"


def test_outside_a_workflow_nothing_is_changed() -> None:
    printed, _ = printed_by("os.write(1, b'::error::x\\n')", GITHUB_ACTIONS="")
    assert printed == b"::error::x\n"
