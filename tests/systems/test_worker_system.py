"""A Python system in a worker: what its adapter is given, and what comes back."""

import asyncio
import gc
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ratiba_action.errors import WorkerError
from ratiba_action.model.conversation import Reply, SystemEvent, ToolCall
from ratiba_action.model.scenario import Turn
from tests.systems.conftest import StartWorker
from tests.systems.workers import TENANT, answer_of, open_session, worker_system


def entries(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def says(expression: str, imports: str = "json, os") -> str:
    """An adapter that answers with the value of an expression."""
    return f"""
import {imports}
class Adapter:
    def open(self, context):
        self.context = context
        return self
    def send(self, message):
        return {{"text": {expression}}}
"""


ECHO = says("message[::-1]")


async def test_a_reply_carries_text_state_payment_tool_calls_and_events(start_worker: StartWorker) -> None:
    system = await start_worker("""
        class Adapter:
            async def open(self, context):
                return self
            async def send(self, message):
                return {
                    "text": "Karibu " + message,
                    "state": "BOOKED",
                    "payment": "NONE",
                    "tool_calls": [{"name": "create_booking", "args": {"service": "massage"}, "output": {"id": 1}}],
                    "events": [{"type": "state_transition", "data": {"from": "GREETING", "to": "BOOKED"}}],
                }
    """)
    session = await open_session(system)
    assert await session.send(Turn(user="Wanjiku")) == Reply(
        "Karibu Wanjiku",
        "BOOKED",
        "NONE",
        (ToolCall("create_booking", {"service": "massage"}, {"id": 1}),),
        (SystemEvent("state_transition", {"from": "GREETING", "to": "BOOKED"}),),
    )


async def test_open_is_given_the_scenario_and_its_tenant(start_worker: StartWorker) -> None:
    system = await start_worker(says("json.dumps({**vars(self.context), 'now': self.context.now.isoformat()})"))
    context = json.loads(await answer_of(system))
    assert len(context.pop("conversation_id")) == 36
    assert context == {
        "scenario_id": "spa",
        "tenant_id": TENANT.id,
        "schema": TENANT.schema,
        "database_url": TENANT.dsn,
        "now": "2026-04-25T07:00:00+00:00",
        "timezone": None,
        "language": "sw",
        "vertical": "spa",
        "customer_name": "Wanjiku",
        "customer_phone": "+254712345432",
        "inputs": {},
    }


async def test_the_environment_is_an_allow_list_and_what_was_given_by_value(start_worker: StartWorker) -> None:
    given = {"TZ": "Africa/Nairobi", "FLAG": "on"}
    system = await start_worker(says("json.dumps(dict(os.environ))"), environment=given)
    seen = json.loads(await answer_of(system, ANTHROPIC_BASE_URL="http://localhost:1"))
    basics = {"PATH", "LANG", "HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}
    unexpected = {name for name in seen if not name.startswith("LC_")} - basics
    assert unexpected == {"TZ", "FLAG", "DATABASE_URL", "ANTHROPIC_BASE_URL"}
    assert (seen["TZ"], seen["DATABASE_URL"]) == ("Africa/Nairobi", TENANT.dsn)
    assert seen["HOME"] != os.environ.get("HOME")


async def test_keys_that_the_configuration_gives_for_other_services_of_aws_come_before_the_gateways(
    start_worker: StartWorker,
) -> None:
    shown = says("os.environ['AWS_ACCESS_KEY_ID'] + ' ' + os.environ['AWS_SECRET_ACCESS_KEY']")
    system = await start_worker(shown, environment={"AWS_ACCESS_KEY_ID": "local-s3"})
    assert await answer_of(system, AWS_ACCESS_KEY_ID="token", AWS_SECRET_ACCESS_KEY="token") == "local-s3 token"


async def test_an_event_goes_to_deliver(start_worker: StartWorker) -> None:
    system = await start_worker(ECHO + "    def deliver(self, event): return {'text': event['rail']}")
    session = await open_session(system)
    assert (await session.send(Turn(event={"type": "payment_callback", "rail": "mpesa"}))).text == "mpesa"


async def test_an_event_for_an_adapter_without_deliver_is_named(start_worker: StartWorker) -> None:
    session = await open_session(await start_worker(ECHO))
    with pytest.raises(WorkerError, match=r"has no method deliver\(\)"):
        await session.send(Turn(event={"type": "payment_callback"}))


@pytest.mark.parametrize("value", [float("nan"), datetime(2026, 4, 25, tzinfo=UTC)])
async def test_an_event_that_is_not_json_is_an_error_and_the_conversation_goes_on(
    start_worker: StartWorker, value: object
) -> None:
    session = await open_session(await start_worker(ECHO))
    with pytest.raises(WorkerError, match=r"what deliver\(\) is to be given cannot be sent"):
        await session.send(Turn(event={"type": "payment_callback", "at": value}))
    assert (await session.send(Turn(user="ab"))).text == "ba"


async def test_a_traceback_shows_the_adapters_own_lines_only(start_worker: StartWorker) -> None:
    session = await open_session(await start_worker(says("1 / 0")))
    with pytest.raises(WorkerError, match="raised ZeroDivisionError: division by zero") as caught:
        await session.send(Turn(user="?"))
    frames = [line for line in caught.value.problem.splitlines() if line.strip().startswith("File ")]
    assert [frame.split('"')[1] for frame in frames] == ["assistant.py"]


async def test_garbage_is_collected_as_the_system_is_used_to(start_worker: StartWorker) -> None:
    system = await start_worker(says("f'{gc.isenabled()} {gc.get_threshold()}'", "gc"))
    assert await answer_of(system) == f"True {gc.get_threshold()}"


async def test_one_event_loop_lasts_for_the_conversation(start_worker: StartWorker) -> None:
    system = await start_worker("""
        import asyncio
        class Adapter:
            async def open(self, context):
                self.loop = asyncio.get_running_loop()
                return self
            async def send(self, message):
                return {"text": str(self.loop is asyncio.get_running_loop())}
    """)
    assert await answer_of(system) == "True"


async def test_a_synchronous_adapter_may_run_a_loop_of_its_own(start_worker: StartWorker) -> None:
    system = await start_worker(
        says("__import__('asyncio').run(self.late())") + "    async def late(self): return 'late'"
    )
    assert await answer_of(system) == "late"


async def test_half_a_surrogate_pair_becomes_the_replacement_character(start_worker: StartWorker) -> None:
    assert await answer_of(await start_worker(says(r"'a\ud83d b'"))) == "a\ufffd b"


async def test_migrate_is_given_the_address_as_argument_and_as_variable(start_worker: StartWorker) -> None:
    system = await start_worker("""
        import os
        class Adapter:
            async def migrate(self, database_url):
                raise RuntimeError(f"{database_url == os.environ['DATABASE_URL']}, host {database_url[-4:]}")
    """)
    with pytest.raises(WorkerError, match="True, host h/db") as caught:
        await system.migrate("postgresql://u:secret@h/db")
    assert "in migrate" in caught.value.problem


async def test_clients_of_models_can_be_made_when_a_module_is_imported(start_worker: StartWorker) -> None:
    system = await start_worker("""
        from anthropic import Anthropic
        from openai import OpenAI
        clients = OpenAI(), Anthropic()
        class Adapter:
            def migrate(self, database_url):
                raise RuntimeError(f"{[str(each.base_url) for each in clients]}")
            def open(self, context):
                return self
            def send(self, message):
                return {"text": " ".join(each.api_key for each in clients)}
    """)
    await system.migrate("")
    with pytest.raises(WorkerError, match=r"127\.0\.0\.1:9/v1/', 'http://127\.0\.0\.1:9"):
        await system.migrate("postgresql://u@h/db")
    assert await answer_of(system, OPENAI_API_KEY="one", ANTHROPIC_API_KEY="two") == "one two"


async def test_passwords_and_tokens_are_hidden_in_messages(start_worker: StartWorker) -> None:
    system = await start_worker("""
        import os
        class Adapter:
            def open(self, context):
                print(os.environ["ANTHROPIC_API_KEY"], flush=True)
                raise RuntimeError(f"{context.database_url} pass phrase {os.environ['ANTHROPIC_API_KEY']}")
    """)
    with pytest.raises(WorkerError) as caught:
        await open_session(system, ANTHROPIC_API_KEY="token-4711")
    assert "token-4711" not in str(caught.value)
    assert "pass%20phrase" not in str(caught.value)
    assert "pass phrase" not in str(caught.value)


async def test_sixteen_conversations_at_once_do_not_mix(start_worker: StartWorker) -> None:
    system = await start_worker(ECHO)
    sessions = await asyncio.gather(*(open_session(system, f"scenario_{number}") for number in range(16)))
    replies = await asyncio.gather(*(s.send(Turn(user=f"habari {n}")) for n, s in enumerate(sessions)))
    assert [reply.text for reply in replies] == [f"habari {number}"[::-1] for number in range(16)]
    await asyncio.gather(*(session.close() for session in sessions))


async def test_a_module_that_one_conversation_writes_is_found_by_the_next_one(start_worker: StartWorker) -> None:
    system = await start_worker(
        """
        from pathlib import Path
        class Adapter:
            def open(self, context):
                return self
            def send(self, message):
                try:
                    import late
                except ImportError:
                    Path("late.py").write_text("TEXT = 'found'")
                    return {"text": "written"}
                return {"text": late.TEXT}
        """,
        environment={"PYTHONPATH": "."},
    )
    for text in ("written", "found"):
        session = await open_session(system)
        assert (await session.send(Turn(user="habari"))).text == text
        await session.close()


async def test_set_up_runs_in_the_copy_and_leaves_the_workspace_alone(
    start_worker: StartWorker, tmp_path: Path
) -> None:
    setup = ["/bin/sh", "-c", "echo 'WORD = 1' > made.py"]
    system = await start_worker(says("str(__import__('made').WORD)"), setup=setup)
    assert await answer_of(system) == "1"
    assert [path.name for path in (tmp_path / "system").iterdir()] == ["assistant.py"]


async def test_a_failing_set_up_says_what_it_printed(start_worker: StartWorker) -> None:
    with pytest.raises(WorkerError, match=r"ended with exit code 7\. It printed: no such wheel"):
        await start_worker(ECHO, setup=["/bin/sh", "-c", "echo no such wheel; exit 7"])


@pytest.mark.parametrize("command", ["kill -9 $$", "sh -c 'kill -9 $$'; exit $?"])
async def test_a_set_up_that_is_killed_names_memory(start_worker: StartWorker, command: str) -> None:
    with pytest.raises(WorkerError, match=r"exit code 137 \(the kernel sends SIGKILL when memory runs out\)\. It"):
        await start_worker(ECHO, setup=["/bin/sh", "-c", command])


async def test_a_set_up_that_hangs_is_ended(start_worker: StartWorker) -> None:
    with pytest.raises(WorkerError, match=r"did not end within 1 s"):
        await start_worker(ECHO, setup=["/bin/sh", "-c", "sleep 1000"], setup_timeout_seconds=1)


async def test_a_framework_that_cannot_be_preloaded_is_a_warning(start_worker: StartWorker) -> None:
    system = await start_worker(ECHO, preload=["json", "no_such_framework"])
    assert any("cannot preload 'no_such_framework'" in warning for warning in system.warnings)
    assert await answer_of(system, "ab") == "ba"


async def test_a_known_library_is_imported_before_the_adapter_and_not_the_adapter_itself(
    start_worker: StartWorker,
) -> None:
    source = """
        import os, sys
        LOADED = "pydantic" in sys.modules
        import pydantic
        class Adapter:
            def open(self, context): return self
            def send(self, text): return {"text": f"{LOADED} {IMPORTED_BY == os.getpid()}"}
        IMPORTED_BY = os.getpid()
        """
    system = await start_worker(source)
    assert await answer_of(system, "ab") == "True True"


@pytest.mark.parametrize("python", ["no-such-python", "/no/such/python", "/bin/false"])
async def test_an_interpreter_that_cannot_be_run_is_named(start_worker: StartWorker, python: str) -> None:
    with pytest.raises(WorkerError, match=python):
        await start_worker(ECHO, python=python)


@pytest.mark.parametrize("adapter", ["", "assistant", "assistant:", "assistant:Adapter; import os", "../x:Adapter"])
async def test_an_adapter_that_is_no_import_string_is_refused(tmp_path: Path, adapter: str) -> None:
    with pytest.raises(WorkerError, match="not `module:attribute`"):
        await worker_system(tmp_path, adapter).start()


async def test_nothing_of_the_worker_is_left_after_close(start_worker: StartWorker, scratch: Path) -> None:
    system = await start_worker(ECHO, scratch=scratch)
    await open_session(system)
    assert len(entries(scratch)) == 1
    await system.close()
    assert entries(scratch) == []
    await system.close()


async def test_a_system_beside_another_runs_its_own_files_and_the_first_one_stays_as_it_is(
    start_worker: StartWorker, tmp_path: Path, scratch: Path
) -> None:
    noted = says("open('note.txt').read() + __file__")
    first = await start_worker(noted, scratch=scratch)
    other = tmp_path / "other"
    other.mkdir()
    (other / "assistant.py").write_text(noted.replace("open('", "'other: ' + open('"))
    for folder, text in ((other, "one "), (tmp_path / "system", "two ")):
        (folder / "note.txt").write_text(text)
    beside = worker_system(other, beside=first)
    await beside.start()
    answer = await answer_of(beside)
    assert answer.startswith("other: one ")
    folder = Path(answer.split()[-1]).parent
    assert folder.is_relative_to(scratch)
    await beside.close()
    assert not folder.exists()
    with pytest.raises(WorkerError, match=r"note\.txt"):  # it was copied before the note was written
        await (await open_session(first)).send(Turn(user="?"))


async def test_a_system_beside_another_has_a_home_and_temporary_files_of_its_own(
    start_worker: StartWorker, tmp_path: Path, scratch: Path
) -> None:
    shows = "' '.join([os.path.expanduser('~'), tempfile.gettempdir(), str(len(os.listdir(tempfile.gettempdir())))])"
    noting = f"({shows}, open(os.path.join(tempfile.gettempdir(), 'note'), 'w').close())[0]"
    source = says(noting, "os, tempfile")
    first = await start_worker(source, scratch=scratch)
    other = tmp_path / "other"
    other.mkdir()
    (other / "assistant.py").write_text(source)
    beside = worker_system(other, beside=first)
    await beside.start()
    try:
        answers = [(await answer_of(each)).split() for each in (first, beside)]
        (home, temporary, found), (other_home, other_temporary, other_found) = answers
        assert (found, other_found) == ("0", "0")
        assert len({home, temporary, other_home, other_temporary}) == 4
        assert all(Path(folder).is_relative_to(scratch) for folder in (home, other_home, other_temporary))
    finally:
        await beside.close()


async def test_a_system_beside_another_with_a_set_up_command_has_a_fork_server_of_its_own(
    start_worker: StartWorker, tmp_path: Path
) -> None:
    source = says("open('made.txt').read()")
    setup = ["/bin/sh", "-c", "cat word.txt > made.txt"]
    for name in ("system", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "word.txt").write_text(name)
    (tmp_path / "other" / "assistant.py").write_text(source)
    first = await start_worker(source, setup=setup)
    beside = worker_system(tmp_path / "other", setup=setup, beside=first)
    await beside.start()
    try:
        for system, text in ((first, "system"), (beside, "other")):
            assert await answer_of(system) == text
    finally:
        await beside.close()


async def test_what_imports_asyncio_late_finds_the_loop_of_the_conversation(
    tmp_path: Path, start_worker: StartWorker
) -> None:
    bot = tmp_path / "system" / "bot.py"
    bot.parent.mkdir()
    bot.write_text(
        "import asyncio\n"
        "class Bot:\n"
        "    def __init__(self):\n"
        "        self.loop = asyncio.get_event_loop()\n"
        "        self.asked = asyncio.Queue()\n"
        "        self.task = self.loop.create_task(self.echo())\n"
        "    async def echo(self):\n"
        "        return await self.asked.get()\n"
        "    async def answer(self, message):\n"
        "        self.asked.put_nowait(message)\n"
        "        return {'text': await self.task}\n"
    )
    system = await start_worker(
        """
        class Adapter:
            def open(self, context):
                from bot import Bot
                self.bot = Bot()
                return self
            def send(self, message):
                return self.bot.answer(message)
        """
    )
    session = await open_session(system)
    assert (await session.send(Turn("Habari"))).text == "Habari"
