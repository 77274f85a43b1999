"""Adapters that misbehave: a clear error of that conversation, and the others go on."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from ratiba_action.errors import WorkerError
from ratiba_action.model.scenario import Turn
from tests.support.eventually import eventually
from tests.systems.conftest import StartWorker
from tests.systems.workers import answer_of, open_session

ADAPTER = """
import asyncio, ctypes, json, math, os, signal, subprocess, sys, threading, time

class Adapter:
    def open(self, context):
        return self

    def send(self, message):
        if message == "habari":
            return {"text": "nzuri"}
        return getattr(self, message)()

    def close(self):
        time.sleep(0 if not hasattr(self, "stubborn") else 1000)

    def raises(self): raise LookupError("no \\x1b[31mslot\\u202e")
    def exits(self): sys.exit("bye")
    def interrupts(self): raise KeyboardInterrupt
    def ends_at_once(self): os._exit(3)
    def segfaults(self): ctypes.string_at(0)
    def kills_itself(self): os.kill(os.getpid(), signal.SIGKILL)
    def kills_its_group(self): os.killpg(0, signal.SIGKILL)
    def kills_its_parents_group(self):
        os.killpg(os.getpgid(os.getppid()), signal.SIGKILL)
        time.sleep(1000)
    def hangs(self): time.sleep(1000)
    async def hangs_asleep(self): await asyncio.sleep(1000)
    def burns(self):
        while True: pass
    def ignores_signals_and_hangs(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
        time.sleep(1000)
    def closes_all_files(self):
        os.closerange(0, 1024)
        time.sleep(1000)
    def closes_all_files_and_answers(self):
        os.closerange(0, 1024)
        return {"text": "heard?"}
    def answers_ten_megabytes(self): return {"text": "x" * 10_000_000}
    def floods_the_channel(self):
        for number in range(3, 64):
            try: os.write(number, b"x" * 10_000_000)
            except OSError: pass
    def writes_nonsense_on_the_channel(self):
        for number in range(3, 64):
            try: os.write(number, b"nonsense\\n")
            except OSError: pass
        return {"text": "fine"}
    def answers_a_list(self): return ["text"]
    def answers_nothing(self): return None
    def answers_a_number_as_text(self): return {"text": 7}
    def answers_an_unknown_field(self): return {"text": "a", "tool_call": []}
    def answers_a_tool_without_name(self): return {"text": "a", "tool_calls": [{"args": {}}]}
    def answers_nan(self): return {"text": "a", "tool_calls": [{"name": "t", "args": {"x": math.nan}}]}
    def answers_a_set(self): return {"text": "a", "tool_calls": [{"name": "t", "args": {"x": {1}}}]}
    def answers_a_strange_key(self): return {"text": "a", "tool_calls": [{"name": "t", "args": {(1, 2): 3}}]}
    def answers_a_circle(self):
        value = []
        value.append(value)
        return {"text": "a", "tool_calls": [{"name": "t", "output": value}]}
    def answers_too_deep(self):
        value = []
        for _ in range(100): value = [value]
        return {"text": "a", "tool_calls": [{"name": "t", "output": value}]}
    def reads_standard_input(self): return {"text": input()}
    def breaks_its_own_message(self):
        class Broken(Exception):
            def __str__(self): raise ValueError
        raise Broken
"""

MESSAGES = {
    "raises": r"send\(\) of the adapter raised LookupError: no \\x1b\[31mslot\\u202e\n",
    "exits": "raised SystemExit: bye",
    "interrupts": "raised KeyboardInterrupt",
    "ends_at_once": r"ended with exit code 3 before it answered send\(\)",
    "segfaults": r"ended by SIGSEGV before it answered send\(\)",
    "kills_itself": r"ended by SIGKILL \(the kernel sends SIGKILL when memory runs out\) before it answered",
    "kills_its_group": "ended by SIGKILL",
    "kills_its_parents_group": "together with its supervisor",
    "hangs": "no answer within 4 s",
    "hangs_asleep": "no answer within 4 s",
    "burns": "no answer within 4 s",
    "ignores_signals_and_hangs": "no answer within 4 s",
    "closes_all_files": "closed its connection to the gate",
    "closes_all_files_and_answers": "ended with exit code 1",
    "answers_ten_megabytes": "AnswerTooLong: 10,000,0.. bytes, at most 1,048,576",
    "floods_the_channel": "longer than 1048576 bytes",
    "writes_nonsense_on_the_channel": "'nonsense.*not JSON",
    "answers_a_list": "the answer is a list, not an object",
    "answers_nothing": "the answer is null, not an object",
    "answers_a_number_as_text": "`text` is a number, not a text",
    "answers_an_unknown_field": "unknown field 'tool_call'",
    "answers_a_tool_without_name": r"`tool_calls\[0\]` has no 'name'",
    "answers_nan": r"`answer\['tool_calls'\]\[0\]\['args'\]\['x'\]` is nan, which is not a JSON number$",
    "answers_a_set": r"\['args'\]\['x'\]` is of type set, which JSON cannot hold$",
    "answers_a_strange_key": r"`answer\['tool_calls'\]\[0\]\['args'\]` has a key of type tuple, not a text$",
    "answers_a_circle": "AnswerNotJson: the answer cannot be sent: Circular reference",
    "answers_too_deep": "nested deeper than 64 levels",
    "reads_standard_input": "raised EOFError",
    "breaks_its_own_message": "Broken: .its message cannot be shown",
}


@pytest.mark.parametrize("misdeed", MESSAGES)
async def test_a_misdeed_is_named_and_the_other_conversation_goes_on(start_worker: StartWorker, misdeed: str) -> None:
    hangs = "no answer" in MESSAGES[misdeed]
    system = await start_worker(ADAPTER, turn_timeout_seconds=4 if hangs else 60)
    good, bad = await asyncio.gather(open_session(system, "good"), open_session(system, "bad"))
    with pytest.raises(WorkerError, match=MESSAGES[misdeed]) as caught:
        await bad.send(Turn(user=misdeed))
    assert caught.value.problem.startswith("scenario 'bad': ")
    assert (await good.send(Turn(user="habari"))).text == "nzuri"
    await bad.close()
    await good.close()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise ImportError('no langgraph here')", "raised ImportError: no langgraph here"),
        ("def broken(:", "raised SyntaxError"),
        ("import os; os._exit(4)", "ended with exit code 4"),
        ("import sys; sys.exit(5)", "raised SystemExit: 5"),
        ("Other = 1", "module 'assistant' has no attribute 'Adapter'"),
        ("class Adapter: pass", r"\(Adapter\) is no adapter: it has no open\(\), no send\(\)"),
        ("class Adapter:\n    def migrate(self, dsn): pass", r"\(Adapter\) has no method open\(\)"),
        ("class Adapter:\n    def open(self, context): return None", r"\(NoneType\) has no method send\(\)"),
        ("class Adapter:\n    def __init__(self, needed): pass", "missing 1 required positional argument"),
        ("import time; time.sleep(1000)", r"open\(\) gave no answer within 10 s"),
    ],
)
async def test_an_adapter_that_cannot_be_opened_is_named(start_worker: StartWorker, source: str, message: str) -> None:
    system = await start_worker(source, start_timeout=10 if "sleep" in source else 60)
    with pytest.raises(WorkerError, match=message):
        await open_session(system)


async def test_what_is_printed_does_not_disturb_the_answers(start_worker: StartWorker) -> None:
    system = await start_worker("""
        import os, sys
        class Adapter:
            def open(self, context):
                return self
            def send(self, message):
                os.write(1, b'{"id": 1, "answer": {"text": "forged"}}\\n' * 10_000)
                os.write(2, bytes(range(256)) * 1000)
                print("::error::not a workflow command")
                return {"text": "true"}
    """)
    assert await answer_of(system) == "true"


async def test_the_end_of_what_a_dying_process_printed_is_shown(start_worker: StartWorker) -> None:
    system = await start_worker("""
        import os
        class Adapter:
            def open(self, context):
                print("x" * 1_000_000)
                print("out of memory")
                os._exit(1)
    """)
    with pytest.raises(WorkerError, match=r"out of memory$") as caught:
        await open_session(system)
    assert len(caught.value.problem) < 3000


async def test_a_fork_that_returns_answers_only_once(start_worker: StartWorker) -> None:
    system = await start_worker("""
        import os
        class Adapter:
            def open(self, context):
                return self
            def send(self, message):
                pid = os.fork()
                if pid:
                    os.waitpid(pid, 0)
                return {"text": message}
    """)
    session = await open_session(system)
    assert [(await session.send(Turn(user=word))).text for word in ("moja", "mbili", "tatu")] == [
        "moja",
        "mbili",
        "tatu",
    ]


DAEMON = """
import os, subprocess, sys, time
PROGRAM = '''
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
print(os.getpid(), flush=True)
os.dup2(os.open(os.devnull, os.O_RDWR), 1)
time.sleep(1000)
'''
class Adapter:
    def open(self, context):
        self.daemon = int(subprocess.run([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, check=True).stdout)
        return self
    def send(self, message):
        if message == "end":
            os._exit(0)
        if message == "kill":
            os.kill(os.getppid(), 9)
            time.sleep(1000)
        return {"text": str(self.daemon)}
"""


@pytest.mark.parametrize("way", ["close", "end", "system"])
async def test_a_daemon_ends_with_its_conversation(start_worker: StartWorker, way: str) -> None:
    system = await start_worker(DAEMON)
    session = await open_session(system)
    daemon = int((await session.send(Turn(user="pid"))).text)
    assert _alive(daemon)
    if way == "end":
        with pytest.raises(WorkerError, match="exit code 0"):
            await session.send(Turn(user="end"))
    await (system if way == "system" else session).close()
    assert not _alive(daemon)


async def test_a_daemon_ends_when_its_conversation_kills_its_supervisor(start_worker: StartWorker) -> None:
    system = await start_worker(DAEMON)
    session, other = await asyncio.gather(open_session(system), open_session(system, "other"))
    daemon, spared = [int((await each.send(Turn(user="pid"))).text) for each in (session, other)]
    with pytest.raises(WorkerError, match="together with its supervisor"):
        await session.send(Turn(user="kill"))
    await asyncio.to_thread(eventually, lambda: not _alive(daemon))
    assert _alive(spared)
    assert (await other.send(Turn(user="pid"))).text == str(spared)


async def test_an_adapter_that_kills_the_fork_server_ends_only_what_was_open(start_worker: StartWorker) -> None:
    system = await start_worker("""
        import os, signal, time
        def parent(pid):
            return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
        class Adapter:
            def open(self, context):
                return self
            def send(self, message):
                if message == "kill":
                    os.kill(parent(os.getppid()), signal.SIGKILL)
                    time.sleep(1000)
                return {"text": message}
    """)
    session = await open_session(system)
    with pytest.raises(WorkerError, match="scenario 'spa': the worker process was ended"):
        await session.send(Turn(user="kill"))
    again = await open_session(system, "again")
    assert (await again.send(Turn(user="habari"))).text == "habari"


async def test_a_close_that_hangs_is_ended(start_worker: StartWorker) -> None:
    system = await start_worker(ADAPTER.replace("if not hasattr", "if hasattr"), turn_timeout_seconds=5)
    session = await open_session(system)
    await session.close()
    with pytest.raises(WorkerError, match="the worker process has ended"):
        await session.send(Turn(user="habari"))


async def test_a_cancelled_turn_ends_its_process(start_worker: StartWorker) -> None:
    system = await start_worker(ADAPTER)
    session = await open_session(system)
    turn = asyncio.create_task(session.send(Turn(user="hangs")))
    await asyncio.sleep(0)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    with pytest.raises(WorkerError, match="the worker process has ended"):
        await session.send(Turn(user="habari"))


def _alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_alive_sees_this_process() -> None:
    assert _alive(os.getpid())
    child = os.spawnvp(os.P_NOWAIT, "sleep", ["sleep", "1000"])  # noqa: S606 - a fixed command
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert not _alive(child)
